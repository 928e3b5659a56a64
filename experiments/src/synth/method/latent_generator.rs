//! DPSWgen (Sebag et al. 2023, appendix C.5): a generator of latents trained on the smoothed distance to a release at each step, as
//! [`super::resampled`] makes it: without the order of the batch.

use std::collections::BTreeMap;

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use lab::prelude::*;
use model::generator::MlpGenerator;
use private_synth::images::normalise;
use private_training::adam::ModuleAdam;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use swd::smoothed::{NoisyProjections, smoothed_distance_and_gradient, smoothing_noise};

use super::super::run::Synth;
use super::particles::{labels, share};
use super::resampled::{at_each_step, fresh_release};
use super::{CopyMethod, Made, Making};
use crate::generators::{kept, restored};
use crate::random::stream;

/// Points that the generator makes of all groups at each step.
const POINTS: usize = 250;

pub(super) const METHOD: CopyMethod = CopyMethod {
    defaults: "latent = 8\nslices = 70\nbatch = 250\nlearning-rate = 1e-3",
    ..at_each_step(
        |_| "projections of a batch, at each step, for a generator of latents".into(),
        start,
    )
};

fn start(run: &mut Synth, session: &mut Session) -> Result<Box<dyn Making>, Failure> {
    run.encode(true, session)?;
    let d = run.form.latent;
    let inputs = d + run.input.classes.len();
    let autodiff = run.device.clone().autodiff();
    Ok(Box::new(Learning {
        model: MlpGenerator::new(inputs, d, &mut run.rng, &autodiff),
        optimizer: ModuleAdam::default(),
    }))
}

struct Learning {
    model: MlpGenerator,
    optimizer: ModuleAdam,
}

impl Making for Learning {
    fn step(&mut self, run: &mut Synth, session: &mut Session) -> Result<f64, Failure> {
        let classes = run.sizes.len();
        let each = POINTS.div_ceil(classes).max(2);
        let targets = fresh_release(run, session)?;
        let counts = vec![each; classes];
        let noise = noise(&counts, run.form.latent, self.model.inputs(), &mut run.rng);
        let noise = TensorData::new(noise, [each * classes, self.model.inputs()]);
        let autodiff = run.device.clone().autodiff();
        let points = self.model.forward(Tensor::<2>::from_data(noise, &autodiff));
        let norms = points.clone().square().sum_dim(1).sqrt().clamp_min(1e-6);
        let points = points / norms;
        let (cotangent, distance) = cotangent(&points, &targets, each, run)?;
        let rate = run.settings.learning_rate.unwrap_or(1e-3);
        let model = self.model.clone();
        self.model = self.optimizer.pull(rate, model, points, cotangent);
        Ok(distance)
    }

    fn files(&self) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        Ok(kept(&self.model, &self.optimizer))
    }

    fn restore(&mut self, checkpoint: &RestoredCheckpoint, device: &Device) -> Result<(), Failure> {
        (self.model, self.optimizer) = restored(&self.model, checkpoint, device)?;
        Ok(())
    }

    /// Points on the sphere, from a generator of their own.
    fn made(self: Box<Self>, run: &Synth) -> Result<Made, Failure> {
        let (d, model) = (run.form.latent, self.model.valid());
        let counts = share(&run.sizes, run.total());
        let own = &mut stream(run.settings.seed, 5);
        let noise = noise(&counts, d, model.inputs(), own);
        let inputs = TensorData::new(noise, [counts.iter().sum::<usize>(), model.inputs()]);
        let points = model.forward(Tensor::from_data(inputs, &run.device));
        let mut rows: Vec<f32> = points.into_data().iter::<f32>().collect();
        normalise(&mut rows, d);
        Ok(Made::Latents(run.labelled(rows, || labels(&counts))))
    }
}

/// The smoothed distance's gradient at the points of each group, and the mean distance.
fn cotangent(
    points: &Tensor<2>,
    targets: &[NoisyProjections],
    each: usize,
    run: &mut Synth,
) -> Result<(Vec<f32>, f64), Failure> {
    let values: Vec<f32> = points.clone().inner().into_data().iter::<f32>().collect();
    let mut cotangent = Vec::with_capacity(values.len());
    let mut mean = 0.0;
    for (points, target) in values.chunks(each * run.form.latent).zip(targets) {
        let smoothing = smoothing_noise(target, each, &mut run.rng);
        let (distance, gradient) =
            smoothed_distance_and_gradient(points, &smoothing, target).or_failed()?;
        cotangent.extend(gradient);
        mean += distance / targets.len() as f64;
    }
    Ok((cotangent, mean))
}

/// `dim` values of noise for each of some points of each group, with one-hot groups behind them up to a `width`.
fn noise(counts: &[usize], dim: usize, width: usize, rng: &mut impl Rng) -> Vec<f32> {
    let mut noise = Vec::new();
    for (group, &count) in counts.iter().enumerate() {
        for _ in 0..count {
            for _ in 0..dim {
                let x: f64 = StandardNormal.sample(rng);
                noise.push(x as f32);
            }
            noise.extend((0..width - dim).map(|g| f32::from(u8::from(g == group))));
        }
    }
    noise
}
