//! A solved transport: its value, plan and gradient.

use rayon::prelude::*;

use super::costs::{Costs, Side};
use super::iterations::Potentials;
use super::{Cost, Sinkhorn};
use crate::SwdError;

/// An entropic transport between two samples, as [`Sinkhorn::solve`] found it.
///
/// The plan is `pi_ij = exp((f_i + g_j - C_ij) / lambda) / (n m)`. Its columns always have the right sums; its rows are off
/// by [`EntropicTransport::marginal_error`].
#[derive(Clone)]
pub struct EntropicTransport<'a> {
    sinkhorn: Sinkhorn,
    costs: Costs<'a>,
    potentials: Potentials,
    transport_cost: f64,
}

impl std::fmt::Debug for EntropicTransport<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("EntropicTransport");
        shown.field("converged", &self.potentials.converged);
        shown.finish_non_exhaustive()
    }
}

impl<'a> EntropicTransport<'a> {
    pub(super) fn new(
        sinkhorn: Sinkhorn,
        costs: Costs<'a>,
        potentials: Potentials,
    ) -> Result<Self, SwdError> {
        let mut found = Self {
            sinkhorn,
            costs,
            potentials,
            transport_cost: 0.0,
        };
        let rows: Vec<f64> = found
            .rows(|_, weights, costs| weights.iter().zip(costs).map(|(w, c)| w * c).sum::<f64>());
        found.transport_cost = sinkhorn.regularisation * rows.iter().sum::<f64>();
        let value = found.value();
        if !(value.is_finite() && found.transport_cost.is_finite()) {
            return Err(SwdError::NotFinite {
                what: "costs over the regularisation",
                row: 0,
                index: 0,
                value,
            });
        }
        Ok(found)
    }

    /// Returns `W_lambda` as the dual objective `mean f + mean g`: at most the minimum over couplings, and equal to it, up to
    /// rounding, if [`EntropicTransport::converged`].
    pub fn value(&self) -> f64 {
        let mean = |potential: &[f64]| potential.iter().sum::<f64>() / potential.len() as f64;
        let Potentials { f, g, .. } = &self.potentials;
        self.sinkhorn.regularisation * (mean(f) + mean(g))
    }

    /// The transport cost `<pi, C>`, in units of the cost; the value adds `lambda` times the mutual information, in nats.
    pub fn transport_cost(&self) -> f64 {
        self.transport_cost
    }

    /// Whether the marginal error is within the tolerance; never true for a value that is not finite.
    pub fn converged(&self) -> bool {
        self.potentials.converged
    }

    /// The number of iterations taken.
    pub fn iterations(&self) -> usize {
        self.potentials.iterations
    }

    /// The marginal error `sum_i |sum_j pi_ij - 1/n|` of the rows.
    pub fn marginal_error(&self) -> f64 {
        self.potentials.marginal_error
    }

    /// The potentials `f`, `[n]`, and `g`, `[m]`, in units of the cost.
    pub fn potentials(&self) -> (Vec<f64>, Vec<f64>) {
        let scaled = |potential: &[f64]| {
            let scaled = potential.iter().map(|x| x * self.sinkhorn.regularisation);
            scaled.collect()
        };
        (scaled(&self.potentials.f), scaled(&self.potentials.g))
    }

    /// Computes the plan `pi`, `[n, m]`, which sums to 1.
    pub fn plan(&self) -> Vec<f64> {
        self.rows(|_, weights, _| weights.to_vec()).concat()
    }

    /// Computes the gradient of `<pi, C>` in the points of `x` with the plan fixed, `[n, d]`.
    ///
    /// If converged it is the gradient of `W_lambda` itself, because the plan is a minimiser. If a coordinate of `x` equals
    /// one of `y`, the absolute cost has no slope there; 0 is used instead.
    pub fn gradient(&self) -> Vec<f32> {
        let rows = self.rows(|i, weights, _| moved(self.sinkhorn.cost, &self.costs.x, i, weights));
        rows.concat()
    }

    /// Computes the gradient of `<pi, C>` in the points of `y` with the plan fixed, `[m, d]`.
    pub fn gradient_y(&self) -> Vec<f32> {
        let Potentials { f, g, .. } = &self.potentials;
        let rows = weighted_rows(&self.costs.y, g, f, |j, weights, _| {
            moved(self.sinkhorn.cost, &self.costs.y, j, weights)
        });
        rows.concat()
    }

    fn rows<T: Send>(&self, of: impl Fn(usize, &[f64], &[f64]) -> T + Sync) -> Vec<T> {
        let Potentials { f, g, .. } = &self.potentials;
        weighted_rows(&self.costs.x, f, g, of)
    }
}

/// Computes a result for each row of the plan, from the row and its costs over `lambda`.
fn weighted_rows<T: Send>(
    side: &Side,
    own: &[f64],
    others: &[f64],
    of: impl Fn(usize, &[f64], &[f64]) -> T + Sync,
) -> Vec<T> {
    let all = (own.len() as f64 * others.len() as f64).ln();
    let row = |(buffer, weights): &mut (Vec<f64>, Vec<f64>), i: usize| {
        let costs = side.row(i, buffer);
        let weight = |(other, cost): (&f64, &f64)| (own[i] + other - cost - all).exp();
        weights.clear();
        weights.extend(others.iter().zip(costs).map(weight));
        of(i, weights, costs)
    };
    let rows = (0..side.points()).into_par_iter();
    rows.map_init(Default::default, row).collect()
}

/// Computes `sum_j w_j d/dx |x - y_j|_p^p`.
fn moved(cost: Cost, side: &Side, i: usize, weights: &[f64]) -> Vec<f32> {
    let point = side.point(i);
    let mut sum = vec![0.0_f64; side.dim()];
    for (j, &weight) in weights.iter().enumerate() {
        if weight == 0.0 {
            continue;
        }
        let parts = sum.iter_mut().zip(point.iter().zip(side.other(j)));
        match cost {
            Cost::SquaredEuclidean => {
                parts.for_each(|(sum, (&x, &y))| *sum += weight * (f64::from(x) - f64::from(y)));
            }
            // Two comparisons and a difference: a sign that many coordinates can take at once.
            Cost::Manhattan => parts.for_each(|(sum, (&x, &y))| {
                let above = if x > y { weight } else { 0.0 };
                let below = if x < y { weight } else { 0.0 };
                *sum += above - below;
            }),
        }
    }
    let factor = match cost {
        Cost::Manhattan => 1.0,
        Cost::SquaredEuclidean => 2.0,
    };
    sum.into_iter().map(|x| (factor * x) as f32).collect()
}
