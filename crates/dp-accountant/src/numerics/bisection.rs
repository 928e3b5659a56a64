//! Bisection of a condition that holds below a point and fails above it.
//!
//! A bound stays a bound if the right end is returned, so each function names the end that it returns.

use std::convert::Infallible;

/// When an interval is narrow enough. Each search also stops when no number lies between the two ends.
#[derive(Debug, Clone, Copy)]
pub enum Until {
    /// After this many halvings.
    Halvings(u32),
    /// When the width is at most this share of the upper end.
    Width(f64),
    /// When the upper end is at most this many times the lower end, which is positive. The ends' geometric mean is tried.
    Ratio(f64),
}

/// The two ends of the last interval: the condition holds at the first one and fails at the second one.
///
/// Neither end of `interval` is tried.
///
/// # Errors
/// The first error of `holds`.
pub(crate) fn try_bracket<E>(
    interval: (f64, f64),
    until: Until,
    holds: impl Fn(f64) -> Result<bool, E>,
) -> Result<(f64, f64), E> {
    let (mut low, mut high) = interval;
    for turn in 0.. {
        let (wide, middle) = match until {
            Until::Halvings(count) => (turn < count, 0.5 * (low + high)),
            Until::Width(share) => (high - low > share * high, 0.5 * (low + high)),
            Until::Ratio(ratio) => (high > ratio * low, (low * high).sqrt()),
        };
        if !wide || middle <= low || middle >= high {
            break;
        }
        if holds(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok((low, high))
}

/// [`try_bracket`] of a condition without errors.
pub(crate) fn bracket(
    interval: (f64, f64),
    until: Until,
    holds: impl Fn(f64) -> bool,
) -> (f64, f64) {
    let Ok(found) = try_bracket(interval, until, |x| Ok::<_, Infallible>(holds(x)));
    found
}

/// The lower end of the bracket: the largest value found at which the condition holds.
pub fn largest_that_holds(interval: (f64, f64), until: Until, holds: impl Fn(f64) -> bool) -> f64 {
    bracket(interval, until, holds).0
}

/// The upper end of the bracket: the smallest value found at which the condition fails.
pub fn smallest_that_fails(interval: (f64, f64), until: Until, holds: impl Fn(f64) -> bool) -> f64 {
    bracket(interval, until, holds).1
}
