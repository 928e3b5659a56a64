//! How one record's part of a penalty is bounded.

use dp_core::per_sample::{JacobianClip, check_norm};

use crate::TrainingError;

/// The bounds of a penalty on activations (Rodriguez-Vitores, Lalanne and Loubes 2025, section 5.1).
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Clipping {
    /// `M`, one of [`dp_core::per_sample::NORMS`]: activations are projected onto the ball of this radius before they are transported. Infinite for none, which has a
    /// sensitivity towards a public distribution by a cost that levels off ([`swd::sensitivity::Norms::prior_bound`]), and is
    /// refused elsewhere.
    pub activation: f64,
    /// `L`, one of them too: the spectral norm of each record's Jacobian of the activations.
    pub jacobian: f64,
    /// How the Jacobian is bounded.
    pub mode: JacobianClip,
}

impl Clipping {
    /// Activations of norm at most `activation`, Jacobians of spectral norm at most `jacobian`, by the
    /// projection that keeps most of the gradient.
    pub fn new(activation: f64, jacobian: f64) -> Self {
        Self {
            activation,
            jacobian,
            mode: JacobianClip::Spectral,
        }
    }

    /// The constants of the published autoencoder: `M = 1.5`, `L = sqrt 6`.
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
