//! The warp under which public images have the sliced marginals that were released: post-processing.

use lab::diagnostic::{Failure, OrFailed};
use nalgebra::{DMatrix, DVector};
use private_queries::marginals::SlicedMarginals;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use swd::Region;

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

/// Warps around one in the middle, with Gaussian deviations of some of its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Warps {
    middle: [f64; Warp::COUNT],
    deviations: [f64; VARYING.len()],
}

impl Warps {
    /// One of them.
    pub(crate) fn sample(&self, rng: &mut impl Rng) -> Warp {
        let normal: [f64; VARYING.len()] = std::array::from_fn(|_| StandardNormal.sample(rng));
        self.at(&normal)
    }

    fn at(&self, normal: &[f64; VARYING.len()]) -> Warp {
        let mut warp = self.middle;
        for ((&place, deviation), normal) in VARYING.iter().zip(self.deviations).zip(normal) {
            warp[place] += deviation * normal;
        }
        Warp(warp)
    }

    /// The names and values of all numbers, as reports show them.
    pub(crate) fn named(&self) -> Vec<(String, f64)> {
        let middle = Warp::NAMES.iter().map(|name| (*name).to_string());
        let deviations = VARYING
            .iter()
            .map(|&i| format!("deviation of {}", Warp::NAMES[i]));
        middle.chain(deviations).zip(self.numbers()).collect()
    }

    fn numbers(&self) -> [f64; COUNT] {
        let all = [&self.middle[..], &self.deviations].concat();
        std::array::from_fn(|i| all[i])
    }

    /// Within what a warp can do.
    fn of(numbers: &[f64; COUNT]) -> Self {
        let (middle, deviations) = numbers.split_at(Warp::COUNT);
        let mut middle: [f64; Warp::COUNT] = std::array::from_fn(|i| middle[i]);
        for own in &mut middle[11..] {
            *own = own.clamp(-1.0, 1.2);
        }
        Self {
            middle,
            deviations: std::array::from_fn(|i| deviations[i].abs()),
        }
    }
}

/// What a search looks at: public images, and a release.
pub(crate) struct Fit<'a> {
    /// Public images `[n, side * side]`.
    pub images: &'a [f32],
    /// Pixels along a side.
    pub side: usize,
    /// Distributions on slices, and the inner edges at which they are compared, a row a slice.
    pub released: &'a SlicedMarginals,
    pub edges: &'a [Vec<f64>],
    /// Where images lie.
    pub region: Region,
}

impl Fit<'_> {
    /// The most probable warps: `sum (F_theta - F)^2` over slices and edges, with `F` the released distribution function and
    /// `F_theta` that of the warped images averaged over the width of a bin, and a Gaussian prior around none; by
    /// Levenberg's and Marquardt's steps.
    pub(crate) fn search(&self, rng: &mut impl Rng) -> Result<Warps, Failure> {
        let n = self.images.len() / (self.side * self.side);
        let normals: Vec<[f64; VARYING.len()]> = (0..n)
            .map(|_| std::array::from_fn(|_| StandardNormal.sample(rng)))
            .collect();
        let wanted: Vec<f64> = self
            .edges
            .iter()
            .enumerate()
            .flat_map(|(l, edges)| {
                let below = move |&edge: &f64| self.released.below(l, edge);
                edges.iter().map(below)
            })
            .collect();
        let prior = PRIOR * wanted.len() as f64;
        let residual = |numbers: &[f64; COUNT]| -> Result<DVector<f64>, Failure> {
            let found = self.below(&Warps::of(numbers), &normals)?;
            Ok(DVector::from_iterator(
                wanted.len(),
                found.iter().zip(&wanted).map(|(a, b)| a - b),
            ))
        };
        let scaled = |numbers: &[f64; COUNT]| {
            DVector::from_iterator(
                COUNT,
                numbers.iter().zip(SCALES).map(|(x, scale)| x / scale),
            )
        };
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
                let moved = Warps::of(&moved).numbers();
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
        Ok(Warps::of(&numbers))
    }

    /// The distribution functions of the warped images' projections at the edges.
    fn below(&self, warps: &Warps, normals: &[[f64; VARYING.len()]]) -> Result<Vec<f64>, Failure> {
        let pixels = self.side * self.side;
        let warped: Vec<f32> = self
            .images
            .par_chunks(pixels)
            .zip(normals)
            .flat_map_iter(|(image, normal)| warps.at(normal).of(image, self.side))
            .collect();
        let projected = self
            .region
            .project(&warped, self.released.slices())
            .or_failed()?;
        let n = normals.len();
        let slices = projected.par_chunks(n).zip(self.edges);
        Ok(slices
            .flat_map_iter(|(values, edges)| {
                let width = edges[1] - edges[0];
                edges.iter().map(move |edge| {
                    let ramp = values
                        .iter()
                        .map(|&u| ((edge - u) / width + 0.5).clamp(0.0, 1.0));
                    ramp.sum::<f64>() / n as f64
                })
            })
            .collect())
    }
}
