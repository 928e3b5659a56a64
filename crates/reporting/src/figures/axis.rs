//! A linear or logarithmic axis, with round numbers at its ticks.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// What an axis says and how it is scaled.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scale {
    /// The quantity, with its unit.
    pub label: String,
    /// Equal ratios are equally far apart; values that are not positive are then left out.
    pub logarithmic: bool,
}

impl Scale {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            logarithmic: false,
        }
    }

    /// A logarithmic axis.
    pub fn logarithmic(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            logarithmic: true,
        }
    }

    /// Whether the axis has a place for `value`.
    pub(super) fn shows(&self, value: f64) -> bool {
        value.is_finite() && (!self.logarithmic || value > 0.0)
    }
}

/// An interval of values on the side of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Axis {
    /// The axis that holds all `values` which `scale` shows, with a little room; `None` where there
    /// is none.
    pub(super) fn around(scale: &Scale, values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.into_iter().filter(|&v| scale.shows(v)) {
            let value = if scale.logarithmic {
                value.log10()
            } else {
                value
            };
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            return None;
        }
        let width = high - low;
        let room = if width > 0.0 {
            0.04 * width
        } else if scale.logarithmic {
            0.5
        } else {
            // A single value; the smallest of all still gets some room.
            match 0.1 * low.abs() {
                0.0 => 1.0,
                room => room,
            }
        };
        // What starts at zero, or nearly so, is drawn from zero.
        let from_zero = !scale.logarithmic && low >= 0.0 && low <= 0.25 * high && width > 0.0;
        let low = if from_zero { 0.0 } else { low - room };
        Some(Self::of(scale.logarithmic, low, high + room))
    }

    /// The interval from `low` to `high`, of their logarithms to base 10 where it is logarithmic.
    fn of(logarithmic: bool, low: f64, high: f64) -> Self {
        Self {
            low: low.max(-1e300),
            high: high.min(1e300),
            logarithmic,
        }
    }

    /// The linear interval from `low` to `high`.
    pub(super) fn linear(low: f64, high: f64) -> Self {
        Self::of(false, low, high)
    }

    fn position(&self, value: f64) -> f64 {
        if self.logarithmic {
            value.log10()
        } else {
            value
        }
    }

    /// Round values on the axis, about `most` of them.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        let most = most.max(2);
        if self.logarithmic {
            let width = self.high - self.low;
            if width >= 1.0 {
                return decades(self.low, self.high, most);
            }
            let (low, high) = (10f64.powf(self.low), 10f64.powf(self.high));
            return round_values(low, high, most);
        }
        round_values(self.low, self.high, most)
    }
}

/// Powers of ten, or 1, 2 and 5 times them where there is room.
fn decades(low: f64, high: f64, most: usize) -> Vec<f64> {
    let (first, last) = (low.floor() as i32, high.ceil() as i32);
    let inside = |value: &f64| (low..=high).contains(&value.log10());
    let fine: Vec<f64> = (first..=last)
        .flat_map(|power| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(power)))
        .filter(inside)
        .collect();
    if fine.len() <= most {
        return fine;
    }
    let powers: Vec<i32> = (first..=last)
        .filter(|&power| inside(&10f64.powi(power)))
        .collect();
    let stride = powers.len().div_ceil(most).max(1) as i32;
    powers
        .into_iter()
        .filter(|power| power.rem_euclid(stride) == 0)
        .map(|power| 10f64.powi(power))
        .collect()
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn round_values(low: f64, high: f64, most: usize) -> Vec<f64> {
    let rough = (high - low) / most as f64;
    if !(rough.is_finite() && rough > 0.0) {
        return Vec::new();
    }
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|m| m * power)
        .into_iter()
        .find(|step| (high - low) / step <= most as f64)
        .unwrap_or(10.0 * power);
    let (first, last) = ((low / step).ceil(), (high / step).floor());
    let count = last - first;
    if !count.is_finite() || !(0.0..1000.0).contains(&count) {
        return Vec::new();
    }
    (0..=count as usize)
        .map(|k| {
            // Adding zero turns the negative zero into the positive.
            (first + k as f64) * step + 0.0
        })
        .collect()
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (self.position(*value) - self.low) / (self.high - self.low);
        let share = if share.is_nan() {
            0.5
        } else {
            // Far outside is as good as further outside, and cannot overflow.
            share.clamp(-4.0, 5.0)
        };
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        self.ticks(hint.bold_points())
    }

    fn range(&self) -> Range<f64> {
        if self.logarithmic {
            10f64.powf(self.low)..10f64.powf(self.high)
        } else {
            self.low..self.high
        }
    }
}

impl ValueFormatter<f64> for Axis {
    fn format(value: &f64) -> String {
        label(*value)
    }
}

/// As wide as a plus, unlike the hyphen.
const MINUS: &str = "\u{2212}";

/// A tick's value in few characters.
pub(super) fn label(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e5).contains(&size) {
        let text = format!("{value:.3e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", trimmed(digits)).replace('-', MINUS);
    }
    // Six significant digits hide the error of a sum such as 0.1 + 0.2.
    let places = (5 - size.log10().floor() as i32).clamp(0, 9) as usize;
    trimmed(&format!("{value:.places$}")).replace('-', MINUS)
}

fn trimmed(digits: &str) -> String {
    if digits.contains('.') {
        digits
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_string()
    } else {
        digits.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(
            Axis::linear(0.0, 1.0).ticks(5),
            [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]
        );
        let scale = Scale::logarithmic("");
        let axis = Axis::around(&scale, [1e-5, 1.0]).unwrap();
        assert_eq!(axis.ticks(6), [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0]);
        let narrow = Axis::around(&scale, [3.0, 4.0]).unwrap();
        assert!(narrow.ticks(5).len() >= 2);
    }

    #[test]
    fn labels_are_short() {
        let cases = [
            (0.0, "0"),
            (0.6000000000000001, "0.6"),
            (-2.0, "\u{2212}2"),
            (60000.0, "60000"),
            (1e5, "1e5"),
            (1e-5, "1e\u{2212}5"),
            (1.5e-7, "1.5e\u{2212}7"),
            (0.25, "0.25"),
        ];
        for (value, text) in cases {
            assert_eq!(label(value), text);
        }
    }

    #[test]
    fn nothing_to_show_is_no_axis() {
        let linear = Scale::linear("");
        assert_eq!(Axis::around(&linear, [f64::NAN, f64::INFINITY]), None);
        assert_eq!(Axis::around(&Scale::logarithmic(""), [0.0, -1.0]), None);
        assert!(Axis::around(&linear, [0.0]).is_some());
    }

    proptest! {
        /// Whatever the values, they have places inside, in their order, and ticks are few.
        #[test]
        fn values_have_places(a in -1e200..1e200f64, b in -1e200..1e200f64, log: bool) {
            let scale = Scale { label: String::new(), logarithmic: log };
            let (a, b) = if log { (a.abs() + 1e-200, b.abs() + 1e-200) } else { (a, b) };
            let axis = Axis::around(&scale, [a, b]).unwrap();
            let (at_a, at_b) = (axis.map(&a, (0, 1000)), axis.map(&b, (0, 1000)));
            prop_assert!((0..=1000).contains(&at_a) && (0..=1000).contains(&at_b));
            prop_assert_eq!(a < b && at_a > at_b, false);
            prop_assert!(axis.ticks(6).len() <= 8);
        }
    }
}
