//! Public images warped until they look like private ones: one release of the target's sliced marginals, and the warps under
//! which source images have them.
//!
//! [`release`] is all that reads a private record here. What follows is post-processing.

use std::f64::consts::PI;

use dp_core::mechanism::{NoiseSource, NoisyVector};
use dp_core::plan::CheckedPlan;
use private_queries::marginals::{Bins, SlicedMarginals};
use private_queries::{GroupMarginals, MarginalQuery, Query};
use private_training::prelude::*;
use rand::seq::index;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use swd::{NormBound, Slices};

use super::Failed;
use super::domains::{Domains, gather};
use super::fit::{Fit, Warps};
use super::run::Settings;

/// The one release, by its name in the plan.
pub(super) const MARGINALS: &str = "marginals";
/// Slices are Gaussian noise on the pixels, smoothed by a Gaussian of this deviation in pixels: a shift of an image moves such
/// projections smoothly.
const SMOOTH: f64 = 2.0;
const SLICES: usize = 64;
/// Bins of a slice: 1.3 times as wide, together, as the source's projections.
const BINS: usize = 32;
const WIDER: f64 = 1.3;
/// Source images that are compared with the release.
const COMPARED: usize = 1000;
/// Of the generator of slices and of the search; others serve the training.
const STREAM: u64 = 11;

/// The warps under which source images have the target's marginals, which are released once.
pub(super) fn warps(
    settings: &Settings,
    domains: &Domains,
    plan: Option<CheckedPlan>,
    noise: NoiseSource,
    ledger: &mut Ledger,
) -> Result<Warps, Failed> {
    let mut rng = ChaCha20Rng::seed_from_u64(settings.seed);
    rng.set_stream(STREAM);
    let (query, images) = query(domains, &mut rng)?;
    let released = release(&query, domains, plan, noise, ledger)?;
    Fit::new(&query, &released, &images)?.search(&mut rng)
}

/// The target's marginals.
pub(super) fn release(
    query: &MarginalQuery,
    domains: &Domains,
    plan: Option<CheckedPlan>,
    noise: NoiseSource,
    ledger: &mut Ledger,
) -> Result<SlicedMarginals, Failed> {
    let query = GroupMarginals::new(vec![query.clone()], vec![domains.records()])?;
    let measured = query.measure(std::slice::from_ref(&domains.target))?;
    let noisy = match plan.map(|plan| plan.releaser(noise)) {
        Some(mut releaser) => releaser.release_vector(MARGINALS, &measured, ledger)?,
        None => NoisyVector::without_privacy(measured),
    };
    Ok(query.read(&noisy)?.remove(0))
}

/// What is asked of the target, with the public images that decided the bins.
pub(super) fn query(
    domains: &Domains,
    rng: &mut ChaCha20Rng,
) -> Result<(MarginalQuery, Vec<f32>), Failed> {
    let slices = smooth(domains.side, rng)?;
    let records = domains.source.labels.len();
    let some = index::sample(rng, records, COMPARED.min(records)).into_vec();
    let images = gather(&domains.source.rows, domains.width(), &some);
    // Grey values are at most 1, so every image lies in it.
    let region = NormBound::ball(domains.side as f64)?;
    let projected = region.project(&images, &slices)?;
    let bins = projected.chunks_exact(some.len()).map(|values| {
        let least = values.iter().fold(f64::INFINITY, |a, &b| a.min(b));
        let most = values.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
        let middle = f64::midpoint(least, most);
        let half = WIDER * (most - least).max(1e-3) / 2.0;
        Bins::between(middle - half, middle + half, BINS)
    });
    let bins = bins.collect::<Result<Vec<_>, _>>()?;
    let query = MarginalQuery::by_slice(slices, region, bins)?;
    Ok((query, images))
}

/// Random directions of images that change little from pixel to pixel.
fn smooth(side: usize, rng: &mut impl Rng) -> Result<Slices, Failed> {
    // A Gaussian of the torus, row by row and column by column.
    let kernel = (0..side).map(|i| {
        let waves = (0..side).map(|f| {
            let frequency = f.min(side - f) as f64 / side as f64;
            let phase = 2.0 * PI * (f * i) as f64 / side as f64;
            (-2.0 * (PI * SMOOTH * frequency).powi(2)).exp() * phase.cos()
        });
        waves.sum()
    });
    let kernel: Vec<f64> = kernel.collect();
    let along = |image: &[f64], step: usize, next: usize| -> Vec<f64> {
        let mut new = vec![0.0; image.len()];
        for line in 0..side {
            for at in 0..side {
                let sum = (0..side).map(|from| {
                    kernel[(at + side - from) % side] * image[line * next + from * step]
                });
                new[line * next + at * step] = sum.sum();
            }
        }
        new
    };
    let directions = (0..SLICES).flat_map(|_| {
        let noise = (0..side * side).map(|_| StandardNormal.sample(rng));
        let noise: Vec<f64> = noise.collect();
        along(&along(&noise, 1, side), side, 1)
    });
    let directions: Vec<f64> = directions.collect();
    Ok(Slices::from_directions(side * side, &directions)?)
}
