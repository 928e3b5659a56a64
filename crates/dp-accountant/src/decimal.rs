//! Decimal numbers for readers, rounded to the safe side.
//!
//! A printed upper bound or a required noise multiplier ([`upper`]) is never below the value. A limit that a value must stay
//! below ([`lower`]) is never above itself.
//!
//! ```
//! use dp_accountant::decimal::{lower, nearest, upper};
//!
//! assert_eq!(upper(9.980_01), "9.9801");
//! assert_eq!(lower(1e-5 / 3.0), "3.3333e-6");
//! assert_eq!(nearest(0.016_966_4, 3), "0.017");
//! ```

/// The number of significant digits of a bound.
const DIGITS: usize = 5;

/// Numbers between these powers of ten are written in full.
const SMALL: i32 = -3;
const LARGE: i32 = 7;

/// `mantissa * 10^exponent`.
struct Decimal {
    mantissa: i64,
    exponent: i32,
}

impl Decimal {
    /// Returns the nearest decimal to a finite `value` with `digits` significant digits; a whole number below ten million keeps
    /// all of its digits.
    fn nearest(value: f64, digits: usize) -> Self {
        let first = Self::parse(&format!("{value:.*e}", digits.max(1) - 1));
        let whole = first.power() + 1;
        if first.exponent > 0 && whole <= LARGE {
            return Self::parse(&format!("{value:.*e}", whole as usize - 1));
        }
        first
    }

    /// Parses text such as `d.ddde-7`.
    fn parse(text: &str) -> Self {
        let (digits, power) = text.split_once('e').unwrap_or((text, "0"));
        let places = digits.split_once('.').map_or(0, |(_, after)| after.len());
        Self {
            mantissa: digits.replace('.', "").parse().unwrap_or(0),
            exponent: power.parse::<i32>().unwrap_or(0) - places as i32,
        }
    }

    /// Returns the power of ten of the first digit.
    fn power(&self) -> i32 {
        self.mantissa.abs().max(1).ilog10() as i32 + self.exponent
    }

    /// Returns the value that the text reads back as.
    fn value(&self) -> f64 {
        let text = format!("{}e{}", self.mantissa, self.exponent);
        text.parse().unwrap_or(f64::NAN)
    }

    /// Writes the number in few characters: in full from a thousandth to ten million, otherwise with a power of ten.
    fn text(mut self) -> String {
        if self.mantissa == 0 {
            return "0".into();
        }
        while self.mantissa % 10 == 0 {
            self.mantissa /= 10;
            self.exponent += 1;
        }
        let sign = if self.mantissa < 0 { "-" } else { "" };
        let digits = self.mantissa.abs().to_string();
        let power = self.power();
        if !(SMALL..LARGE).contains(&power) {
            let (first, others) = digits.split_at(1);
            let point = if others.is_empty() { "" } else { "." };
            return format!("{sign}{first}{point}{others}e{power}");
        }
        if self.exponent >= 0 {
            return format!("{sign}{digits}{}", "0".repeat(self.exponent as usize));
        }
        let padded = format!("{}{digits}", "0".repeat((-power).max(0) as usize));
        let (whole, part) = padded.split_at(padded.len() - self.exponent.unsigned_abs() as usize);
        format!("{sign}{whole}.{part}")
    }
}

/// Returns the nearest decimal with `digits` significant digits.
pub fn nearest(value: f64, digits: usize) -> String {
    unbounded(value).unwrap_or_else(|| Decimal::nearest(value, digits).text())
}

/// Returns a decimal of five significant digits that reads back as at least `value`, and as less than one unit of its last
/// digit above it.
pub fn upper(value: f64) -> String {
    towards(value, 1, |read| read >= value)
}

/// Returns a decimal of five significant digits that reads back as at most `value`, and as less than one unit of its last
/// digit below it.
pub fn lower(value: f64) -> String {
    towards(value, -1, |read| read <= value)
}

fn towards(value: f64, unit: i64, holds: impl Fn(f64) -> bool) -> String {
    unbounded(value).unwrap_or_else(|| {
        let mut decimal = Decimal::nearest(value, DIGITS);
        if !holds(decimal.value()) {
            decimal.mantissa += unit;
        }
        decimal.text()
    })
}

/// Returns the text of a value that is not finite.
fn unbounded(value: f64) -> Option<String> {
    if value.is_finite() {
        return None;
    }
    Some(match value {
        f64::INFINITY => "infinity".into(),
        f64::NEG_INFINITY => "-infinity".into(),
        _ => "not a number".into(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0"),
            (119.718_588, "119.72"),
            (0.016_966, "0.016966"),
            (0.001, "0.001"),
            (9.9e-4, "9.9e-4"),
            (1e-5, "1e-5"),
            (0.1 / 30_000.0, "3.3333e-6"),
            (60_000.0, "60000"),
            (1_234_567.0, "1234567"),
            (1e7, "1e7"),
            (-2.449_489, "-2.4495"),
            (f64::NAN, "not a number"),
        ];
        for (value, text) in cases {
            assert_eq!(nearest(value, 5), text);
        }
    }

    #[test]
    fn a_bound_is_rounded_to_its_own_side() {
        let cases = [
            (9.999_935, "10", "9.9999"),
            (9.980_01, "9.9801", "9.98"),
            (1.000_01, "1.0001", "1"),
            (3.333_333e-5, "3.3334e-5", "3.3333e-5"),
            (1e-5, "1e-5", "1e-5"),
            (0.0, "0", "0"),
            (0.1 + 0.2, "0.30001", "0.3"),
            (f64::INFINITY, "infinity", "infinity"),
        ];
        for (value, above, below) in cases {
            assert_eq!([upper(value), lower(value)], [above, below]);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        /// Over all orders of magnitude that an epsilon or a delta can have.
        #[test]
        fn what_is_read_back_is_on_the_right_side(
            mantissa in 1.0_f64..10.0,
            power in -300..300_i32,
            digits in 0..17_usize,
        ) {
            // Short decimals too: they sit on the edges of rounding.
            let value: f64 = format!("{mantissa:.digits$}e{power}").parse().expect("a number");
            let read = |text: String| -> f64 { text.parse().expect("a number") };
            let (above, below) = (read(upper(value)), read(lower(value)));
            prop_assert!(below <= value && value <= above, "{below} {value} {above}");
            let unit = value * 1e-4 * (1.0 + 1e-12);
            prop_assert!(above - value < unit && value - below < unit, "{below} {value} {above}");
            prop_assert_eq!(read(nearest(value, 17)), value);
        }
    }
}
