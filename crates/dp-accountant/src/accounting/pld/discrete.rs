//! Privacy losses that are point masses.

/// A point mass of the loss under `P`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Atom {
    pub loss: f64,
    pub mass: f64,
}

/// Point masses alone.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Discrete {
    pub atoms: Vec<Atom>,
    /// Mass at infinite loss, all errors among it.
    pub infinite: f64,
}

/// The share of a mass at `loss` that goes to the upper end of its cell of `width` lattice points from `index` on, so that its
/// mass under both distributions is kept.
pub(super) fn up_share(loss: f64, index: i64, width: i64, h: f64) -> f64 {
    let above = (loss - index as f64 * h).clamp(0.0, width as f64 * h);
    (-above).exp_m1() / (-(width as f64) * h).exp_m1()
}
