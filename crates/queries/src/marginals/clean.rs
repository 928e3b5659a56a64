//! Turns a noisy distribution function into a proper one: post-processing.

use super::isotonic;

/// How a released distribution function is cleaned: its nearest non-decreasing function replaces it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cleaning {
    /// Values up to this many standard deviations of the noise become 0, and those as near to 1 become 1, so that noise alone
    /// puts no mass into the tails. 0 turns this off.
    pub(super) tail_deviations: f64,
    /// Whether the released coefficients are first shrunk towards those that the query expects, if it expects any: at each
    /// node of the tree by the share of the squared difference, over all slices, that the noise explains. Tails then need no
    /// cutting.
    pub(super) shrink: bool,
}

impl Default for Cleaning {
    /// Cuts the tails at one standard deviation of the noise.
    fn default() -> Self {
        Self {
            tail_deviations: 1.0,
            shrink: false,
        }
    }
}

impl Cleaning {
    /// Shrinks and does not cut tails, for [`super::MarginalQuery::around_gaussian`].
    pub(super) fn towards_expected() -> Self {
        Self {
            tail_deviations: 0.0,
            shrink: true,
        }
    }
}

/// Shrinks released values towards expected ones, as far as the noise explains the difference.
///
/// For each place `i` of a slice's values, the mean over the `k` slices of the squared difference is `v + sigma^2`, with `v`
/// the part that is not noise. Each difference is multiplied by the estimate of `v / (v + sigma^2)`. With noise alone the
/// expected distribution remains; without noise nothing changes. `values` and `expected` hold `width` values per slice.
pub(super) fn shrink(values: &mut [f64], expected: &[f64], width: usize, deviation: f64) {
    let slices = values.len() / width;
    for place in 0..width {
        let pairs = || (0..slices).map(|l| l * width + place);
        let squares: f64 = pairs().map(|i| (values[i] - expected[i]).powi(2)).sum();
        let mean = squares / slices as f64;
        let factor = if mean > 0.0 {
            (1.0 - deviation * deviation / mean).max(0.0)
        } else {
            0.0
        };
        for i in pairs() {
            values[i] = expected[i] + factor * (values[i] - expected[i]);
        }
    }
}

/// Raises each value to its predecessor if it is lower.
pub(super) fn make_monotone(values: &mut [f64]) {
    let mut largest = f64::NEG_INFINITY;
    for value in values {
        largest = largest.max(*value);
        *value = largest;
    }
}

impl Cleaning {
    /// Returns the cleaned values, which rise from 0 to 1 and do not decrease.
    ///
    /// `below` starts with 0 and ends with 1; `noise` has the standard deviation of each value.
    pub(super) fn apply(&self, below: &[f64], noise: &[f64]) -> Vec<f64> {
        let last = below.len() - 1;
        let inner = &below[1..last];
        let mut cleaned = isotonic(inner);
        // One threshold for all edges keeps the order; the noise is about the same at each.
        let largest = noise.iter().fold(0.0_f64, |a, &b| a.max(b));
        let cut = (self.tail_deviations.max(0.0) * largest).min(0.5);
        for value in &mut cleaned {
            *value = if *value <= cut {
                0.0
            } else if *value >= 1.0 - cut {
                1.0
            } else {
                *value
            };
        }
        cleaned.insert(0, 0.0);
        cleaned.push(1.0);
        cleaned
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_result_is_a_distribution_function(
            inner in prop::collection::vec(-1.0_f64..2.0, 1..40),
            noise in 0.0_f64..1.0,
            tail_deviations in 0.0_f64..3.0,
        ) {
            let below: Vec<f64> = [0.0].into_iter().chain(inner).chain([1.0]).collect();
            let cleaning = Cleaning { tail_deviations, shrink: false };
            let cleaned = cleaning.apply(&below, &vec![noise; below.len()]);
            prop_assert_eq!(cleaned.len(), below.len());
            prop_assert_eq!((cleaned[0], cleaned[below.len() - 1]), (0.0, 1.0));
            prop_assert!(cleaned.windows(2).all(|pair| pair[0] <= pair[1]));
        }

        #[test]
        fn without_noise_nothing_changes(mut inner in prop::collection::vec(0.0_f64..1.0, 1..40)) {
            inner.sort_by(f64::total_cmp);
            let below: Vec<f64> = [0.0].into_iter().chain(inner).chain([1.0]).collect();
            let cleaned = Cleaning::default().apply(&below, &vec![0.0; below.len()]);
            prop_assert_eq!(cleaned, below);
        }
    }

    #[test]
    fn tails_are_cut_at_the_noise() {
        let below = [0.0, 0.05, 0.2, 0.7, 0.93, 1.0];
        let cleaning = Cleaning {
            tail_deviations: 2.0,
            shrink: false,
        };
        let cleaned = cleaning.apply(&below, &[0.0, 0.04, 0.05, 0.05, 0.04, 0.0]);
        assert_eq!(cleaned, [0.0, 0.0, 0.2, 0.7, 1.0, 1.0]);
    }

    #[test]
    fn shrinkage_takes_the_noise_for_what_it_is() {
        let expected = [1.0, 10.0, 2.0, 20.0, 3.0, 30.0];
        let released = [2.0, 13.0, 1.0, 17.0, 4.0, 33.0];
        let mut values = released;
        shrink(&mut values, &expected, 2, 0.0);
        assert_eq!(values, released);
        // Differences of size 1 are noise of deviation 1; those of size 3 are 8/9 signal.
        shrink(&mut values, &expected, 2, 1.0);
        let right = 24.0 / 9.0;
        let expected_values = [1.0, 10.0 + right, 2.0, 20.0 - right, 3.0];
        for (value, expected) in values.iter().zip(expected_values) {
            assert!((value - expected).abs() < 1e-12);
        }
        let mut values = expected;
        shrink(&mut values, &expected, 2, 1.0);
        assert_eq!(values, expected);
    }
}
