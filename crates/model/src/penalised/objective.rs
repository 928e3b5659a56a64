//! The objective's constants and the sensitivity that they give.

use dp_core::mechanism::Sensitivity;
use dp_core::per_sample::JacobianClip;

use crate::ModelError;

/// The clipping bounds of a private step (paper 004, section 6.2).
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Clipping {
    /// `M`: activations are projected onto the ball of this radius before they are transported.
    pub activation: f64,
    /// `L`: the spectral norm of each record's encoder Jacobian.
    pub jacobian: f64,
    /// `C`: the norm of each record's gradient of the loss.
    pub loss: f64,
    /// How the Jacobian is bounded.
    pub mode: JacobianClip,
}

impl Clipping {
    /// The constants of the paper's autoencoder: `M = 1.5`, `L = sqrt 6`, `C = 1`.
    pub fn paper(mode: JacobianClip) -> Self {
        Self {
            activation: 1.5,
            jacobian: 6.0_f64.sqrt(),
            loss: 1.0,
            mode,
        }
    }
}

/// `L_alpha` and, where it is trained privately, the clipping.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Objective {
    alpha: f64,
    clipping: Clipping,
}

impl Objective {
    /// An objective of weight `alpha` in `[0, 1]` on the transport term.
    ///
    /// # Errors
    ///
    /// [`ModelError::OutOfRange`] names the constant that is refused.
    pub fn new(alpha: f64, clipping: Clipping) -> Result<Self, ModelError> {
        if !(0.0..=1.0).contains(&alpha) {
            return Err(ModelError::OutOfRange {
                name: "alpha",
                value: alpha,
                bound: "between 0 and 1".into(),
            });
        }
        for (name, value) in [
            ("activation bound M", clipping.activation),
            ("Jacobian bound L", clipping.jacobian),
            ("loss bound C", clipping.loss),
        ] {
            if !(value.is_finite() && value > 0.0) {
                return Err(ModelError::OutOfRange {
                    name,
                    value,
                    bound: "positive and finite".into(),
                });
            }
        }
        Ok(Self { alpha, clipping })
    }

    /// The weight of the transport term.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The clipping bounds.
    pub fn clipping(&self) -> &Clipping {
        &self.clipping
    }

    /// The L2 sensitivity of one step's gradient under replacement of one record:
    /// `(1 - alpha) 2C/n + alpha Delta_T`.
    ///
    /// - `records`: `n`, public; `transport_upper`: `Delta_T`, a bound for the transport term alone, with
    ///   activations of norm at most `M` and Jacobians of spectral norm at most `L`.
    ///
    /// # Errors
    ///
    /// Passes on what [`Sensitivity::l2`] refuses.
    pub fn sensitivity(
        &self,
        records: usize,
        transport_upper: f64,
    ) -> Result<Sensitivity, ModelError> {
        let loss = 2.0 * self.clipping.loss / records as f64;
        Ok(Sensitivity::l2(
            (1.0 - self.alpha) * loss + self.alpha * transport_upper,
        )?)
    }
}
