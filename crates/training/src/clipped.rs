//! A gradient between its clipping and the draw that it is of.

use dp_core::mechanism::{BoundedGradient, ParameterGradient, Sensitivity};
use dp_core::sampling::Draw;

use crate::TrainingError;

/// The clipped gradient of a batch with its sensitivity. Nothing of it leaves before it is tied to the draw
/// that the batch is of: [`Clipped::of`].
#[derive(Debug)]
pub struct Clipped {
    gradient: ParameterGradient,
    sensitivity: Sensitivity,
    sizes: Vec<usize>,
}

impl Clipped {
    pub(crate) fn new(
        gradient: ParameterGradient,
        sensitivity: Sensitivity,
        sizes: impl IntoIterator<Item = usize>,
    ) -> Self {
        Self {
            gradient,
            sensitivity,
            sizes: sizes.into_iter().collect(),
        }
    }

    /// This gradient as that of `draw`.
    ///
    /// # Errors
    ///
    /// [`dp_core::DpError::SampledSizes`] where the groups of the batch are not those that were sampled.
    pub fn of(self, draw: Draw) -> Result<BoundedGradient, TrainingError> {
        let bounded = BoundedGradient::new(self.gradient, self.sensitivity, &self.sizes, draw);
        Ok(bounded?)
    }

    /// The bound.
    pub fn sensitivity(&self) -> Sensitivity {
        self.sensitivity
    }

    /// As [`BoundedGradient::before_noise`].
    pub fn before_noise(&self) -> Vec<f32> {
        self.gradient.to_host()
    }
}
