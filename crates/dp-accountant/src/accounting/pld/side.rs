//! Which side of the truth a bound is on.

/// The side of the truth that a composition is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Delta is never below the truth.
    Upper,
    /// Delta is never above the truth.
    Lower,
}

impl Side {
    /// The better of two bounds on this side.
    pub(crate) fn tighter(self, best: Option<f64>, value: f64) -> f64 {
        match (self, best) {
            (_, None) => value,
            (Self::Upper, Some(best)) => best.min(value),
            (Self::Lower, Some(best)) => best.max(value),
        }
    }
}
