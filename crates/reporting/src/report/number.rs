//! Numbers for readers.

use dp_accountant::decimal::nearest;

/// Rounds a measured value to four significant digits.
pub(super) fn shown(value: f64) -> String {
    significant(value, 4)
}

/// Rounds a value to `digits` significant digits.
pub(super) fn significant(value: f64, digits: usize) -> String {
    if value.is_finite() {
        nearest(value, digits)
    } else {
        "not finite".into()
    }
}

/// Returns one number, or the smallest and the largest.
pub(super) fn range(low: f64, high: f64, show: fn(f64) -> String) -> String {
    let (low, high) = (show(low), show(high));
    if low == high {
        low
    } else {
        format!("{low} to {high}")
    }
}

/// Returns a duration, given in seconds, in words.
pub fn duration(seconds: f64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read() {
        assert_eq!(duration(12.34), "12.3 s");
        assert_eq!(duration(3222.8), "53 min 43 s");
        assert_eq!(duration(7300.0), "2 h 1 min");
    }
}
