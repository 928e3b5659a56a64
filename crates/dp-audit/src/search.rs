//! The end of the range that a test refutes.

use dp_accountant::numerics::bisection::{Until, largest_that_holds};

/// The largest refuted value, if all values from 0 to it are refuted; 0 if none is.
///
/// - `first`: the first value to try;
/// - `precision`: relative distance to a value that is not refuted.
pub(crate) fn largest_refuted(first: f64, precision: f64, refuted: impl Fn(f64) -> bool) -> f64 {
    if !refuted(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, first);
    while refuted(high) {
        (low, high) = (high, 2.0 * high);
    }
    largest_that_holds((low, high), Until::Width(precision), refuted)
}
