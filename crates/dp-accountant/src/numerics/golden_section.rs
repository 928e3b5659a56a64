//! Golden-section search over `start e^u`, `u` in `[-reach, reach]`, of a function with one minimum there.

const RATIO: f64 = 0.618_033_988_749_894_9;

/// The least value that was met, that at `start` included.
pub(crate) fn least_value(
    start: f64,
    reach: f64,
    turns: u32,
    function: impl Fn(f64) -> f64,
) -> f64 {
    let at = |u: f64| function(start * u.exp());
    let (mut low, mut high) = (-reach, reach);
    let mut least = at(0.0);
    for _ in 0..turns {
        let (left, right) = (high - RATIO * (high - low), low + RATIO * (high - low));
        let (at_left, at_right) = (at(left), at(right));
        least = least.min(at_left).min(at_right);
        if at_left <= at_right {
            high = right;
        } else {
            low = left;
        }
    }
    least
}

/// Where the least value lies, with one value a turn.
pub(crate) fn minimiser(start: f64, reach: f64, turns: u32, function: impl Fn(f64) -> f64) -> f64 {
    let at = |u: f64| function(start * u.exp());
    let (mut low, mut high) = (-reach, reach);
    let mut left = high - RATIO * (high - low);
    let mut right = low + RATIO * (high - low);
    let (mut at_left, mut at_right) = (at(left), at(right));
    for _ in 0..turns {
        if at_left <= at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - RATIO * (high - low);
            at_left = at(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + RATIO * (high - low);
            at_right = at(right);
        }
    }
    start * (0.5 * (low + high)).exp()
}
