//! A linear or logarithmic axis, with round numbers at its ticks.

/// The label and the scale of an axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scale {
    /// The quantity, with its unit.
    pub label: String,
    /// Whether the axis is logarithmic; values that are not positive are then left out.
    pub logarithmic: bool,
    /// The lower and upper end; without it the axis holds all values, with a little room.
    pub range: Option<[f64; 2]>,
    /// Names that both ends show instead of round numbers.
    pub ends: Option<[String; 2]>,
}

impl Scale {
    /// Returns a linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            ..Self::default()
        }
    }

    /// Returns a logarithmic axis.
    pub fn logarithmic(label: impl Into<String>) -> Self {
        Self {
            logarithmic: true,
            ..Self::linear(label)
        }
    }

    /// Restricts the axis to the values from `low` to `high`.
    #[must_use]
    pub fn between(self, low: f64, high: f64) -> Self {
        Self {
            range: Some([low, high]),
            ..self
        }
    }

    /// Whether `value` can be shown on the axis.
    pub(super) fn shows(&self, value: f64) -> bool {
        value.is_finite() && (!self.logarithmic || value > 0.0)
    }

    /// Returns the ends of a spread of `error` around `value`; a logarithmic axis shows it from a tenth of the value on.
    pub(super) fn spread(&self, value: f64, error: f64) -> [f64; 2] {
        let error = if error.is_finite() { error } else { 0.0 };
        let least = if self.logarithmic {
            0.1 * value
        } else {
            f64::MIN
        };
        [(value - error).max(least), value + error]
    }

    fn position(&self, value: f64) -> f64 {
        if self.logarithmic {
            value.log10()
        } else {
            value
        }
    }

    /// Returns the axis that holds all `values` that it can show; `None` without such values, or for an unsuitable range.
    pub(super) fn around(&self, values: impl IntoIterator<Item = f64>) -> Option<Axis<'_>> {
        let axis = |low: f64, high: f64| Axis {
            scale: self,
            low: low.max(-1e300),
            high: high.min(1e300),
        };
        if let Some([low, high]) = self.range {
            let shown = self.shows(low) && self.shows(high) && low < high;
            return shown.then(|| axis(self.position(low), self.position(high)));
        }
        let shown = values.into_iter().filter(|&value| self.shows(value));
        let (low, high) = shown
            .map(|value| self.position(value))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        let width = high - low;
        let room = if low > high {
            return None;
        } else if width > 0.0 {
            0.04 * width
        } else if self.logarithmic {
            0.5
        } else {
            // A single value, even 0, still gets some room.
            match 0.1 * low.abs() {
                0.0 => 1.0,
                room => room,
            }
        };
        // Values that start at zero, or nearly so, are drawn from zero.
        let from_zero = !self.logarithmic && low >= 0.0 && low <= 0.25 * high && width > 0.0;
        Some(axis(if from_zero { 0.0 } else { low - room }, high + room))
    }
}

/// An interval of values on the side of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Axis<'a> {
    pub(super) scale: &'a Scale,
    /// The logarithm to base 10 if the axis is logarithmic; the same holds for `high`.
    low: f64,
    high: f64,
}

impl Axis<'_> {
    /// Returns the length of the interval.
    pub(super) fn width(&self) -> f64 {
        self.high - self.low
    }

    /// Returns how far along the axis a value lies, from 0 to 1; a value outside is put at the end.
    pub(super) fn share(&self, value: f64) -> f64 {
        let share = (self.scale.position(value) - self.low) / self.width();
        if share.is_nan() {
            0.5
        } else {
            share.clamp(0.0, 1.0)
        }
    }

    /// Returns about `most` round values on the axis.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        let most = most.max(2);
        if self.scale.logarithmic {
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

/// Returns powers of ten, and 2 and 5 times them if there is room.
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

/// Returns multiples of 1, 2 or 5 times a power of ten.
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
            // Adding zero turns a negative zero into a positive one.
            (first + k as f64) * step + 0.0
        })
        .collect()
}

/// The minus sign, which is as wide as a plus, unlike the hyphen.
const MINUS: &str = "\u{2212}";

/// Returns a tick's value in few characters.
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
        let scale = Scale::linear("").between(0.0, 1.0);
        assert_eq!(
            scale.around([]).unwrap().ticks(5),
            [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]
        );
        let scale = Scale::logarithmic("");
        let axis = scale.around([1e-5, 1.0]).unwrap();
        assert_eq!(axis.ticks(6), [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0]);
        let narrow = scale.around([3.0, 4.0]).unwrap();
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
        assert_eq!(linear.around([f64::NAN, f64::INFINITY]), None);
        assert_eq!(Scale::logarithmic("").around([0.0, -1.0]), None);
        assert!(linear.around([0.0]).is_some());
        assert_eq!(linear.between(1.0, 1.0).around([1.0]), None);
    }

    proptest! {
        /// Whatever the values, they have places inside, in their order, and ticks are few.
        #[test]
        fn values_have_places(a in -1e200..1e200f64, b in -1e200..1e200f64, log: bool) {
            let scale = Scale { logarithmic: log, ..Scale::default() };
            let (a, b) = if log { (a.abs() + 1e-200, b.abs() + 1e-200) } else { (a, b) };
            let axis = scale.around([a, b]).unwrap();
            let (at_a, at_b) = (axis.share(a), axis.share(b));
            prop_assert!((0.0..=1.0).contains(&at_a) && (0.0..=1.0).contains(&at_b));
            prop_assert_eq!(a < b && at_a > at_b, false);
            prop_assert!(axis.ticks(6).len() <= 8);
        }
    }
}
