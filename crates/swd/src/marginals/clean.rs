//! Cleaning of a noisy distribution function: post-processing.

use super::isotonic;

/// How a released distribution function becomes a proper one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cleaning {
    /// Replace it by the nearest one that does not decrease; else lift each value to its predecessor.
    pub isotonic: bool,
    /// Where it is below, or above one less, than this many standard deviations of its own noise, take
    /// it for 0 or 1: mass that noise alone would put into the tails is not believed. 0 for none.
    pub tail_deviations: f64,
}

impl Default for Cleaning {
    /// Isotonic, with the tails cut at one standard deviation of the noise.
    fn default() -> Self {
        Self {
            isotonic: true,
            tail_deviations: 1.0,
        }
    }
}

impl Cleaning {
    /// The cleaned values: from 0 to 1, not decreasing.
    ///
    /// `below` starts with 0 and ends with 1; `noise` has the standard deviation of each value.
    pub(super) fn apply(&self, below: &[f64], noise: &[f64]) -> Vec<f64> {
        let last = below.len() - 1;
        let inner = &below[1..last];
        let mut cleaned = if self.isotonic {
            isotonic(inner)
        } else {
            let mut lifted = inner.to_vec();
            crate::cells::make_monotone(&mut lifted);
            lifted
        };
        // One threshold for all edges keeps the order; noise is about the same at each.
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
            isotonic in any::<bool>(),
            tail_deviations in 0.0_f64..3.0,
        ) {
            let below: Vec<f64> = [0.0].into_iter().chain(inner).chain([1.0]).collect();
            let cleaning = Cleaning { isotonic, tail_deviations };
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
            isotonic: true,
            tail_deviations: 2.0,
        };
        let cleaned = cleaning.apply(&below, &[0.0, 0.04, 0.05, 0.05, 0.04, 0.0]);
        assert_eq!(cleaned, [0.0, 0.0, 0.2, 0.7, 1.0, 1.0]);
    }
}
