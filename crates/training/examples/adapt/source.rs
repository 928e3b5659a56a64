//! Steps on source records, which are public.

use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};
use dp_core::sampling::Sampler;
use private_training::adam::ModuleAdam;
use private_training::{Batch, Engine, HostTargets, Loss, Objective, cosine};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::{ChaCha8Rng, ChaCha20Rng};
use rayon::prelude::*;

use super::Failed;
use super::domains::{Domains, gather};
use super::fit::Warps;
use super::images::Warp;
use super::network::Classifier;
use super::run::{LEARNING_RATE, Settings};

/// Source records in a step.
const BATCH: usize = 128;
/// Of the generator of these steps; others serve the warp, the weights and the slices.
const STREAM: u64 = 7;

/// A batch of groups of these sizes, which stand one after the other.
pub(super) fn batch(
    rows: Vec<f32>,
    targets: HostTargets<'_>,
    sizes: &[usize],
    device: &Device,
) -> Result<Batch<2>, Failed> {
    let records = sizes.iter().sum::<usize>();
    let width = rows.len() / records.max(1);
    let rows = Tensor::from_data(TensorData::new(rows, [records, width]), device);
    Ok(Batch::new(rows, targets.on(records, device), sizes)?)
}

impl Settings {
    /// The gradient of the classification of source records, each warped in its own way around one of `warps`.
    pub(super) fn gradient_of_source(
        &self,
        network: &Classifier,
        domains: &Domains,
        warps: &Warps,
        rng: &mut impl Rng,
        device: &Device,
    ) -> Result<GradientsParams, Failed> {
        let (source, width) = (&domains.source, domains.width());
        let sampled = (0..BATCH).map(|_| rng.random_range(0..source.labels.len()));
        let sampled: Vec<usize> = sampled.collect();
        let labels: Vec<usize> = sampled.iter().map(|&i| source.labels[i]).collect();
        let seeds: Vec<u64> = sampled.iter().map(|_| rng.random()).collect();
        let rows = gather(&source.rows, width, &sampled);
        let rows = rows
            .par_chunks(width)
            .zip(seeds)
            .flat_map_iter(|(image, seed)| {
                let rng = &mut ChaCha8Rng::seed_from_u64(seed);
                let warp = warps.sample(rng).plus(&Warp::random(self.augment, rng));
                warp.of(image, domains.side)
            });
        let targets = HostTargets::Classes(&labels);
        let batch = batch(rows.collect(), targets, &[BATCH], device)?;
        let objective = Objective::new([Loss::cross_entropy()]);
        let step = objective.with_penalties(Vec::new(), &Sampler::all(BATCH)?)?;
        let engine = Engine::for_device(device);
        let (gradient, _) = step.gradient_without_privacy(network, &batch, engine, device)?;
        Ok(gradient.into_params_without_privacy())
    }

    /// The classifier after its steps on source records alone, images under `warps`.
    pub(super) fn learn_source(
        &self,
        mut network: Classifier,
        domains: &Domains,
        warps: &Warps,
    ) -> Result<Classifier, Failed> {
        let steps = self.public_steps;
        eprintln!("public    {steps} steps on {}", self.source);
        let mut rng = ChaCha20Rng::seed_from_u64(self.seed);
        rng.set_stream(STREAM);
        let mut adam = ModuleAdam::default();
        for step in 0..steps {
            let device = Device::flex();
            let gradient = self.gradient_of_source(&network, domains, warps, &mut rng, &device)?;
            network = adam.step(LEARNING_RATE * cosine(step, steps, 0.0), network, gradient);
        }
        Ok(network)
    }
}
