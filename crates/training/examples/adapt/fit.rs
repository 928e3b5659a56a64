//! The warp under which public images have the sliced marginals that were released: post-processing.

use nalgebra::{DMatrix, DVector};
use private_queries::MarginalQuery;
use private_queries::marginals::SlicedMarginals;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use swd::{NormBound, Slices};

use super::Failed;
use super::images::Warp;

/// The numbers of a warp that differ from image to image: height, width, turn, shear, stroke.
const VARYING: [usize; 5] = [0, 1, 2, 3, 6];
const COUNT: usize = Warp::COUNT + VARYING.len();
/// By how much each number may differ before it needs a reason: deviations of a Gaussian prior, and scales of the search.
const SCALES: [f64; COUNT] = [
    0.15, 0.15, 0.1, 0.15, 0.05, 0.05, 0.5, 0.5, 0.4, 0.3, 0.15, 0.5, 0.5, // the middle
    0.1, 0.1, 0.1, 0.15, 0.4, // the deviations
];
/// The weight of the prior for each value that is compared.
const PRIOR: f64 = 5e-5;
/// Steps of a search, at most, and the decrease below which it ends.
const STEPS: usize = 20;
const ENOUGH: f64 = 1e-3;
/// A difference quotient's step, in scales.
const NUDGE: f64 = 0.04;

/// Warps around one in the middle, with Gaussian deviations of some of its numbers, which come last.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Warps(pub [f64; COUNT]);

impl Warps {
    /// One of them.
    pub(super) fn sample(&self, rng: &mut impl Rng) -> Warp {
        self.at(&std::array::from_fn(|_| StandardNormal.sample(rng)))
    }

    fn at(&self, normal: &[f64; VARYING.len()]) -> Warp {
        let mut warp = std::array::from_fn(|i| self.0[i]);
        for (i, place) in VARYING.into_iter().enumerate() {
            warp[place] += self.0[Warp::COUNT + i] * normal[i];
        }
        Warp(warp)
    }

    /// Within what a warp can do.
    fn of(mut numbers: [f64; COUNT]) -> Self {
        for own in &mut numbers[11..Warp::COUNT] {
            *own = own.clamp(-1.0, 1.2);
        }
        for deviation in &mut numbers[Warp::COUNT..] {
            *deviation = deviation.abs();
        }
        Self(numbers)
    }
}

/// What a search looks at: public images, and a release.
pub(super) struct Fit<'a> {
    /// Public images `[n, side * side]`.
    images: &'a [f32],
    /// Pixels along a side.
    side: usize,
    /// Where images lie.
    region: NormBound,
    slices: &'a Slices,
    /// Inner edges of the bins of each slice, and the released distribution function there.
    edges: Vec<Vec<f64>>,
    wanted: DVector<f64>,
}

impl<'a> Fit<'a> {
    /// Of what was `released` when `query` was asked.
    pub(super) fn new(
        query: &'a MarginalQuery,
        released: &SlicedMarginals,
        images: &'a [f32],
    ) -> Result<Self, Failed> {
        let (slices, side) = (query.slices(), query.slices().dim().isqrt());
        let edges = (0..slices.count()).map(|l| {
            let edges = query.bins(l).edges();
            edges[1..edges.len() - 1].to_vec()
        });
        let edges: Vec<Vec<f64>> = edges.collect();
        let each = edges.iter().enumerate();
        let wanted = each.flat_map(|(l, edges)| edges.iter().map(move |&e| released.below(l, e)));
        Ok(Self {
            images,
            side,
            region: NormBound::ball(side as f64)?,
            slices,
            wanted: DVector::from_vec(wanted.collect()),
            edges,
        })
    }

    /// The most probable warps: `sum (F_theta - F)^2` over slices and edges, with `F` the released distribution function and
    /// `F_theta` that of the warped images averaged over the width of a bin, and a Gaussian prior around none; by
    /// Levenberg's and Marquardt's steps.
    pub(super) fn search(&self, rng: &mut impl Rng) -> Result<Warps, Failed> {
        let n = self.images.len() / (self.side * self.side);
        let normals: Vec<[f64; VARYING.len()]> = (0..n)
            .map(|_| std::array::from_fn(|_| StandardNormal.sample(rng)))
            .collect();
        let prior = PRIOR * self.wanted.len() as f64;
        let residual = |numbers: &[f64; COUNT]| {
            let found = self.below(&Warps::of(*numbers), &normals)?;
            Ok::<_, Failed>(found - &self.wanted)
        };
        let scaled =
            |numbers: &[f64; COUNT]| DVector::from_fn(COUNT, |i, _| numbers[i] / SCALES[i]);
        let cost = |numbers: &[f64; COUNT], residual: &DVector<f64>| {
            residual.norm_squared() + prior * scaled(numbers).norm_squared()
        };
        // At no deviation at all the search would see no way to more: a deviation counts either way.
        let mut numbers: [f64; COUNT] = std::array::from_fn(|i| match i < Warp::COUNT {
            true => 0.0,
            false => 0.3 * SCALES[i],
        });
        let mut now = residual(&numbers)?;
        let (mut least, mut damping) = (cost(&numbers, &now), 1e-2);
        for _ in 0..STEPS {
            let mut columns = Vec::with_capacity(COUNT);
            for (place, scale) in SCALES.iter().enumerate() {
                let mut near = numbers;
                near[place] += NUDGE * scale;
                columns.push((residual(&near)? - &now) / NUDGE);
            }
            let jacobian = DMatrix::from_columns(&columns);
            let gradient = jacobian.tr_mul(&now) + scaled(&numbers) * prior;
            let hessian = jacobian.tr_mul(&jacobian) + DMatrix::identity(COUNT, COUNT) * prior;
            let mut better = None;
            for _ in 0..5 {
                let damped = &hessian + DMatrix::from_diagonal(&hessian.diagonal()) * damping;
                let Some(step) = damped.cholesky().map(|factor| factor.solve(&gradient)) else {
                    break;
                };
                let moved: [f64; COUNT] =
                    std::array::from_fn(|i| numbers[i] - step[i].clamp(-1.0, 1.0) * SCALES[i]);
                let moved = Warps::of(moved).0;
                let next = residual(&moved)?;
                let value = cost(&moved, &next);
                if value < least {
                    better = Some((moved, next, value));
                    break;
                }
                damping *= 4.0;
            }
            let Some((moved, next, value)) = better else {
                break;
            };
            let gained = (least - value) / least;
            (numbers, now, least) = (moved, next, value);
            damping = (damping / 4.0).max(1e-4);
            if gained < ENOUGH {
                break;
            }
        }
        Ok(Warps::of(numbers))
    }

    /// The distribution functions of the warped images' projections at the edges.
    fn below(
        &self,
        warps: &Warps,
        normals: &[[f64; VARYING.len()]],
    ) -> Result<DVector<f64>, Failed> {
        let images = self.images.par_chunks(self.side * self.side).zip(normals);
        let warped = images.flat_map_iter(|(image, normal)| warps.at(normal).of(image, self.side));
        let warped: Vec<f32> = warped.collect();
        let projected = self.region.project(&warped, self.slices)?;
        let n = normals.len();
        let slices = projected.par_chunks(n).zip(&self.edges);
        let found = slices.flat_map_iter(|(values, edges)| {
            let width = edges[1] - edges[0];
            edges.iter().map(move |edge| {
                let below = |&u: &f64| ((edge - u) / width + 0.5).clamp(0.0, 1.0);
                values.iter().map(below).sum::<f64>() / n as f64
            })
        });
        Ok(DVector::from_vec(found.collect()))
    }
}
