//! Steps on source records, which are public, and how gradients of several sides are added up.

use std::path::Path as FilePath;

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use lab::diagnostic::{Failure, OrFailed};
use lab::progress::Progress;
use lab::session::{Session, batch};
use private_training::adam::ModuleAdam;
use private_training::weights::{from_host, to_host};
use private_training::{Batch, Engine, GroupSizes, HostTargets, Loss, Objective, cosine};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::{ChaCha8Rng, ChaCha20Rng};
use rayon::prelude::*;
use serde_json::json;

use crate::trained::{CachePath, damaged};

use super::domains::Domains;
use super::fit::Warps;
use super::images::Warp;
use super::network::Path;
use super::settings::Shared;

/// A batch of records with class numbers, as numbers.
pub(crate) struct Sampled {
    /// `[n, width]` in rows.
    pub rows: Vec<f32>,
    pub labels: Vec<usize>,
}

impl Sampled {
    /// Images warped, each in its own way around one of `warps`.
    fn warped(mut self, side: usize, warps: &Warps, strength: f64, rng: &mut impl Rng) -> Self {
        let seeds: Vec<u64> = self.labels.iter().map(|_| rng.random()).collect();
        let rows = self.rows.par_chunks(side * side).zip(seeds);
        self.rows = rows
            .flat_map_iter(|(image, seed)| {
                let rng = &mut ChaCha8Rng::seed_from_u64(seed);
                let warp = warps.sample(rng).plus(&Warp::random(strength, rng));
                warp.of(image, side)
            })
            .collect();
        self
    }

    /// The same for a step.
    pub(crate) fn batch(self, device: &Device) -> Result<Batch<2>, Failure> {
        let labels = HostTargets::Classes(&self.labels);
        batch(self.rows, labels, &[self.labels.len()], device)
    }
}

/// Source records of a step, sampled independently, with their labels; images under `warps`.
pub(crate) fn source_batch(
    settings: &Shared,
    domains: &Domains,
    warps: &Warps,
    rng: &mut impl Rng,
) -> Sampled {
    let source = &domains.source;
    let draws = (0..settings.public_batch).map(|_| rng.random_range(0..source.len()));
    let indices: Vec<usize> = draws.collect();
    let sampled = Sampled {
        rows: source.gather(&indices),
        labels: indices.iter().map(|&i| source.labels[i]).collect(),
    };
    match domains.side {
        Some(side) => sampled.warped(side, warps, settings.augment, rng),
        None => sampled,
    }
}

/// The gradient of the classification of public records. **For private ones it is not.**
pub(crate) fn public_gradient(
    network: &Path,
    batch: &Batch<2>,
    device: &Device,
) -> Result<GradientsParams, Failure> {
    let sizes = GroupSizes::Fixed(batch.sizes());
    let step = Objective::of([Loss::cross_entropy()]).with_penalties(Vec::new(), sizes);
    let gradient = step.and_then(|step| {
        step.gradient_without_privacy(network, batch, Engine::for_device(device), device)
    });
    let (gradient, _) = gradient.or_failed()?;
    Ok(gradient.into_params_without_privacy())
}

/// Takes the gradients of a module's parameters out of `from` and adds them, `weight` times, to `into`.
pub(crate) fn add<M: Module>(
    into: &mut GradientsParams,
    module: &M,
    weight: f64,
    from: &mut GradientsParams,
) {
    struct Add<'a>(&'a mut GradientsParams, f64, &'a mut GradientsParams);
    impl ModuleVisitor for Add<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let Some(part) = self.2.remove::<D>(param.id) else {
                return;
            };
            let mut sum = part * self.1;
            if let Some(before) = self.0.remove::<D>(param.id) {
                sum = sum + before;
            }
            self.0.register::<D>(param.id, sum);
        }
    }
    module.visit(&mut Add(into, weight, from));
}

/// The classifier after its steps on the source alone: read from `cache`, or trained and written there.
pub(crate) fn trained_on_source(
    fresh: Path,
    settings: &Shared,
    domains: &Domains,
    cache: &FilePath,
    session: &Session,
) -> Result<Path, Failure> {
    let key = json!({
        "format": 2,
        "source": domains.used[0].sha256,
        "records": domains.source.len(),
        "images": settings.images,
        "augment": settings.augment,
        "pooled": settings.pooled,
        "bottleneck": settings.latent,
        "steps": settings.public_steps,
        "batch": settings.public_batch,
        "rate": settings.learning_rate,
        "seed": settings.seed,
        "backend": session.chosen.backend,
    });
    let file = CachePath::of(cache, &key, "a classifier");
    if let Some(weights) = file.whole()? {
        return from_host(fresh, &weights).map_err(|e| damaged(file.path(), &e));
    }
    let network = trained(fresh, settings, domains, &Warps::default(), session)?;
    file.keep(&to_host(&network))?;
    Ok(network)
}

/// The classifier after its steps on source records, images under `warps`.
pub(crate) fn trained(
    fresh: Path,
    settings: &Shared,
    domains: &Domains,
    warps: &Warps,
    session: &Session,
) -> Result<Path, Failure> {
    let (steps, device) = (settings.public_steps, &session.chosen.device);
    println!("public    training a classifier of the source, {steps} steps");
    let mut rng = ChaCha20Rng::seed_from_u64(settings.seed);
    rng.set_stream(7);
    let mut adam = ModuleAdam::default();
    let mut network = fresh;
    let progress = Progress::from(0, steps);
    for step in 0..steps {
        session.interrupt.check("the source was learned")?;
        let batch = source_batch(settings, domains, warps, &mut rng).batch(device)?;
        let gradient = public_gradient(&network, &batch, device)?;
        let rate = settings.learning_rate * cosine(step, steps, 0.0);
        network = adam.step(rate, network, gradient);
        progress.step();
    }
    progress.finish();
    Ok(network)
}
