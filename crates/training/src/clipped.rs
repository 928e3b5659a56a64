//! A clipped gradient that is not yet tied to its draw.

use dp_core::mechanism::{BoundedGradient, ParameterGradient, Sensitivity};
use dp_core::sampling::Draw;

use crate::TrainingError;

/// The clipped gradient of a batch with its sensitivity. A training ties it to the draw of the batch before it
/// releases it.
pub struct Clipped {
    gradient: ParameterGradient,
    sensitivity: Sensitivity,
    sizes: Vec<usize>,
    count_scale: f64,
}

impl std::fmt::Debug for Clipped {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Clipped");
        shown.field("sensitivity", &self.sensitivity);
        shown.finish_non_exhaustive()
    }
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
            count_scale: 0.0,
        }
    }

    /// Appends counts to the gradient, each multiplied by `scale`.
    pub(crate) fn with_counts(mut self, scale: f64, counts: impl Iterator<Item = f64>) -> Self {
        let counts: Vec<f32> = counts.map(|count| (scale * count) as f32).collect();
        self.gradient = self.gradient.with(&counts);
        self.count_scale = scale;
        self
    }

    /// The factor of the counts, or `None` without counts.
    pub(crate) fn count_scale(&self) -> Option<f64> {
        (self.count_scale > 0.0).then_some(self.count_scale)
    }

    /// Ties this gradient to `draw`, the draw of its batch.
    ///
    /// # Errors
    ///
    /// [`dp_core::DpError::SampledSizes`] if the batch has other strata than the draw.
    pub(crate) fn tied_to(self, draw: Draw) -> Result<BoundedGradient, TrainingError> {
        let bounded = BoundedGradient::new(self.gradient, self.sensitivity, &self.sizes, draw);
        Ok(bounded?)
    }

    /// Returns the sensitivity.
    pub fn sensitivity(&self) -> Sensitivity {
        self.sensitivity
    }

    /// Returns the values without noise, which are **not private**: see [`BoundedGradient::before_noise`].
    pub fn before_noise(&self) -> Vec<f32> {
        self.gradient.to_host()
    }
}
