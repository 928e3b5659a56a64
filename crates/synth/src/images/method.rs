//! The trait of methods that copy images. A method is a file with [`ImageMethod`] in it, and a line in `mod.rs`.

use burn::tensor::Device;
use data::Records;
use rand::Rng;

use super::Signal;
use crate::{Releasing, SynthError};

/// The private images of a copy, with their public sizes.
#[derive(Clone, Copy)]
pub struct PrivateImages<'a> {
    /// The images; at most `most` of each unit.
    pub images: &'a Records,
    /// The number of units, or of images if each is a unit.
    pub units: usize,
    /// The maximum number of images used per unit.
    pub most: usize,
    /// The signal that records and budget give.
    pub signal: Signal,
}

/// A method that copies images: its releases, and the sampler that it makes from them.
pub trait ImageMethod {
    /// The sampler of the copy: a function of the releases, of public data, and of public randomness.
    type Fitted: ImageSampler;

    /// Returns the names of the releases in the plan, with their shares of the budget (of `1/z^2`).
    fn releases(&self, private: &PrivateImages<'_>) -> Vec<(&'static str, f64)>;

    /// Refuses sizes that this method does not support, before any release.
    ///
    /// # Errors
    /// Returns an error that names the size and its bound.
    fn check(&self, _private: &PrivateImages<'_>) -> Result<(), SynthError> {
        Ok(())
    }

    /// Makes the releases, and all post-processing of them.
    ///
    /// # Errors
    /// Returns the errors of [`Releasing::release`], and those of `by` as a [`crate::Watch`].
    fn fit<R: Releasing>(
        &self,
        private: &PrivateImages<'_>,
        device: &Device,
        rng: &mut impl Rng,
        by: &mut R,
    ) -> Result<Self::Fitted, R::Error>;
}

/// A private copy of images, from which any number can be sampled.
pub trait ImageSampler {
    /// Samples images with their classes, `[n, c s s]` in rows, with values in `[0, 1]`: `count`, or more if each part of the
    /// copy gets one.
    ///
    /// # Errors
    /// Returns [`SynthError::Training`] for a network that does not fit its weights.
    fn sample(
        &mut self,
        count: usize,
        device: &Device,
        rng: &mut impl Rng,
    ) -> Result<(Vec<f32>, Vec<usize>), SynthError>;
}
