//! Numbers for readers.

/// Five significant digits, in scientific form where that is shorter.
pub(super) fn shown(value: f64) -> String {
    significant(value, 5)
}

/// So many significant digits, in scientific form where that is shorter.
pub(super) fn significant(value: f64, digits: i32) -> String {
    if !value.is_finite() {
        return "not finite".into();
    }
    let size = value.abs();
    if value != 0.0 && !(1e-3..1e7).contains(&size) {
        let places = (digits - 2).max(0) as usize;
        let text = format!("{value:.places$e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", trimmed(digits));
    }
    let places = if size < 1e-3 {
        0
    } else {
        (digits - 1 - size.log10().floor() as i32).max(0) as usize
    };
    trimmed(&format!("{value:.places$}"))
}

/// An upper bound, rounded upwards to four decimals.
pub fn upper(value: f64) -> String {
    if !value.is_finite() {
        return "infinite".into();
    }
    trimmed(&format!("{:.4}", (value * 1e4).ceil() / 1e4))
}

/// One number, or the smallest and the largest.
pub(super) fn range(low: f64, high: f64) -> String {
    let (low, high) = (shown(low), shown(high));
    if low == high {
        low
    } else {
        format!("{low} to {high}")
    }
}

/// A duration of so many seconds.
pub(super) fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return "unknown".into();
    }
    if seconds < 120.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 {
        format!("{hours} h {minutes} min")
    } else {
        format!("{minutes} min {rest} s")
    }
}

fn trimmed(digits: &str) -> String {
    if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.').into()
    } else {
        digits.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0"),
            (119.718_588, "119.72"),
            (0.016_966, "0.016966"),
            (1e-5, "1e-5"),
            (60000.0, "60000"),
            (2.449_489, "2.4495"),
            (f64::NAN, "not finite"),
        ];
        for (value, text) in cases {
            assert_eq!(shown(value), text);
        }
    }

    #[test]
    fn a_bound_is_never_rounded_down() {
        assert_eq!(upper(9.999_935), "10");
        assert_eq!(upper(9.980_01), "9.9801");
        assert_eq!(upper(1.000_01), "1.0001");
        assert_eq!(upper(f64::INFINITY), "infinite");
    }

    #[test]
    fn durations_read() {
        assert_eq!(duration(12.34), "12.3 s");
        assert_eq!(duration(3222.8), "53 min 43 s");
        assert_eq!(duration(7300.0), "2 h 1 min");
    }
}
