//! Clipping norms that follow a quantile of the norms of gradients.

use dp_core::per_sample::NORMS;

/// The sensitivity of a count in a step's release, relative to the gradient's: it raises the noise on the gradient by a factor of
/// `sqrt(1 + 0.01)`.
pub(crate) const COUNT_MOVES: f64 = 0.1;

/// The range of adaptive norms, which keeps the bounds finite.
const KEPT: [f64; 2] = [*NORMS.start(), 1e9];

/// See [`crate::Loss::adaptive_clipping`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Adaptive {
    pub(crate) quantile: f64,
    pub(crate) rate: f64,
}

impl Adaptive {
    /// The norm that follows `norm` if a noisy count finds this share of the records within it.
    pub(crate) fn after(self, norm: f64, share: f64) -> f64 {
        let beyond = share.clamp(0.0, 1.0) - self.quantile;
        (norm * (-self.rate * beyond).exp()).clamp(KEPT[0], KEPT[1])
    }
}

/// The amount that a record of this clipping weight adds to a count: 1/2 within the norm, -1/2 beyond it, and 0 for a record of
/// weight 0.
pub(crate) fn counted(weight: f64) -> f64 {
    match weight {
        1.0 => 0.5,
        weight if weight > 0.0 => -0.5,
        _ => 0.0,
    }
}
