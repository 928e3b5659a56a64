//! Pure differential privacy: the largest loss that is possible at all.

use super::pair::Pair;
use super::steps::Steps;

/// Relative allowance for the roundings of the sums, upwards.
const ROUNDING: f64 = 1e-14;

/// Largest total loss in any direction; infinite as soon as there is Gaussian noise or no noise.
pub(crate) fn epsilon(steps: &Steps) -> f64 {
    if steps.non_private {
        return f64::INFINITY;
    }
    let mut total = 0.0;
    for (step, count) in &steps.counted {
        let largest = Pair::of(step)
            .iter()
            .map(Pair::loss_supremum)
            .fold(0.0, f64::max);
        total += *count as f64 * largest;
    }
    total * (1.0 + ROUNDING)
}

/// Largest total loss of these pairs.
pub(crate) fn of_pairs(pairs: &[(Pair, u64)]) -> f64 {
    let total: f64 = pairs
        .iter()
        .map(|(pair, count)| *count as f64 * pair.loss_supremum())
        .sum();
    total * (1.0 + ROUNDING)
}
