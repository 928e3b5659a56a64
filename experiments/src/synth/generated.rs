//! Samples of a generator, in the run or from its folder at any time after it.

use burn::tensor::Device;
use lab::diagnostic::{Failure, OrFailed};
use lab::run_folder::RunFolder;
use lab::session::{floats_of_bytes, floats_to_bytes};
use model::latent::ImageShape;
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::run::Synth;
use crate::export::{self, Sampler, Samples, Source};
use crate::generators::{Architecture, Code, Generator, Size};

/// The generator's weights in the run's folder.
const WEIGHTS: &str = "weights.f32";
/// Of the generator's code.
pub(super) const CODE: usize = 10;

/// The generator before its first step.
///
/// - `average`: the decay of an average of its weights, by which it then generates.
pub(super) fn untrained(
    classes: usize,
    shape: ImageShape,
    average: Option<f64>,
    rng: &mut impl Rng,
    device: &Device,
) -> Result<Generator, Failure> {
    let code = Code::Gaussian(CODE);
    let size = Size { code, classes };
    Generator::new(Architecture::Upsampled(shape), size, average, rng, device)
}

/// Images of each of some groups, of `points` in all.
pub(super) fn each(points: usize, groups: usize) -> usize {
    (points / groups).max(2)
}

/// A generator that has learned, and how many samples each class has beside the others.
pub(super) struct Generated {
    model: Generator,
    /// Numbers of private images by what was released.
    pub(super) sizes: Vec<usize>,
    labelled: bool,
    shape: ImageShape,
    /// Images of each class in a batch, as at a step: the generator normalises by all of one.
    each: usize,
    /// What was generated of each class and not yet given.
    left: Vec<Vec<f32>>,
}

impl Generated {
    pub(super) fn new(model: Generator, sizes: Vec<usize>, run: &Synth) -> Self {
        Self {
            left: vec![Vec::new(); sizes.len()],
            model,
            sizes,
            labelled: !run.input.classes.is_empty(),
            shape: run.shape(),
            each: run.each(),
        }
    }

    /// Keeps what samples are made from beside [`Source`].
    pub(super) fn keep(&self, folder: &RunFolder) -> Result<(), Failure> {
        let weights = floats_to_bytes(&self.model.weights()?);
        folder.write(WEIGHTS, &weights).map(drop)
    }

    /// What [`Generated::keep`] kept.
    pub(super) fn of(
        folder: &RunFolder,
        source: &Source,
        points: usize,
        device: &Device,
    ) -> Result<Self, Failure> {
        let rng = &mut ChaCha20Rng::seed_from_u64(0);
        let mut model = untrained(source.classes, source.shape, None, rng, device)?;
        let weights = floats_of_bytes(&export::bytes(folder, WEIGHTS)?);
        let damaged = |e: &dyn std::fmt::Display| export::damaged(&folder.file(WEIGHTS), e);
        model.set_weights(&weights).map_err(|e| damaged(&e))?;
        let sizes = source.class_sizes.clone();
        if sizes.len() != model.groups() {
            return Err(damaged(&"it is of other classes than samples.json has"));
        }
        Ok(Self {
            left: vec![Vec::new(); sizes.len()],
            each: each(points, sizes.len()),
            model,
            sizes,
            labelled: source.labelled,
            shape: source.shape,
        })
    }

    /// Images of each class more, in a batch as the training had them.
    fn more(&mut self, rng: &mut ChaCha20Rng) -> Result<(), Failure> {
        let (size, each) = (self.shape.values(), self.each);
        let (pixels, _) = self.model.sample(1, each, rng)?;
        for (left, made) in self.left.iter_mut().zip(pixels.chunks_exact(each * size)) {
            // A rare class keeps no more than it may soon need.
            if left.len() < made.len() {
                left.extend_from_slice(made);
            }
        }
        Ok(())
    }
}

impl Sampler for Generated {
    fn sample(&mut self, count: usize, rng: &mut ChaCha20Rng) -> Result<Samples, Failure> {
        let size = self.shape.values();
        // Where noise left no class with an image, all are alike.
        let labels = WeightedIndex::new(&self.sizes)
            .or_else(|_| WeightedIndex::new(vec![1; self.sizes.len()]))
            .or_failed()?;
        let labels: Vec<usize> = (0..count).map(|_| labels.sample(rng)).collect();
        let mut pixels = Vec::with_capacity(count * size);
        for &label in &labels {
            if self.left[label].is_empty() {
                self.more(rng)?;
            }
            let left = &mut self.left[label];
            pixels.extend(left.drain(left.len() - size..));
        }
        let labels = self.labelled.then_some(labels);
        Ok(Samples { pixels, labels })
    }
}
