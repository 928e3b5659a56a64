//! DPSWgen: a generator trained on the smoothed distance to a release at each step, as [`super::resampled`]
//! makes it: without the order of the batch.

use burn::tensor::{Tensor, TensorData};
use lab::diagnostic::{Failure, OrFailed};
use lab::session::{Session, at_least};
use model::generator::MlpGenerator;
use private_training::adam::ModuleAdam;
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use swd::smoothed::{NoisyProjections, smoothed_distance_and_gradient, smoothing_noise};

use super::super::groups::Groups;
use super::super::run::Flow;
use super::super::shared;
use super::{Moved, ReleaseMethod, check_slices, normalise, steps_or_passes};
use crate::random::stream;

/// Points that the generator makes of a group at each step.
const POINTS: usize = 250;

lab::settings! {
    /// Settings of the generator of latents.
    common { steps: Option<u64>, learning_rate: f64, slices: usize }
    flags {
        /// Private records in a batch.
        #[bound(at_least(1))]
        batch: usize,
    }
    optional {
        /// Passes over the private records, instead of steps.
        #[flag(conflicts_with = "steps")]
        epochs: u64,
    }
}

impl ReleaseMethod for Settings {
    const NAME: &'static str = "generator";
    const ABOUT: &'static str = "Train a generator of latents on a fresh release of noisy projections at each step (DPSWgen)";
    const PRESET: &'static str = include_str!("../../../../assets/flow/generator.toml");
    const PHOTOGRAPHS: &'static str = "slices = 300\nepochs = 30";

    fn fill(&mut self, flags: &Flags, _: &shared::Settings, _: f64) {
        self.epochs = self.epochs.filter(|_| flags.steps.is_none());
    }

    fn check(&self, shared: &shared::Settings) -> Result<(), Failure> {
        at_least("steps", self.steps(self.batch), 1)?;
        check_slices(self.slices, shared.latent)
    }

    fn batch(&self) -> Option<usize> {
        Some(self.batch)
    }

    fn steps(&self, records: usize) -> u64 {
        steps_or_passes(self.steps, self.epochs, self.batch, records)
    }

    fn start(&self, flow: &mut Flow, _: &mut Session) -> Result<Moved, Failure> {
        let d = flow.groups.dim;
        let inputs = match flow.groups.classes {
            Some(_) => d + flow.groups.latents.len(),
            None => d,
        };
        let autodiff = flow.device.clone().autodiff();
        let model = Box::new(MlpGenerator::new(inputs, d, &mut flow.public, &autodiff));
        let adam = ModuleAdam::default();
        Ok(Moved::Generator(
            model,
            adam,
            self.slices,
            self.learning_rate,
        ))
    }
}

impl Flow {
    /// A step of the generator towards a fresh release; answers the mean distance.
    pub(super) fn generator_step(
        &mut self,
        model: &mut MlpGenerator,
        optimizer: &mut ModuleAdam,
        (slices, rate): (usize, f64),
        session: &mut Session,
    ) -> Result<f64, Failure> {
        let classes = self.groups.latents.len();
        let each = POINTS.div_ceil(classes).max(2);
        let autodiff = self.device.clone().autodiff();
        let targets = self.fresh_release(slices, session)?;
        let noise = noise(&self.groups, &vec![each; classes], &mut self.public);
        let noise = TensorData::new(noise, [each * classes, model.inputs()]);
        let points = model.forward(Tensor::<2>::from_data(noise, &autodiff));
        let norms = points.clone().square().sum_dim(1).sqrt().clamp_min(1e-6);
        let points = points / norms;
        let (cotangent, distance) = self.cotangent(&points, &targets, each)?;
        *model = optimizer.pull(rate, model.clone(), points, cotangent);
        Ok(distance)
    }

    /// The smoothed distance's gradient at the points of each group, and the mean distance.
    fn cotangent(
        &mut self,
        points: &Tensor<2>,
        targets: &[NoisyProjections],
        each: usize,
    ) -> Result<(Vec<f32>, f64), Failure> {
        let values: Vec<f32> = points.clone().inner().into_data().iter::<f32>().collect();
        let mut cotangent = Vec::with_capacity(values.len());
        let mut mean = 0.0;
        for (points, target) in values.chunks(each * self.groups.dim).zip(targets) {
            let smoothing = smoothing_noise(target, each, &mut self.public);
            let (distance, gradient) =
                smoothed_distance_and_gradient(points, &smoothing, target).or_failed()?;
            cotangent.extend(gradient);
            mean += distance / targets.len() as f64;
        }
        Ok((cotangent, mean))
    }

    /// Points on the sphere, some of each group; from a generator of its own, so that pictures do not
    /// change the rest of a run.
    pub(super) fn sample(&self, model: &MlpGenerator, counts: &[usize]) -> Vec<Vec<f32>> {
        let d = self.groups.dim;
        let mut own = stream(self.shared.seed, 5);
        let noise = noise(&self.groups, counts, &mut own);
        let inputs = TensorData::new(noise, [counts.iter().sum::<usize>(), model.inputs()]);
        let points = model.forward(Tensor::from_data(inputs, &self.device));
        let mut rows: Vec<f32> = points.into_data().iter::<f32>().collect();
        normalise(&mut rows, d);
        let mut rest = &rows[..];
        let part = |&count: &usize| {
            let (here, after) = rest.split_at(count * d);
            rest = after;
            here.to_vec()
        };
        counts.iter().map(part).collect()
    }
}

/// Noise with one-hot groups, where there are any, for some points of each group.
fn noise(groups: &Groups, counts: &[usize], rng: &mut ChaCha20Rng) -> Vec<f32> {
    let labelled = groups.classes.is_some();
    let mut noise = Vec::new();
    for (group, &count) in counts.iter().enumerate() {
        for _ in 0..count {
            for _ in 0..groups.dim {
                let x: f64 = StandardNormal.sample(rng);
                noise.push(x as f32);
            }
            if labelled {
                noise.extend((0..counts.len()).map(|g| f32::from(u8::from(g == group))));
            }
        }
    }
    noise
}
