//! The objective's constants and the sensitivity that they give.

use dp_core::mechanism::Sensitivity;
use dp_core::per_sample::JacobianClip;

use super::Matching;
use crate::ModelError;

/// The clipping bounds of a private step (paper 004, section 6.2).
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Clipping {
    /// `M`: activations are projected onto the ball of this radius before they are transported.
    pub activation: f64,
    /// `L`: the spectral norm of each record's encoder Jacobian.
    pub jacobian: f64,
    /// `C`: the norm of each record's reconstruction gradient.
    pub reconstruction: f64,
    /// How the Jacobian is bounded.
    pub mode: JacobianClip,
}

impl Clipping {
    /// The paper's constants: `M = 1.5`, `L = sqrt 6`, `C = 1`.
    pub fn paper(mode: JacobianClip) -> Self {
        Self {
            activation: 1.5,
            jacobian: 6.0_f64.sqrt(),
            reconstruction: 1.0,
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
            ("clip-activation (M)", clipping.activation),
            ("clip-jacobian (L)", clipping.jacobian),
            ("clip-reconstruction (C)", clipping.reconstruction),
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

    /// The L2 sensitivity of one step's gradient under replacement of one record of a group:
    /// `(1 - alpha) 2C/n + alpha max_c (n_c / n) Delta_SW(n_c)` over the groups of the batch.
    ///
    /// # Errors
    ///
    /// Passes on what [`Sensitivity::l2`] refuses.
    pub fn sensitivity(&self, matching: &Matching) -> Result<Sensitivity, ModelError> {
        let n = matching.records() as f64;
        let transport = matching.weighted_sensitivity(&self.clipping)?;
        let reconstruction = 2.0 * self.clipping.reconstruction / n;
        Ok(Sensitivity::l2(
            (1.0 - self.alpha) * reconstruction + self.alpha * transport,
        )?)
    }

    /// The paper's bound for the same step, `(1 - alpha) 2C/n + alpha 12 M L/n` (section 6.2).
    pub fn paper_sensitivity(&self, records: usize) -> f64 {
        let n = records as f64;
        let Clipping {
            activation,
            jacobian,
            reconstruction,
            ..
        } = self.clipping;
        (1.0 - self.alpha) * 2.0 * reconstruction / n
            + self.alpha * 12.0 * activation * jacobian / n
    }
}
