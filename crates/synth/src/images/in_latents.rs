//! A mixture of Gaussians for each class in a public latent space: images are encoded, the moments of each class are released,
//! then those of the cells of each class, and samples of these Gaussians are decoded.

use burn::tensor::Device;
use model::latent::{ImageShape, LatentSpace};
use rand::Rng;

use super::{Encoded, ImageMethod, ImageSampler, Mixed, Mixing, PrivateImages, Signal};
use crate::{Releasing, SynthError};

/// The maximum number of cells of a class of grey images. On CIFAR-10, more than one gained nothing at epsilon 1 and 10.
const MOST_CELLS: usize = 32;

/// The method of a mixture in a latent space.
#[derive(Clone, Copy)]
pub struct Mixture<'a> {
    space: &'a dyn LatentSpace,
    cells: Option<usize>,
}

impl<'a> Mixture<'a> {
    /// Creates the method in this space, with as many cells as images and budget support.
    pub fn new(space: &'a dyn LatentSpace) -> Self {
        Self { space, cells: None }
    }

    /// Sets the number of cells of each class; each has its own moments.
    #[must_use]
    pub fn cells(self, cells: usize) -> Self {
        let cells = Some(cells);
        Self { cells, ..self }
    }

    /// Returns the default number of cells of each class, for images with this number of channels: 1 for colour.
    pub fn default_cells(signal: Signal, channels: usize) -> usize {
        signal.cells(if channels == 1 { MOST_CELLS } else { 1 })
    }

    fn mixing(&self, private: &PrivateImages<'_>) -> Mixing {
        let [channels, ..] = private.images.shape();
        let by_default = Self::default_cells(private.signal, channels);
        let cells = self.cells.unwrap_or(by_default);
        // Frequencies of colour images are alike in all classes, and nearly uncorrelated.
        Mixing::new(private.images.classes(), self.space.latent(), cells)
            .of_units(private.most)
            .pooled(channels > 1)
    }
}

impl<'a> ImageMethod for Mixture<'a> {
    type Fitted = MixedImages<'a>;

    fn releases(&self, private: &PrivateImages<'_>) -> Vec<(&'static str, f64)> {
        self.mixing(private).releases()
    }

    fn check(&self, private: &PrivateImages<'_>) -> Result<(), SynthError> {
        self.mixing(private).check()
    }

    fn fit<R: Releasing>(
        &self,
        private: &PrivateImages<'_>,
        device: &Device,
        rng: &mut impl Rng,
        by: &mut R,
    ) -> Result<MixedImages<'a>, R::Error> {
        // If images are in memory, their latents stay in memory too.
        let whole = private.images.in_memory();
        let latents = Encoded::of(private.images, self.space, device, whole, by)?;
        let latents = self.mixing(private).release(&latents, rng, by)?;
        let (space, [channels, side, _]) = (self.space, private.images.shape());
        Ok(MixedImages {
            latents,
            space,
            shape: ImageShape { channels, side },
        })
    }
}

/// A released mixture, and the space that decodes its samples.
#[derive(Clone)]
pub struct MixedImages<'a> {
    /// The mixture.
    pub latents: Mixed,
    space: &'a dyn LatentSpace,
    shape: ImageShape,
}

impl ImageSampler for MixedImages<'_> {
    fn sample(
        &mut self,
        count: usize,
        device: &Device,
        rng: &mut impl Rng,
    ) -> Result<(Vec<f32>, Vec<usize>), SynthError> {
        let (rows, classes) = self.latents.sample(count, rng);
        Ok((self.space.decode_in(&rows, self.shape, device), classes))
    }
}
