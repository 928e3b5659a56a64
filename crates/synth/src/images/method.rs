//! What a method of copying images is: a file with [`ImageMethod`] in it, and a line in `mod.rs`.

use burn::tensor::Device;
use data::Records;
use rand::Rng;

use super::Signal;
use crate::{Releasing, SynthError};

/// The private images of a copy, and what is public of them.
#[derive(Clone, Copy)]
pub struct PrivateImages<'a> {
    /// The images; of each unit no more than `most`.
    pub images: &'a Records,
    /// How many neighbours there are: units, or images.
    pub units: usize,
    /// Maximum number of images used per unit.
    pub most: usize,
    /// What records and budget bear.
    pub signal: Signal,
}

/// How images are copied: what is released of them, and what follows from that.
pub trait ImageMethod {
    /// What samples are made from: a function of what was released, of public things, and of public randomness.
    type Fitted: ImageSampler;

    /// The releases by their names in the plan, with their shares of the budget (of `1/z^2`).
    fn releases(&self, private: &PrivateImages<'_>) -> Vec<(&'static str, f64)>;

    /// Refuses sizes that this method cannot have, before anything is released.
    ///
    /// # Errors
    /// What names the size and its bound.
    fn check(&self, _private: &PrivateImages<'_>) -> Result<(), SynthError> {
        Ok(())
    }

    /// Makes the releases, and all that follows from them.
    ///
    /// # Errors
    /// As [`Releasing::release`]; what `by` gives as a [`crate::Watch`].
    fn fit<R: Releasing>(
        &self,
        private: &PrivateImages<'_>,
        device: &Device,
        rng: &mut impl Rng,
        by: &mut R,
    ) -> Result<Self::Fitted, R::Error>;
}

/// A private copy of images, of which any number may be sampled.
pub trait ImageSampler {
    /// Images with their classes, `[n, c s s]` in rows, values in `[0, 1]`: `count`, or more if each part of the copy has one.
    ///
    /// # Errors
    /// [`SynthError::Training`] for a network that does not fit its weights.
    fn sample(
        &mut self,
        count: usize,
        device: &Device,
        rng: &mut impl Rng,
    ) -> Result<(Vec<f32>, Vec<usize>), SynthError>;
}
