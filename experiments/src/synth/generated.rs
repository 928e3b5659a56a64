//! Samples of a generator, in the run or from its folder at any time after it.

use burn::tensor::Device;
use lab::prelude::*;
use model::latent::ImageShape;
use private_synth::images::{
    Architecture, Code, GeneratedImages, Generator, ImageSampler, Merf, Size,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::run::Synth;
use crate::export::{self, Sampler, Samples, Source};
use crate::generators;

/// The generator's weights in the run's folder.
const WEIGHTS: &str = "weights.f32";

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
    let code = Code::Gaussian(Merf::CODE);
    let size = Size { code, classes };
    let model = Generator::new(Architecture::Upsampled(shape), size, average, rng, device);
    model.map_err(generators::refused)
}

/// Images of each of some groups, of `points` in all.
pub(super) fn each(points: usize, groups: usize) -> usize {
    (points / groups).max(2)
}

/// A generator that has learned.
pub(super) struct Generated {
    pub(super) images: GeneratedImages,
    labelled: bool,
    device: Device,
}

impl Generated {
    pub(super) fn new(images: GeneratedImages, run: &Synth) -> Self {
        Self {
            images,
            labelled: !run.input.classes.is_empty(),
            device: run.device.clone(),
        }
    }

    /// Keeps what samples are made from beside [`Source`].
    pub(super) fn keep(&self, folder: &RunFolder) -> Result<(), Failure> {
        let weights = floats_to_bytes(&self.images.weights().or_failed()?);
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
        let each = each(points, model.groups());
        let images = model
            .set_weights(&weights)
            .and_then(|()| GeneratedImages::new(model, source.class_sizes.clone(), each));
        Ok(Self {
            images: images.map_err(|e| export::damaged(&folder.file(WEIGHTS), &e))?,
            labelled: source.labelled,
            device: device.clone(),
        })
    }
}

impl Sampler for Generated {
    fn sample(&mut self, count: usize, rng: &mut ChaCha20Rng) -> Result<Samples, Failure> {
        let (pixels, labels) = self.images.sample(count, &self.device, rng).or_failed()?;
        let labels = self.labelled.then_some(labels);
        Ok(Samples { pixels, labels })
    }
}
