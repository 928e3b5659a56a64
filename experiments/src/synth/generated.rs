//! Samples of a generator, in the run or from its folder at any time after it.

use burn::tensor::Device;
use lab::diagnostic::{Failure, OrFailed};
use lab::run_folder::RunFolder;
use lab::session::{floats_of_bytes, floats_to_bytes};
use private_synth::images::{GeneratedImages, ImageSampler, Merf};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use crate::export::{self, Sampler, Samples, Source};

/// The generator's weights in the run's folder.
const WEIGHTS: &str = "generator.f32";

/// A generator that has learned.
pub(super) struct Generated {
    pub(super) images: GeneratedImages,
    pub(super) labelled: bool,
    pub(super) device: Device,
}

impl Generated {
    /// Keeps what samples are made from beside [`Source`].
    pub(super) fn keep(&self, folder: &RunFolder) -> Result<(), Failure> {
        let weights = floats_to_bytes(&self.images.weights().or_failed()?);
        folder.write(WEIGHTS, &weights).map(drop)
    }

    /// What [`Generated::keep`] kept.
    pub(super) fn of(
        folder: &RunFolder,
        source: &Source,
        device: &Device,
    ) -> Result<Self, Failure> {
        let rng = &mut ChaCha20Rng::seed_from_u64(0);
        let weights = floats_of_bytes(&export::bytes(folder, WEIGHTS)?);
        let (shape, sizes) = (source.shape, source.class_sizes.clone());
        let images = Merf::of_weights(source.classes, shape, sizes, &weights, rng, device);
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
