//! A gradient with its sensitivity and its draw.

use std::ops::RangeInclusive;

use super::{ParameterGradient, Sensitivity};
use crate::DpError;
use crate::sampling::Draw;

/// A gradient together with its sensitivity and the draw whose records it sums over.
///
/// # Formal guarantee
///
/// Whoever builds one claims that for any two neighbouring batches of the draw's sizes and the same public
/// randomness the gradients differ by at most `sensitivity` in L2 norm. The releaser trusts that claim;
/// the privacy contract tests check it for the gradients of this workspace.
///
/// An optimizer takes such a gradient only after a releaser added noise to it:
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

/// The range of sensitivities of gradients, which are weighted and summed in `f32`. A number below `2^-126` is
/// rounded to `2^-149` or to 0: `2^40` entries move by `2^-106` in all, and a record's part, whose rows have norms up
/// to `2^64`, by `2^-86` for each weighted row. The least sensitivity is `10^7` times that. The largest leaves room
/// for the sums of clipped parts of `10^9` records.
const SENSITIVITIES: RangeInclusive<f64> = 1e-18..=1e28;

impl BoundedGradient {
    /// Couples a gradient with the bound proved for it and with its draw.
    ///
    /// - `sizes`: the number of records of each stratum in the sum.
    ///
    /// # Errors
    ///
    /// [`DpError::SampledSizes`] if the sizes are not the draw's; [`DpError::OutOfRange`] if the sensitivity is below
    /// 1e-18 or above 1e28, where `f32` cannot keep the bound.
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

    /// The upper bound on the sensitivity of the gradient.
    pub fn sensitivity(&self) -> Sensitivity {
        self.sensitivity
    }

    /// Returns the scalars **before** any noise, parameter after parameter: private data, for tests and audits only.
    /// No optimizer takes these plain numbers.
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
