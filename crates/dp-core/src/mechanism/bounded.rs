//! What has a sensitivity, and the draw that it is of.

use super::{ParameterGradient, Sensitivity};
use crate::DpError;
use crate::sampling::Draw;

/// A gradient together with its sensitivity and the draw whose records it is summed over.
///
/// # Formal guarantee
///
/// Whoever builds one claims that for any two neighbouring batches of the draw's sizes and the same public
/// randomness the gradients differ by at most `sensitivity` in L2 norm. The releaser trusts that claim;
/// the privacy contract tests check it for the gradients of this workspace.
///
/// Only a releaser turns one into what an optimizer takes, with noise in it:
///
/// ```compile_fail
/// # fn step(bounded: dp_core::mechanism::BoundedGradient) -> burn::optim::GradientsParams {
/// bounded.before_noise().clone().into_params_without_privacy()
/// # }
/// ```
#[derive(Debug)]
pub struct BoundedGradient {
    gradient: ParameterGradient,
    sensitivity: Sensitivity,
    draw: Draw,
}

impl BoundedGradient {
    /// Couples a gradient with the bound proved for it and with the draw that it is of.
    ///
    /// - `sizes`: how many records of each group were summed over.
    ///
    /// # Errors
    ///
    /// [`DpError::SampledSizes`] where they are not the draw's.
    pub fn new(
        gradient: ParameterGradient,
        sensitivity: Sensitivity,
        sizes: &[usize],
        draw: Draw,
    ) -> Result<Self, DpError> {
        draw.check(sizes)?;
        Ok(Self {
            gradient,
            sensitivity,
            draw,
        })
    }

    /// The bound.
    pub fn sensitivity(&self) -> Sensitivity {
        self.sensitivity
    }

    /// The scalars **before** any noise, parameter after parameter: private data, for tests and audits
    /// only. They are plain numbers, which no optimizer takes.
    pub fn before_noise(&self) -> Vec<f32> {
        self.gradient.to_host()
    }

    pub(super) fn gradient(&self) -> &ParameterGradient {
        &self.gradient
    }

    pub(super) fn draw(&self) -> &Draw {
        &self.draw
    }
}
