//! Convex costs of moving a point, whose mean is the distance between two samples on a line.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use crate::SwdError;

/// A convex, even cost `h(x)` of moving a point by `x`.
///
/// `C(u, v)`, the least mean of `h` over all ways to match two samples on a line, matches them in order:
/// `(1/n) sum_r h(u_(r) - v_(r))`. The sensitivity of its gradient falls as `1/n` (as `n^(1-p)` for powers below 2)
/// ([`crate::sensitivity::Norms::line_bound`]). The Wasserstein distance `W_1` itself, `h = |x|`, has no such bound.
///
/// | cost | `h(x)` | `h'(x)` | differs from `abs(x)` by at most |
/// |---|---|---|---|
/// | `Square` | `x^2` | `2x` | |
/// | `Power(p)`, `1 < p <= 16` | `abs(x)^p` | `p abs(x)^(p-1) sign(x)` | |
/// | `Huber(t)` | `x^2/2t` up to `t`, then `abs(x) - t/2` | `x/t` within `[-1, 1]` | `t/2` |
///
/// The width `t` is in the units of the points. Of all costs with `h'' <= 1/t` none is nearer to `abs(x)` than
/// Huber's, up to a constant.
///
/// ```
/// use swd::Cost;
///
/// let cost = Cost::Huber(0.5);
/// assert_eq!([cost.value(0.25), cost.value(-2.0)], [0.0625, 1.75]);
/// assert_eq!([cost.slope(0.25), cost.slope(-2.0)], [0.5, -1.0]);
/// assert!(Cost::Power(1.0).check().is_err());
/// # Ok::<(), swd::SwdError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Cost {
    /// The square: the squared Wasserstein distance `W_2^2`.
    #[default]
    Square,
    /// A power: `W_p^p`.
    Power(f64),
    /// A square up to the given distance, and linear beyond it.
    Huber(f64),
}

impl Cost {
    /// Refuses a power or a width for which no bound is known.
    ///
    /// # Errors
    /// [`SwdError::Cost`] for a power outside of `(1, 16]`, and for a width that is not positive and finite.
    pub fn check(self) -> Result<Self, SwdError> {
        let (what, value, bound, holds) = match self {
            Self::Square => return Ok(self),
            Self::Power(p) => ("power", p, "above 1 and at most 16", p > 1.0 && p <= 16.0),
            Self::Huber(t) => {
                let holds = t > 0.0 && t.is_finite();
                ("width", t, "positive and finite", holds)
            }
        };
        match holds {
            true => Ok(self),
            false => Err(SwdError::Cost { what, value, bound }),
        }
    }

    /// Returns `h(x)`, the cost of moving a point by `x`.
    pub fn value(self, x: f64) -> f64 {
        let size = x.abs();
        match self {
            Self::Square => x * x,
            Self::Power(p) => size.powf(p),
            Self::Huber(t) if size <= t => x * x / (2.0 * t),
            Self::Huber(t) => size - t / 2.0,
        }
    }

    /// Returns the derivative `h'(x)`.
    pub fn slope(self, x: f64) -> f64 {
        match self {
            Self::Square => 2.0 * x,
            Self::Power(p) => (p * x.abs().powf(p - 1.0)).copysign(x),
            Self::Huber(t) => (x / t).clamp(-1.0, 1.0),
        }
    }

    /// Returns the largest `h''` on `[-reach, reach]`, which is infinite for a power below 2.
    pub(crate) fn curvature_upper(self, reach: f64) -> f64 {
        match self {
            Self::Square => 2.0,
            Self::Power(p) if p < 2.0 => f64::INFINITY,
            Self::Power(p) => p * (p - 1.0) * reach.powf(p - 2.0),
            Self::Huber(t) => 1.0 / t,
        }
    }

    /// Whether `h'` is at most 1 in size, however far a point is moved.
    pub(crate) fn levels_off(self) -> bool {
        matches!(self, Self::Huber(_))
    }

    /// Whether `h'` is convex above 0.
    pub(crate) fn rises(self) -> bool {
        match self {
            Self::Square => true,
            Self::Power(p) => p >= 2.0,
            _ => false,
        }
    }

    /// Returns the largest `h'(x) - s x` for `x` in `[0, most]` and `s >= 0`, for a cost whose `h'` is concave above 0.
    pub(crate) fn conjugate(self, s: f64, most: f64) -> f64 {
        // The place at which h''(x) = s.
        let x = match self {
            Self::Square => 0.0,
            Self::Power(p) => (s / (p * (p - 1.0))).powf(1.0 / (p - 2.0)),
            Self::Huber(t) => f64::from(u8::from(s * t < 1.0)) * t,
        };
        // At s = 0 this place is infinite, or not a number.
        let x = if x < most { x } else { most };
        (self.slope(x) - s * x).max(0.0)
    }
}

/// The names of the costs in text: `square`, `huber:0.3`.
const NAMES: [&str; 3] = ["square", "power", "huber"];

impl Display for Cost {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let (name, value) = match self {
            Self::Square => return formatter.write_str(NAMES[0]),
            Self::Power(p) => (NAMES[1], p),
            Self::Huber(t) => (NAMES[2], t),
        };
        write!(formatter, "{name}:{value}")
    }
}

impl FromStr for Cost {
    type Err = SwdError;

    /// Parses a cost as it is displayed: `square`, `power:P` or `huber:T`.
    fn from_str(text: &str) -> Result<Self, SwdError> {
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.parse();
        let cost = match (NAMES.iter().position(|known| *known == name), value) {
            (Some(0), _) if name == text => Some(Self::Square),
            (Some(1), Ok(p)) => Some(Self::Power(p)),
            (Some(2), Ok(t)) => Some(Self::Huber(t)),
            _ => None,
        };
        let unknown = || SwdError::UnknownCost { found: text.into() };
        cost.ok_or_else(unknown)?.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn costs() -> impl Strategy<Value = Cost> {
        prop_oneof![
            Just(Cost::Square),
            (1.05_f64..6.0).prop_map(Cost::Power),
            (0.05_f64..3.0).prop_map(Cost::Huber),
        ]
    }

    proptest! {
        /// The slope is the derivative, odd and rising; the curvature is bounded as stated.
        #[test]
        fn slopes_are_derivatives(cost in costs(), x in -4.0_f64..4.0) {
            let h = 1e-4;
            let difference = (cost.value(x + h) - cost.value(x - h)) / (2.0 * h);
            let bend = cost.curvature_upper(4.1).min(1e3);
            prop_assert!((difference - cost.slope(x)).abs() < bend * h + 1e-6);
            prop_assert_eq!(cost.slope(-x), -cost.slope(x));
            let rise = cost.slope(x + h) - cost.slope(x);
            prop_assert!(rise >= 0.0 && rise <= cost.curvature_upper(4.1) * h * (1.0 + 1e-6) + 1e-12);
            prop_assert!(cost.value(x) >= 0.0 && cost.value(0.0) == 0.0);
            prop_assert!(!cost.levels_off() || cost.slope(f64::NEG_INFINITY) == -1.0);
        }

        /// The conjugate is the largest value of a scan, and is attained.
        #[test]
        fn the_conjugate_is_the_largest(cost in costs(), s in 0.0_f64..4.0, most in 0.01_f64..5.0) {
            prop_assume!(!cost.rises());
            let scan = (0..=4000).map(|step| {
                let x = most * f64::from(step) / 4000.0;
                cost.slope(x) - s * x
            });
            let largest = scan.fold(0.0, f64::max);
            let found = cost.conjugate(s, most);
            prop_assert!(found >= largest - 1e-12 && found <= largest * 1.01 + 1e-3, "{} {}", found, largest);
        }
    }

    #[test]
    fn what_no_bound_is_known_of_is_refused() {
        for cost in [Cost::Power(1.0), Cost::Power(f64::NAN), Cost::Power(17.0)] {
            let said = cost.check().unwrap_err().to_string();
            assert!(said.contains("above 1 and at most 16"), "{said}");
        }
        for width in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            assert!(Cost::Huber(width).check().is_err());
        }
        for text in ["square", "power:2.5", "huber:0.3"] {
            assert_eq!(text.parse::<Cost>().unwrap().to_string(), text);
        }
        for text in ["", "square:1", "huber", "huber:x", "huber:-1", "w1:2"] {
            assert!(text.parse::<Cost>().is_err(), "{text}");
        }
    }
}
