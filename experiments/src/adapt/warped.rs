//! Public images warped until they look like private ones: one release of the target's sliced marginals, the warps under which
//! source images have them, and a classifier that learns from such images.
//!
//! [`Adapt::marginals`] is all that reads a private record here. What follows is post-processing.

use std::f64::consts::PI;

use lab::diagnostic::{Failure, OrFailed};
use lab::session::Session;
use private_queries::marginals::{Basis, Bins, SlicedMarginals};
use private_queries::{GroupMarginals, MarginalQuery};
use rand::Rng;
use rand::seq::index;
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use swd::{Region, Slices};

use super::domains::Domain;
use super::fit::{Fit, Warps};
use super::public::trained;
use super::settings::{Method, Private, Shared, is_file};
use super::train::Adapt;
use crate::random::stream;

/// The one release, by its name in the plan.
pub(super) const MARGINALS: &str = "marginals";
/// Slices are Gaussian noise on the pixels, smoothed by a Gaussian of so many pixels: a shift of an image moves such
/// projections smoothly.
const SMOOTH: f64 = 2.0;
/// Bins of a slice: 1.3 times as wide, together, as the source's projections.
const BINS: usize = 32;
const WIDER: f64 = 1.3;
/// Source images that are compared with the release.
const COMPARED: usize = 1000;
/// Of the generator of slices and of the search; others serve the training.
const STREAM: u64 = 11;

lab::settings! {
    /// Settings of the warp.
    struct Warped, WarpedFlags;
    common { slices: usize }
}

impl Method for Warped {
    const NAME: &'static str = "warp";
    const ABOUT: &'static str = "Warp images of the source until their sliced marginals are those that the target releases once";
    const READS: &'static str = "noisy histograms of projected pixels";
    const RELEASES: &'static [&'static str] = &[MARGINALS];
    type Private = Private;
    type Steps = ();

    fn check(&self, shared: &Shared) -> Result<(), Failure> {
        if is_file(&shared.target) {
            return Err(no_images(&shared.target));
        }
        Ok(())
    }

    fn prepare(run: &mut Adapt<Self>, session: &mut Session) -> Result<(), Failure> {
        let warps = run.warps(session)?;
        let shown = warps
            .named()
            .into_iter()
            .filter(|(_, value)| value.abs() > 0.005);
        let shown: Vec<String> = shown
            .map(|(name, value)| format!("{name} {value:.2}"))
            .collect();
        println!("warp      {}", shown.join(", "));
        let fresh = run.fresh.clone();
        let (shared, domains) = (&run.settings.shared, &run.domains);
        // Not kept in the cache, which has what public records alone taught.
        let learned = trained(fresh, shared, domains, &warps, session)?;
        let network = run.training.network.clone();
        run.training.network = network.with_classifier(&learned);
        run.warps = Some(warps);
        Ok(())
    }
}

/// The failure of features where images are needed.
fn no_images(target: &str) -> Failure {
    Failure::input(
        format!("--target {target}: a file of features has no images to warp"),
        "for features see `sliver adapt sliced`",
    )
}

/// Random directions of images that change little from pixel to pixel.
fn smooth(side: usize, count: usize, rng: &mut impl Rng) -> Result<Slices, Failure> {
    // A Gaussian of the torus, row by row and column by column.
    let kernel: Vec<f64> = (0..side)
        .map(|i| {
            let waves = (0..side).map(|f| {
                let frequency = f.min(side - f) as f64 / side as f64;
                let phase = 2.0 * PI * (f * i) as f64 / side as f64;
                (-2.0 * (PI * SMOOTH * frequency).powi(2)).exp() * phase.cos()
            });
            waves.sum()
        })
        .collect();
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
    let directions = (0..count).flat_map(|_| {
        let noise: Vec<f64> = (0..side * side)
            .map(|_| StandardNormal.sample(rng))
            .collect();
        along(&along(&noise, 1, side), side, 1)
    });
    let directions: Vec<f64> = directions.collect();
    Slices::from_directions(side * side, &directions).or_failed()
}

/// Some records of a domain, without repetition.
fn some(domain: &Domain, rng: &mut impl Rng) -> Vec<f32> {
    let count = COMPARED.min(domain.len());
    domain.gather(&index::sample(rng, domain.len(), count).into_vec())
}

impl Adapt<Warped> {
    /// What is asked of the target, with the public images that decided the bins.
    pub(super) fn query(
        &self,
        rng: &mut ChaCha20Rng,
    ) -> Result<(MarginalQuery, Vec<f32>), Failure> {
        let Some(side) = self.domains.side else {
            return Err(no_images(&self.settings.shared.target));
        };
        let slices = smooth(side, self.settings.own.slices, rng)?;
        let images = some(&self.domains.source, rng);
        // Grey values are at most 1, so every image lies in it.
        let region = Region::ball(side as f64).or_failed()?;
        let projected = region.project(&images, &slices).or_failed()?;
        let bins = projected
            .chunks_exact(projected.len() / slices.count())
            .map(|values| {
                let least = values.iter().fold(f64::INFINITY, |a, &b| a.min(b));
                let most = values.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b));
                let (middle, half) = (
                    f64::midpoint(least, most),
                    WIDER * (most - least).max(1e-3) / 2.0,
                );
                Bins::between(middle - half, middle + half, BINS)
            });
        let bins = bins.collect::<Result<Vec<_>, _>>().or_failed()?;
        let query = MarginalQuery::by_slice(slices, region, bins, Basis::Haar);
        Ok((query.or_failed()?, images))
    }

    /// The target's marginals: released once, and kept.
    pub(super) fn marginals(
        &mut self,
        query: &MarginalQuery,
        session: &mut Session,
    ) -> Result<SlicedMarginals, Failure> {
        let records = self.domains.target.len();
        let query = GroupMarginals::new(vec![query.clone()], vec![records]).or_failed()?;
        let mut released = session.release(self, MARGINALS, &query, |run, session| {
            session.measure(&query, std::slice::from_ref(&run.domains.target.rows))
        })?;
        released
            .pop()
            .ok_or_else(|| Failure::failed("a release of no group"))
    }

    /// The warps under which source images have the released marginals.
    fn warps(&mut self, session: &mut Session) -> Result<Warps, Failure> {
        let mut rng = stream(self.settings.shared.seed, STREAM);
        let (query, images) = self.query(&mut rng)?;
        let released = self.marginals(&query, session)?;
        warps_of(&query, &released, &images, &mut rng)
    }
}

/// The warps under which public `images` look like what was released.
pub(super) fn warps_of(
    query: &MarginalQuery,
    released: &SlicedMarginals,
    images: &[f32],
    rng: &mut ChaCha20Rng,
) -> Result<Warps, Failure> {
    let slices = 0..query.slices().count();
    let edges = slices.map(|l| {
        let edges = query.bins(l).edges();
        edges[1..edges.len() - 1].to_vec()
    });
    let side = query.slices().dim().isqrt();
    let fit = Fit {
        images,
        side,
        released,
        edges: &edges.collect::<Vec<_>>(),
        region: Region::ball(side as f64).or_failed()?,
    };
    fit.search(rng)
}
