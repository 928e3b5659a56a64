//! Sinkhorn's iterations on potentials divided by `lambda`.

use rayon::prelude::*;
use wide::f64x4;

use super::Sinkhorn;
use super::costs::{Costs, Side};

const LANES: usize = 4;

/// The number of pairs below which waking threads costs more than it saves.
const WORTH_THREADS: usize = 1 << 13;

/// The potentials `f / lambda` and `g / lambda`, and how the iterations ended.
#[derive(Clone)]
pub(super) struct Potentials {
    pub f: Vec<f64>,
    pub g: Vec<f64>,
    pub iterations: usize,
    pub marginal_error: f64,
    pub converged: bool,
}

/// Fits rows and columns in turn: `f_i = -log mean_j exp(g_j - C_ij / lambda)`, and `g` from `f` likewise.
///
/// After each turn the columns of the plan have the right sums, and the next `f` says how wrong the rows are: row `i` has
/// the mass `a_i exp(f_i - f'_i)`.
pub(super) fn solve(sinkhorn: &Sinkhorn, costs: &Costs) -> Potentials {
    let mut f = fitted(&costs.x, &vec![0.0; costs.x.others()]);
    let mut g = fitted(&costs.y, &f);
    let mut iterations = 0;
    loop {
        iterations += 1;
        let next = fitted(&costs.x, &g);
        let off = f
            .iter()
            .zip(&next)
            .map(|(f, next)| (f - next).exp_m1().abs());
        let marginal_error = off.sum::<f64>() / f.len() as f64;
        // Not a number if a cost is not a number: then it never converges.
        let converged = marginal_error <= sinkhorn.tolerance && marginal_error.is_finite();
        if converged || iterations >= sinkhorn.iterations {
            return Potentials {
                f,
                g,
                iterations,
                marginal_error,
                converged,
            };
        }
        f = next;
        g = fitted(&costs.y, &f);
    }
}

/// Computes `-log mean_j exp(others_j - C_ij / lambda)` for each point `i` of a side.
fn fitted(side: &Side, others: &[f64]) -> Vec<f64> {
    let all = (others.len() as f64).ln();
    let fit = |buffer: &mut Vec<f64>, i: usize| {
        all - log_sum_exp_of_differences(others, side.row(i, buffer))
    };
    let points = 0..side.points();
    if points.len() * others.len() < WORTH_THREADS {
        let mut buffer = Vec::new();
        return points.map(|i| fit(&mut buffer, i)).collect();
    }
    points.into_par_iter().map_init(Vec::new, fit).collect()
}

/// Computes `log sum_j exp(u_j - v_j)`, with the largest term taken out first.
fn log_sum_exp_of_differences(u: &[f64], v: &[f64]) -> f64 {
    let (whole_u, rest_u) = u.split_at(u.len() - u.len() % LANES);
    let (whole_v, rest_v) = v.split_at(whole_u.len());
    let lanes = |values: &[f64]| f64x4::from(std::array::from_fn::<_, LANES, _>(|a| values[a]));
    let whole = || {
        let (u, v) = (whole_u.chunks_exact(LANES), whole_v.chunks_exact(LANES));
        u.zip(v).map(|(u, v)| lanes(u) - lanes(v))
    };
    let rest = || rest_u.iter().zip(rest_v).map(|(u, v)| u - v);
    let lowest = f64x4::splat(f64::NEG_INFINITY);
    let largest = whole().fold(lowest, |largest, value| largest.fast_max(value));
    let largest = largest.to_array().into_iter().chain(rest());
    let largest = largest.fold(f64::NEG_INFINITY, f64::max);
    let sum = whole().fold(f64x4::ZERO, |sum, value| {
        sum + (value - f64x4::splat(largest)).exp()
    });
    let sum = sum.reduce_add() + rest().map(|value| (value - largest).exp()).sum::<f64>();
    largest + sum.ln()
}
