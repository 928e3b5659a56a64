//! The bounds on one record's part of a penalty.

use dp_core::per_sample::{JacobianClip, check_norm};

use crate::TrainingError;

/// The bounds of a penalty on activations (Rodriguez-Vitores, Lalanne and Loubes 2025, section 5.1).
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Clipping {
    /// The radius `M` of the ball that activations are projected onto before they are compared, in
    /// [`dp_core::per_sample::NORMS`]; infinite for no projection. Without one, only a distance to a public distribution by a
    /// cost that levels off has a sensitivity ([`swd::sensitivity::Norms::prior_bound`]); all others are refused.
    pub activation: f64,
    /// The bound `L` on the spectral norm of each record's Jacobian of the activations, in the same range.
    pub jacobian: f64,
    /// The method that bounds the Jacobian.
    pub mode: JacobianClip,
}

impl Clipping {
    /// Bounds activations by norm `activation` and Jacobians by spectral norm `jacobian`, by the projection that keeps most of
    /// the gradient.
    pub fn new(activation: f64, jacobian: f64) -> Self {
        Self {
            activation,
            jacobian,
            mode: JacobianClip::Spectral,
        }
    }

    /// Returns the constants of the published autoencoder: `M = 1.5`, `L = sqrt 6`.
    pub fn published(mode: JacobianClip) -> Self {
        Self {
            activation: 1.5,
            jacobian: 6.0_f64.sqrt(),
            mode,
        }
    }

    pub(crate) fn check(&self) -> Result<(), TrainingError> {
        if self.activation != f64::INFINITY {
            check_norm("the bound M of activations", self.activation)?;
        }
        Ok(check_norm("the bound L of Jacobians", self.jacobian)?)
    }
}
