//! The sensitivity of a gradient or vector.

use crate::DpError;

/// An upper bound on the L2 distance between the inputs of a mechanism for two neighbouring datasets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sensitivity {
    l2_upper: f64,
}

/// Clipping is done in `f32` and can exceed its bound by a few units in the last place; every
/// sensitivity is raised by this factor to cover it.
const F32_SLACK: f64 = 1.0 + 1e-5;

impl Sensitivity {
    /// Takes a positive finite bound `l2_upper`, proved for exact arithmetic, and raises it by a factor of `1 + 1e-5`
    /// for clipping in `f32`.
    ///
    /// # Errors
    ///
    /// [`DpError::OutOfRange`] if the bound is not positive and finite.
    pub fn l2(l2_upper: f64) -> Result<Self, DpError> {
        if l2_upper.is_finite() && l2_upper > 0.0 {
            Ok(Self {
                l2_upper: l2_upper * F32_SLACK,
            })
        } else {
            Err(DpError::OutOfRange {
                name: "sensitivity",
                value: l2_upper,
                bound: "positive and finite".into(),
            })
        }
    }

    /// The bound, slack included.
    pub fn l2_upper(self) -> f64 {
        self.l2_upper
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sensitivity_makes_room_for_clipping_in_f32() {
        let sensitivity = Sensitivity::l2(3.0).unwrap();
        assert_eq!(sensitivity.l2_upper(), 3.0 * (1.0 + 1e-5));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Sensitivity::l2(bad).is_err());
        }
    }
}
