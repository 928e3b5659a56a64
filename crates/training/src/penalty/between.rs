//! Distances between pairs of strata, and their sensitivity to one record.

use std::ops::Range;

use burn::tensor::Tensor;
use swd::sensitivity::{F32_CLIP_SLACK, Norms};
use swd::transport::between::sliced_gradients_and_cost;
use swd::transport::host::sliced_gradient_and_distance;
use swd::transport::tensor::{cotangent_rounding, two_sample_gradients};
use swd::{Cost, Slices};

use super::Term;
use crate::TrainingError;
use crate::error::same;

/// Two strata that should be alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// The strata, by their index in the batch; each stratum belongs to at most one pair.
    pub strata: [usize; 2],
    /// The weight of their distance.
    pub weight: f64,
}

/// The penalty of a step with pairs of strata and its slices. All of it is public.
///
/// It is `P = sum over pairs of weight * SW_2^2(stratum, stratum)`, with `W_2^2` itself in one dimension. Another cost of
/// [`swd::Cost`] may replace the square.
#[derive(Debug, Clone)]
pub struct Between {
    slices: Slices,
    sizes: Vec<usize>,
    pairs: Vec<Pair>,
}

impl Between {
    /// Pairs the two strata of a batch.
    pub(super) fn strata(sizes: &[usize], slices: Slices) -> Result<Self, TrainingError> {
        same(
            "strata of a batch, for a distance between two",
            2,
            sizes.len(),
        )?;
        let pair = Pair {
            strata: [0, 1],
            weight: 1.0,
        };
        Self::new(sizes.to_vec(), vec![pair], slices)
    }

    /// Pairs the two strata of each class, and takes the mean over classes.
    pub(super) fn classes(sizes: &[usize], slices: Slices) -> Result<Self, TrainingError> {
        let classes = sizes.len() / 2;
        same(
            "strata of a batch, two for each class",
            2 * classes.max(1),
            sizes.len(),
        )?;
        let pairs = (0..classes).map(|class| Pair {
            strata: [2 * class, 2 * class + 1],
            weight: 1.0 / classes as f64,
        });
        Self::new(sizes.to_vec(), pairs.collect(), slices)
    }

    /// Creates a penalty of disjoint pairs of strata of `sizes` records.
    ///
    /// # Errors
    ///
    /// [`TrainingError::OutOfRange`] without pairs, for a stratum that is empty, missing or in two pairs, and for a weight that is
    /// not positive.
    pub fn new(sizes: Vec<usize>, pairs: Vec<Pair>, slices: Slices) -> Result<Self, TrainingError> {
        let refuse = |name, value: f64, bound: &str| {
            Err(TrainingError::OutOfRange {
                name,
                value,
                bound: bound.into(),
            })
        };
        if pairs.is_empty() {
            return refuse("pairs of strata", 0.0, "at least 1");
        }
        let mut used = vec![false; sizes.len()];
        for pair in &pairs {
            if !(pair.weight.is_finite() && pair.weight > 0.0) {
                return refuse("weight of a pair", pair.weight, "positive and finite");
            }
            for stratum in pair.strata {
                match used.get_mut(stratum) {
                    None => {
                        return refuse("stratum of a pair", stratum as f64, "one of the strata");
                    }
                    Some(true) => {
                        return refuse("stratum of a pair", stratum as f64, "in one pair");
                    }
                    Some(seen) => *seen = true,
                }
                if sizes[stratum] == 0 {
                    return refuse("records of a stratum", 0.0, "at least 1");
                }
            }
        }
        Ok(Self {
            slices,
            sizes,
            pairs,
        })
    }

    /// Returns the number of records of each stratum.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Returns the directions of this step.
    pub fn slices(&self) -> &Slices {
        &self.slices
    }

    /// An upper bound on how far the penalty's gradient moves if one record is replaced by one of its stratum, with activations of
    /// norm at most `M` and Jacobians of spectral norm at most `L`: the largest over pairs of `weight * Delta(n_0, n_1)`.
    ///
    /// `Delta = 8 M L / min(n_0, n_1)`, or less for a tight frame of at least six dimensions ([`Norms::both_private_bound`],
    /// which also covers two maps and other costs).
    pub(super) fn sensitivity_upper(&self, cost: Cost, term: &Term) -> Result<f64, TrainingError> {
        let (m, [l1, l2]) = (term.clipping.activation, term.jacobians());
        let lambda = self.slices.lambda_max_upper();
        let root = lambda.sqrt();
        // The cotangents of both sides are rounded to f32 on both data sets, each by 2^-24 of its norm, and so were the cells
        // that they are computed from.
        let rounding = match cost {
            Cost::Square => f64::powi(2.0, -20) * l1.max(l2) * root * (root + 1.0) * m,
            // Only the cotangents are rounded, once alone and once with their weight: the values that they come from are exact.
            cost => f64::powi(2.0, -21) * (l1 + l2) * root * cost.slope(2.0 * m),
        };
        let mut worst = 0.0f64;
        for pair in &self.pairs {
            let [n0, n1] = pair.strata.map(|stratum| self.sizes[stratum]);
            let bound =
                Norms::new(m, l1)
                    .other_jacobian(l2)
                    .both_private_bound(cost, [n0, n1], lambda)?;
            worst = worst.max(pair.weight * (bound * (1.0 + F32_CLIP_SLACK) + rounding));
        }
        Ok(worst)
    }

    /// The sum of the pairs' weights.
    pub(super) fn weights(&self) -> f64 {
        self.pairs.iter().map(|pair| pair.weight).sum()
    }

    /// `weight * 4 M max { (3 L1 + L2) / n_0, (L1 + 3 L2) / n_1 }`.
    pub(super) fn published_sensitivity_upper(&self, term: &Term) -> f64 {
        let (m, [l1, l2]) = (term.clipping.activation, term.jacobians());
        let of_pair = |pair: &Pair| {
            let [n0, n1] = pair.strata.map(|stratum| self.sizes[stratum]);
            let published = Norms::new(m, l1)
                .other_jacobian(l2)
                .published_bound_both_private([n0, n1]);
            pair.weight * published.unwrap_or(f64::INFINITY)
        };
        self.pairs.iter().map(of_pair).fold(0.0, f64::max)
    }

    fn check(&self, strata: &[Range<usize>]) -> Result<(), TrainingError> {
        same("strata of a batch", self.sizes.len(), strata.len())?;
        for (&expected, stratum) in self.sizes.iter().zip(strata) {
            same("records of a stratum", expected, stratum.len())?;
        }
        Ok(())
    }

    /// The penalty at `activations`, `[n, d]` in the order of the batch, and its cotangents, `[n, d]`; with two maps both
    /// have `2d` columns, and the first stratum of a pair has the first half.
    pub(super) fn cotangents(
        &self,
        cost: Cost,
        term: &Term,
        strata: &[Range<usize>],
        activations: &[f32],
    ) -> Result<(Vec<f32>, f64), TrainingError> {
        self.check(strata)?;
        let d = self.slices.dim();
        let width = term.maps() * d;
        let records: usize = strata.iter().map(Range::len).sum();
        same("values of activations", records * width, activations.len())?;
        let columns = [0, width - d];
        let mut cotangents = vec![0.0; activations.len()];
        let mut penalty = 0.0;
        for pair in &self.pairs {
            let rows = |side: usize| -> Vec<f32> {
                let rows = strata[pair.strata[side]].clone();
                let rows = rows.flat_map(|i| &activations[i * width + columns[side]..][..d]);
                rows.copied().collect()
            };
            let sides = [rows(0), rows(1)];
            let (gradients, distance) = self.gradients(cost, &sides)?;
            for (own, gradient) in gradients.iter().enumerate() {
                let records = strata[pair.strata[own]].clone();
                for (i, c) in records.zip(gradient.chunks_exact(d)) {
                    let target = &mut cotangents[i * width + columns[own]..][..d];
                    for (target, &c) in target.iter_mut().zip(c) {
                        *target = (pair.weight * f64::from(c)) as f32;
                    }
                }
            }
            penalty += pair.weight * distance;
        }
        Ok((cotangents, penalty))
    }

    /// The gradients of the distance of two strata, for each stratum, and the distance.
    fn gradients(
        &self,
        cost: Cost,
        [x, y]: &[Vec<f32>; 2],
    ) -> Result<([Vec<f32>; 2], f64), TrainingError> {
        if cost != Cost::Square {
            return Ok(sliced_gradients_and_cost(cost, x, y, &self.slices)?);
        }
        // Cells take half the time of a plan, and both directions give the same distance.
        let (first, distance) = sliced_gradient_and_distance(x, y, &self.slices)?;
        let (second, same) = sliced_gradient_and_distance(y, x, &self.slices)?;
        Ok(([first, second], 0.5 * (distance + same)))
    }

    /// [`Between::cotangents`] on the device of `activations`. With the bounds of a private step they are
    /// multiplied by `1 / (1 + x)`, `x = 8 w L r / Delta_P` for a pair of weight `w`: the rounding `r` of
    /// both sides, in each of two data sets, then fits into the sensitivity.
    pub(super) fn device_cotangents(
        &self,
        term: &Term,
        strata: &[Range<usize>],
        activations: Tensor<2>,
        bounded: bool,
    ) -> Result<(Tensor<2>, Tensor<1>), TrainingError> {
        self.check(strata)?;
        let (d, device) = (self.slices.dim(), activations.device());
        let slices = self.slices.tensor(&device);
        let width = term.maps() * d;
        same("columns of activations", width, activations.dims()[1])?;
        let columns = [0..d, width - d..width];
        let mut parts: Vec<Tensor<2>> = strata
            .iter()
            .map(|range| Tensor::zeros([range.len(), width], &device))
            .collect();
        let mut penalty = Tensor::<1>::zeros([1], &device);
        for pair in &self.pairs {
            let [x, y] = [0, 1].map(|side| {
                let rows = strata[pair.strata[side]].clone();
                activations.clone().slice([rows, columns[side].clone()])
            });
            let (in_first, in_second, distance) = two_sample_gradients(x, y, slices.clone())?;
            let shrunk = match bounded {
                true => self.shrunk(pair, term)?,
                false => 1.0,
            };
            for (side, gradient) in [in_first, in_second].into_iter().enumerate() {
                let (part, [rows, _]) = (&mut parts[pair.strata[side]], gradient.dims());
                let gradient = gradient * (pair.weight * shrunk);
                *part = part
                    .clone()
                    .slice_assign([0..rows, columns[side].clone()], gradient);
            }
            penalty = penalty + distance * pair.weight;
        }
        Ok((Tensor::cat(parts, 0), penalty))
    }

    /// `1 / (1 + 8 w L r / Delta_P)`, with the larger `L` of two maps.
    fn shrunk(&self, pair: &Pair, term: &Term) -> Result<f64, TrainingError> {
        let (m, [l1, l2]) = (term.clipping.activation, term.jacobians());
        let [n0, n1] = pair.strata.map(|stratum| self.sizes[stratum]);
        let wide = (n0.max(n1) / n0.min(n1) + 4) as f64;
        let cells = wide * f64::powi(2.0, -24) * m;
        let error = cotangent_rounding(self.slices.count(), self.slices.dim(), m, m) + cells;
        let declared = self.sensitivity_upper(Cost::Square, term)?;
        Ok(1.0 / (1.0 + 8.0 * pair.weight * l1.max(l2) * error / declared))
    }
}
