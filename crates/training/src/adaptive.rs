//! Clipping norms that follow a quantile of the norms of gradients.

use dp_core::per_sample::NORMS;

/// How far a count moves in a step's release, against the gradient: noise on the gradient is `sqrt(1 + 0.01)` times what it
/// is without a count.
pub(crate) const COUNT_MOVES: f64 = 0.1;

/// Norms that one is kept between, so that bounds stay finite.
const KEPT: [f64; 2] = [*NORMS.start(), 1e9];

/// See [`crate::Loss::adaptive_clipping`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Adaptive {
    pub(crate) quantile: f64,
    pub(crate) rate: f64,
}

impl Adaptive {
    /// The norm after `norm`, where this share of the records was found to be within it, noise included.
    pub(crate) fn after(self, norm: f64, share: f64) -> f64 {
        let beyond = share.clamp(0.0, 1.0) - self.quantile;
        (norm * (-self.rate * beyond).exp()).clamp(KEPT[0], KEPT[1])
    }
}

/// What a record of this clipping weight adds to a count: 1/2 within the norm, -1/2 beyond it, nothing where it counts for
/// nothing.
pub(crate) fn counted(weight: f64) -> f64 {
    match weight {
        1.0 => 0.5,
        weight if weight > 0.0 => -0.5,
        _ => 0.0,
    }
}
