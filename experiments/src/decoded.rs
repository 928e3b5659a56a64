//! Samples that are latents of a run's folder, decoded, at any time after the run.

use burn::tensor::Device;
use lab::prelude::*;
use model::latent::{ImageShape, LatentSpace};
use private_synth::images::{Space, SpaceForm};
use rand_chacha::ChaCha20Rng;

use crate::export::{self, Source};
use crate::latents::{Latents, Remaining};
use crate::variation::Variation;

/// The weights of the latent space, whose decoder makes images of latents; none of cosines.
const SPACE: &str = "autoencoder.f32";

/// Keeps what samples are made from.
pub(crate) fn keep(latents: &Latents, space: &Space, folder: &RunFolder) -> Result<(), Failure> {
    latents.keep(folder)?;
    folder
        .write(SPACE, &floats_to_bytes(&space.weights()))
        .map(drop)
}

/// Latents, each once; again and again where samples vary.
pub(crate) struct Decoded {
    space: Space,
    latents: Remaining,
    shape: ImageShape,
    variation: Variation,
    device: Device,
}

impl Decoded {
    /// What [`keep`] kept.
    pub(crate) fn of(
        folder: &RunFolder,
        source: &Source,
        form: SpaceForm,
        variation: Variation,
        device: &Device,
    ) -> Result<Self, Failure> {
        let weights = floats_of_bytes(&export::bytes(folder, SPACE)?);
        let space = form.of_weights(&weights, device);
        let latents = Latents::read(folder, form.latent, source.labelled)?;
        Ok(Self {
            space: space.map_err(|e| export::damaged(&folder.file(SPACE), &e))?,
            latents: Remaining::of(latents, variation.any()),
            shape: source.shape,
            variation,
            device: device.clone(),
        })
    }
}

impl export::Sampler for Decoded {
    fn sample(&mut self, count: usize, rng: &mut ChaCha20Rng) -> Result<export::Samples, Failure> {
        let chosen = self.latents.take(count, rng);
        let mut pixels = self.space.decode_in(&chosen.rows, self.shape, &self.device);
        self.variation.apply(&mut pixels, self.shape, rng);
        Ok(export::Samples {
            pixels,
            labels: chosen.labels,
        })
    }

    fn most(&self) -> Option<usize> {
        self.latents.most()
    }
}
