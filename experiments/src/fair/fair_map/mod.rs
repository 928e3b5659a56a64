//! Fair outputs by post-processing (Xian, Li and Zhao 2024; the baseline of Rodriguez-Vitores, Lalanne and Loubes
//! 2025, arXiv 2502.01701, remark C.4).
//!
//! 1. Histograms `h_a` of a regressor's outputs on the records of each group.
//! 2. The nearest distributions `q_a` to the `h_a`, in `sum_a w_a W_2^2(h_a, q_a)`, that lie in a Kolmogorov-Smirnov
//!    ball of radius `beta` around a common one, so `2 beta` from each other.
//! 3. An output in bin `i` becomes one in bin `j` with the probability that the optimal coupling of `h_a` and `q_a`
//!    gives.

mod flow;

use std::ops::Range;

use rand::{Rng, RngExt};

/// Bins of equal width over a public range.
#[derive(Debug, Clone)]
pub(super) struct Bins {
    /// The range.
    pub(super) range: Range<f64>,
    /// How many there are.
    pub(super) count: usize,
}

impl Bins {
    /// The centre of a bin.
    pub(super) fn centre(&self, bin: usize) -> f64 {
        let width = self.range.end - self.range.start;
        self.range.start + width * (bin as f64 + 0.5) / self.count as f64
    }

    /// The bin of a value; what lies outside goes to the ends.
    pub(super) fn bin(&self, value: f32) -> usize {
        let width = self.range.end - self.range.start;
        let place = (f64::from(value) - self.range.start) / width * self.count as f64;
        // A value that is not finite goes to the first bin: what a record counts for is bounded.
        (place.max(0.0) as usize).min(self.count - 1)
    }

    /// A histogram of mass 1 from counts that may be noisy: what is negative counts as 0; uniform where nothing is left.
    pub(super) fn histogram(&self, counts: &[f64]) -> Vec<f64> {
        let positive: Vec<f64> = counts.iter().map(|c| c.max(0.0)).collect();
        let mass: f64 = positive.iter().sum();
        if mass > 0.0 && counts.len() == self.count {
            positive.iter().map(|c| c / mass).collect()
        } else {
            vec![1.0 / self.count as f64; self.count]
        }
    }
}

/// A random map of outputs for each of two groups, after which their distributions are close.
#[derive(Debug, Clone)]
pub(super) struct FairMap {
    bins: Bins,
    couplings: [Vec<f64>; 2],
}

impl FairMap {
    /// The map of outputs with these `histograms`, each of mass 1, into a ball of radius `beta`; `weights` are those
    /// of the groups' squared distances.
    pub(super) fn new(
        bins: Bins,
        histograms: &[Vec<f64>; 2],
        weights: [f64; 2],
        beta: f64,
    ) -> Self {
        let centres: Vec<f64> = (0..bins.count).map(|bin| bins.centre(bin)).collect();
        let couplings = flow::couplings(histograms, &centres, weights, 2.0 * beta);
        Self { bins, couplings }
    }

    /// The output of a record of `group`, 0 or 1, instead of `value`.
    pub(super) fn apply(&self, value: f32, group: u8, rng: &mut impl Rng) -> f32 {
        let (bin, count) = (self.bins.bin(value), self.bins.count);
        let row = &self.couplings[usize::from(group.min(1))][bin * count..][..count];
        let mass: f64 = row.iter().sum();
        if mass <= 0.0 {
            return self.bins.centre(bin) as f32;
        }
        let mut left = rng.random::<f64>() * mass;
        let chosen = row.iter().position(|share| {
            left -= share;
            left < 0.0
        });
        self.bins.centre(chosen.unwrap_or(count - 1)) as f32
    }
}

/// The largest difference of the empirical distribution functions of two samples.
pub(super) fn kolmogorov_smirnov(mut a: Vec<f32>, mut b: Vec<f32>) -> f64 {
    a.sort_unstable_by(f32::total_cmp);
    b.sort_unstable_by(f32::total_cmp);
    let (mut i, mut j, mut largest) = (0, 0, 0.0f64);
    while i < a.len() && j < b.len() {
        let at = a[i].min(b[j]);
        while i < a.len() && a[i] <= at {
            i += 1;
        }
        while j < b.len() && b[j] <= at {
            j += 1;
        }
        let difference = i as f64 / a.len() as f64 - j as f64 / b.len() as f64;
        largest = largest.max(difference.abs());
    }
    largest
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;

    #[test]
    fn groups_at_both_ends_meet_in_the_middle() {
        let bins = Bins {
            range: 0.0..3.0,
            count: 3,
        };
        let ends = [vec![1.0, 0.0, 0.0], vec![0.0, 0.0, 1.0]];
        let map = FairMap::new(bins, &ends, [0.5, 0.5], 0.0);
        let rng = &mut ChaCha20Rng::seed_from_u64(0);
        assert_eq!([map.apply(0.2, 0, rng), map.apply(2.9, 1, rng)], [1.5, 1.5]);
    }

    #[test]
    fn kolmogorov_smirnov_of_known_samples() {
        let ks = |a: &[f32], b: &[f32]| kolmogorov_smirnov(a.to_vec(), b.to_vec());
        assert_eq!(ks(&[1.0, 2.0], &[2.0, 1.0]), 0.0);
        assert_eq!(ks(&[1.0, 2.0], &[3.0, 4.0]), 1.0);
        assert_eq!(ks(&[1.0, 3.0], &[2.0, 4.0]), 0.5);
        assert_eq!(ks(&[0.0, 0.0, 1.0, 1.0], &[0.0, 1.0, 1.0, 1.0]), 0.25);
    }
}
