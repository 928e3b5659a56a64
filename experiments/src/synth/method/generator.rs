//! A generator of images, trained on released projections of labelled images, which any number of steps may look at
//! (Rakotomamonjy and Ralaivola 2021, section 5.2 and table 3). Once: a noisy histogram of every slice of each class.

use std::collections::BTreeMap;

use burn::tensor::Device;
use dp_core::mechanism::SensitiveVector;
use lab::prelude::*;
use model::latent::ImageShape;
use private_queries::marginals::Bins;
use private_queries::{LabelledMarginals, Query};
use private_synth::images::{GeneratedImages, Generator};
use private_training::cosine;
use rand_chacha::ChaCha20Rng;
use serde::de::IgnoredAny;
use swd::{FlowTarget, NormBound, Particles, Slices};

use super::super::generated::{Generated, untrained};
use super::super::run::Synth;
use super::particles::{boxed, slices_of_step, step_size};
use super::{CopyMethod, Made, Making, RELEASE, projections};
use crate::generators;
use crate::random::stream;

/// Images whose histograms are counted at once.
const PART: usize = 10_000;
/// The radius of the ball that images are projected onto, of 28 pixels a side; histograms reach as far.
const RADIUS: f64 = 20.0;
/// The decay of the average of the weights that samples are made by.
const AVERAGE: f64 = 0.995;
/// The streams of the seed that slices are sampled from: one for the release of all images, and one for each step.
const SLICES: u64 = 16;

pub(super) const METHOD: CopyMethod = CopyMethod {
    has_latents: false,
    defaults: "bins = 128\nslices = 1000\nslices-per-step = 100\nsteps = 1000\nlearning-rate = 4e-3",
    points: 200,
    keeps_steps: true,
    ..CopyMethod::new(|_| "histograms of every slice, of each class".into(), start)
};

fn start(run: &mut Synth, session: &mut Session) -> Result<Box<dyn Making>, Failure> {
    let model = before_steps(run)?;
    let (settings, shape) = (&run.settings, run.shape());
    let sides = [shape.channels, shape.side, shape.side];
    let count = settings.slices.unwrap_or(1);
    let slices = Slices::smooth(sides, count, &mut slices_of(run, 0)).or_failed()?;
    let radius = radius(RADIUS, shape);
    let region = NormBound::ball(radius).or_failed()?;
    let query = Bins::uniform(radius, settings.bins.unwrap_or(128))
        .map_err(Into::into)
        .and_then(|bins| LabelledMarginals::new(slices, region, bins, model.groups()))
        .or_failed()?;
    let measure = |run: &mut Synth, _: &mut Session| counted(&query, run);
    let (marginals, _) = session.release(run, RELEASE, &query, measure)?;
    Ok(Box::new(Learning {
        model,
        stored: Some(boxed(marginals)),
    }))
}

/// The generator before its first step, with the streams of the seed that its steps use.
pub(super) fn before_steps(run: &mut Synth) -> Result<Generator, Failure> {
    let seed = run.settings.seed;
    (run.rng, run.batches) = (stream(seed, 3), stream(seed, 2));
    let (classes, rng) = (run.input.classes.len(), &mut stream(seed, 1));
    untrained(classes, run.shape(), Some(AVERAGE), rng, &run.device)
}

/// A radius for images of 28 pixels a side, for images of `shape`: norms grow as the root of the number of values.
pub(super) fn radius(of_28: f64, shape: ImageShape) -> f64 {
    of_28 * (shape.values() as f64 / (28.0 * 28.0)).sqrt()
}

/// What slices are sampled from: those of all images, at 0, or of a step.
pub(super) fn slices_of(run: &Synth, step: u64) -> ChaCha20Rng {
    stream(run.settings.seed, SLICES + step)
}

/// The counts of all images: the sum over parts of them, so an image moves it as it moves one part.
fn counted(query: &LabelledMarginals, run: &Synth) -> Result<SensitiveVector, Failure> {
    let mut sum: Option<SensitiveVector> = None;
    for part in run.input.images.blocks(PART) {
        let classes = part.and_then(|part| part.by_class()).or_failed()?;
        let counted = query.measure(&classes).or_failed()?;
        sum = Some(match sum {
            Some(sum) => sum.plus(&counted).or_failed()?,
            None => counted,
        });
    }
    sum.ok_or_else(|| Failure::failed("no private images"))
}

/// A generator of images in training.
pub(super) struct Learning {
    pub model: Generator,
    /// What was released once; otherwise each step releases a target.
    pub stored: Option<Vec<Box<dyn FlowTarget>>>,
}

impl Learning {
    /// The gradient in the pixels of images, class after class, and the mean squared distance.
    fn gradient(
        &self,
        pixels: &[f32],
        run: &mut Synth,
        session: &mut Session,
    ) -> Result<(Vec<f32>, f64), Failure> {
        let chosen = slices_of_step(run.settings.slices.unwrap_or(1), run);
        let fresh;
        let targets = match &self.stored {
            Some(stored) => stored,
            None => {
                fresh = projections::targets(run, session)?;
                &fresh
            }
        };
        let (groups, each) = (self.model.groups(), run.each());
        let labels = (0..groups).flat_map(|group| std::iter::repeat_n(group, each));
        let rows = projections::rows(pixels, labels, run);
        let (size, width) = (run.shape().values(), projections::width(run));
        // A step of a flow moves points against the gradient, by h n / 2 of it.
        let step = step_size(width as f64);
        let (mut gradient, mut mean) = (Vec::with_capacity(pixels.len()), 0.0);
        for (rows, target) in rows.chunks_exact(rows.len() / targets.len()).zip(targets) {
            let mut particles = Particles::new(rows, width).or_failed()?;
            let squared = particles.step(target, &chosen, step, &mut run.rng);
            mean += squared.or_failed()? / targets.len() as f64;
            let scale = 2.0 / (rows.len() as f64) as f32;
            let moved = particles.rows();
            for (row, moved) in rows.chunks_exact(width).zip(moved.chunks_exact(width)) {
                let pixels = row[..size].iter().zip(moved);
                gradient.extend(pixels.map(|(x, moved)| scale * (x - moved)));
            }
        }
        Ok((gradient, mean))
    }
}

impl Making for Learning {
    fn step(&mut self, run: &mut Synth, session: &mut Session) -> Result<f64, Failure> {
        let decay = cosine(session.step, run.steps, 0.0);
        let made = self.model.make(run.each(), &mut run.rng);
        let (cotangent, distance) = self.gradient(&made.values(), run, session)?;
        let rate = run.settings.learning_rate.unwrap_or(1e-3);
        self.model.pull(made, cotangent, rate * decay);
        Ok(distance)
    }

    fn files(&self) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        generators::files(&self.model, &())
    }

    fn restore(&mut self, checkpoint: &RestoredCheckpoint, _: &Device) -> Result<(), Failure> {
        generators::restore::<IgnoredAny>(&mut self.model, checkpoint).map(drop)
    }

    /// Classes in equal parts.
    fn made(self: Box<Self>, run: &Synth) -> Result<Made, Failure> {
        let sizes = vec![1; self.model.groups()];
        let images = GeneratedImages::new(self.model, sizes, run.each()).or_failed()?;
        let generated = Generated::new(images, run);
        Ok(Made::Generated(Box::new(generated)))
    }
}
