//! What has a sensitivity, and the draw that it is of.

use std::ops::RangeInclusive;

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

/// Sensitivities of gradients, which are weighed and summed in `f32`. A number below `2^-126` is rounded to `2^-149` or to
/// nothing: `2^40` entries move by `2^-106` in all, and a record's part, whose rows are of norms up to `2^64`, by `2^-86` for
/// each row that is weighed. The least sensitivity is `10^7` times that, and the largest leaves room for the sums of clipped
/// parts of `10^9` records.
const SENSITIVITIES: RangeInclusive<f64> = 1e-18..=1e28;

impl BoundedGradient {
    /// Couples a gradient with the bound proved for it and with the draw that it is of.
    ///
    /// - `sizes`: how many records of each group were summed over.
    ///
    /// # Errors
    ///
    /// [`DpError::SampledSizes`] where they are not the draw's; [`DpError::OutOfRange`] for a sensitivity below 1e-18 or above
    /// 1e28, which `f32` cannot keep to.
    pub fn new(
        gradient: ParameterGradient,
        sensitivity: Sensitivity,
        sizes: &[usize],
        draw: Draw,
    ) -> Result<Self, DpError> {
        draw.check(sizes)?;
        let upper = sensitivity.l2_upper();
        if !SENSITIVITIES.contains(&upper) {
            let (least, most) = (SENSITIVITIES.start(), SENSITIVITIES.end());
            return Err(DpError::OutOfRange {
                name: "sensitivity of a gradient",
                value: upper,
                bound: format!("from {least:e} to {most:e}: weigh losses and penalties otherwise"),
            });
        }
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
