//! Samples of a copy from its run's folder, at any time after the run.

use burn::tensor::Device;
use lab::diagnostic::Failure;
use lab::run_folder::RunFolder;
use model::latent::{ImageShape, LatentSpace};
use rand_chacha::ChaCha20Rng;

use crate::cosines::CosineSpace;
use crate::export::{self, Source};
use crate::latents::{Latents, Remaining};
use crate::variation::Variation;

/// How samples for learning vary: those of smooth waves have halos and no fabric.
pub(super) fn variation(shape: ImageShape) -> Variation {
    match shape.channels {
        1 => Variation::suited(false, false, true),
        _ => Variation::default(),
    }
}

struct Stored {
    space: CosineSpace,
    latents: Remaining,
    device: Device,
}

impl export::Sampler for Stored {
    fn sample(&mut self, count: usize, rng: &mut ChaCha20Rng) -> Result<export::Samples, Failure> {
        let shape = self.space.shape();
        let chosen = self.latents.take(count, rng);
        let mut pixels = self.space.decode_host(&chosen.rows, &self.device);
        variation(shape).apply(&mut pixels, shape, rng);
        Ok(export::Samples {
            pixels,
            labels: chosen.labels,
        })
    }

    fn most(&self) -> Option<usize> {
        self.latents.most()
    }
}

/// The samples of the run in a folder.
pub(crate) fn sampler(
    folder: &RunFolder,
    source: &Source,
    device: &Device,
) -> Result<impl export::Sampler + 'static, Failure> {
    let latent = source.copy.as_ref().map_or(0, |copy| copy.latent);
    let space = CosineSpace::new(source.shape, latent)
        .map_err(|e| export::damaged(&folder.file("samples.json"), &e))?;
    let latents = Latents::read(folder, latent, source.labelled)?;
    Ok(Stored {
        space,
        latents: Remaining::of(latents, variation(source.shape).any()),
        device: device.clone(),
    })
}
