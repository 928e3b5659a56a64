//! The end of what a test refutes.

/// The largest value, from 0 on, of those that are refuted below it: 0 where nothing is.
///
/// - `first`: a value to try first; `precision`: relative, of the answer, which is refuted itself.
pub(crate) fn largest(first: f64, precision: f64, refuted: impl Fn(f64) -> bool) -> f64 {
    if !refuted(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, first);
    while refuted(high) {
        (low, high) = (high, 2.0 * high);
    }
    while high - low > precision * high {
        let middle = 0.5 * (low + high);
        if refuted(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
