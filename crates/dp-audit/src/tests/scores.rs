//! Scores of simulated attacks, and the largest count that chance allows.

use dp_accountant::accounting::binomial::upper_tail;
use dp_accountant::accounting::normal::upper_quantile;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

/// The probability with which a statistical test of this file would fail for a random seed; all seeds are fixed.
pub(crate) const FALSE_ALARM: f64 = 1e-6;

pub(crate) struct Source(ChaCha20Rng);

impl Source {
    pub(crate) fn new(seed: u64) -> Self {
        Self(ChaCha20Rng::seed_from_u64(seed))
    }

    pub(crate) fn normal(&mut self, mean: f64) -> f64 {
        let uniform: f64 = self.0.random();
        // In the middle of its cell, so that it is neither 0 nor 1.
        mean - upper_quantile(uniform + 0.5 / (1_u64 << 53) as f64)
    }

    pub(crate) fn normals(&mut self, count: usize, mean: f64) -> Vec<f64> {
        (0..count).map(|_| self.normal(mean)).collect()
    }

    /// Density `exp(-|x - mean| / scale) / (2 scale)`.
    pub(crate) fn laplace(&mut self, mean: f64, scale: f64) -> f64 {
        let uniform: f64 = self.0.random();
        let size = -scale * (1.0 - uniform).ln();
        if self.coin() {
            mean + size
        } else {
            mean - size
        }
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.0.random()
    }

    /// Coins, and the score of each canary.
    pub(crate) fn canaries(&mut self, count: usize, mu: f64) -> (Vec<f64>, Vec<bool>) {
        let coins: Vec<bool> = (0..count).map(|_| self.coin()).collect();
        let scores = coins
            .iter()
            .map(|there| self.normal(if *there { mu } else { 0.0 }));
        (scores.collect(), coins)
    }
}

/// The most that `count` events of probability `rate` happen, but for [`FALSE_ALARM`].
pub(crate) fn most(count: u64, rate: f64) -> u64 {
    (0..=count)
        .find(|k| upper_tail(k + 1, count, rate) < FALSE_ALARM)
        .unwrap_or(count)
}
