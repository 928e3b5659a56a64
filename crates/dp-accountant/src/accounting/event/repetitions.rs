//! The number of runs of a private selection: its distribution, and how it is sampled.

use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::accounting::error::{Result, check};
use crate::numerics::bisection::{Until, largest_that_holds};

/// A weight of 1: weights of a draw are multiples of `2^-96`.
const ONE: f64 = (1_u128 << 96) as f64;

/// The distribution of the number `K` of runs in a [`super::super::PrivateSelection`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "law", rename_all = "snake_case")]
pub enum RepetitionDistribution {
    /// The truncated negative binomial distribution on `k >= 1`: `P(K = k)` is proportional to `(1 - gamma)^k (shape)_k / k!`.
    ///
    /// Shape 1 is the geometric distribution, shape 0 the logarithmic one. With a lower shape and the same mean, a selection
    /// costs less and the number of runs varies more. Source: Papernot and Steinke 2022, arXiv 2110.03620.
    NegativeBinomial {
        /// The source's eta, in (-1, 100].
        shape: f64,
        /// The source's gamma, in [1e-6, 1). A smaller gamma gives more runs.
        gamma: f64,
    },
    /// The Poisson distribution. If there is no run, nothing is released.
    Poisson {
        /// The mean, in (0, 1e6].
        mean: f64,
    },
}

impl RepetitionDistribution {
    /// The truncated negative binomial distribution with this shape and mean.
    ///
    /// # Errors
    /// [`AccountingError::OutOfRange`](crate::accounting::AccountingError::OutOfRange) for a shape outside (-1, 100], or a
    /// mean that is not above 1 or that no gamma in `[1e-6, 1)` gives.
    pub fn negative_binomial(shape: f64, mean: f64) -> Result<Self> {
        check_shape(shape)?;
        let with_gamma = |gamma: f64| Self::NegativeBinomial { shape, gamma };
        let most = with_gamma(1e-6).mean();
        let ok = mean > 1.0 && mean <= most;
        check(
            "mean number of runs",
            mean,
            ok,
            "above 1, and one that the law has",
        )?;
        // In the logarithm of gamma, in which the mean falls.
        let ln_gamma = largest_that_holds((1e-6_f64.ln(), 0.0), Until::Halvings(200), |ln_gamma| {
            with_gamma(ln_gamma.exp()).mean() > mean
        });
        Ok(with_gamma(ln_gamma.exp()))
    }

    /// The Poisson distribution with this mean.
    ///
    /// # Errors
    /// [`AccountingError::OutOfRange`](crate::accounting::AccountingError::OutOfRange) for a mean outside (0, 1e6].
    pub fn poisson(mean: f64) -> Result<Self> {
        check(
            "mean number of runs",
            mean,
            mean > 0.0 && mean <= 1e6,
            "in (0, 1e6]",
        )?;
        Ok(Self::Poisson { mean })
    }

    /// Checks the parameters, which may come from a file.
    ///
    /// # Errors
    /// [`AccountingError::OutOfRange`](crate::accounting::AccountingError::OutOfRange) for a parameter outside its range.
    pub(crate) fn check(&self) -> Result<()> {
        match *self {
            Self::NegativeBinomial { shape, gamma } => {
                check_shape(shape)?;
                check("gamma", gamma, (1e-6..1.0).contains(&gamma), "in [1e-6, 1)")
            }
            Self::Poisson { mean } => Self::poisson(mean).map(|_| ()),
        }
    }

    /// The mean number of runs, `E[K]`.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::NegativeBinomial { shape, gamma } => {
                // shape (1 - gamma) / (gamma (1 - gamma^shape)), with its limit at shape 0.
                let rest = (1.0 - gamma) / gamma;
                let power = -(shape * gamma.ln()).exp_m1();
                if shape.abs() < 1e-12 {
                    rest / -gamma.ln()
                } else {
                    rest * shape / power
                }
            }
            Self::Poisson { mean } => mean,
        }
    }

    /// The probability of `k` runs, with a relative error of about `1e-15 k ln k`. [`Self::draw`] does not use it.
    pub fn probability(&self, k: u64) -> f64 {
        // By logarithms: `exp(-mean)` or `gamma^shape` alone may underflow.
        let n = k as f64;
        let logarithm = match *self {
            Self::NegativeBinomial { .. } if k == 0 => return 0.0,
            // f'(0) = E[K] gamma^(shape + 1) at k = 1, and from there (1 - gamma)^(k - 1) (shape + 1)_(k - 1) / k!.
            Self::NegativeBinomial { shape, gamma } => {
                let first = self.mean().ln() + (shape + 1.0) * gamma.ln();
                let rest = libm::lgamma(n + shape) - libm::lgamma(1.0 + shape);
                first + (n - 1.0) * (-gamma).ln_1p() + rest - libm::lgamma(n + 1.0)
            }
            Self::Poisson { mean } => n * mean.ln() - mean - libm::lgamma(n + 1.0),
        };
        logarithm.exp()
    }

    /// `P(k + 1) / P(k)`.
    pub(crate) fn rise(&self, k: u64) -> f64 {
        let k = k as f64;
        match *self {
            Self::NegativeBinomial { shape, gamma } => (1.0 - gamma) * (k + shape) / (k + 1.0),
            Self::Poisson { mean } => mean / (k + 1.0),
        }
    }

    /// The least number of runs.
    fn least(&self) -> u64 {
        u64::from(matches!(self, Self::NegativeBinomial { .. }))
    }

    /// The most probable number of runs, from which [`Self::rise`] is at most 1.
    fn mode(&self) -> u64 {
        match *self {
            Self::NegativeBinomial { shape, gamma } => {
                let last = ((1.0 - gamma) * shape - 1.0) / gamma;
                if last < 1.0 { 1 } else { last as u64 + 1 }
            }
            Self::Poisson { mean } => mean as u64,
        }
    }

    /// The numbers from the most probable one upwards with their weights, `2^96 P(k) / P(mode)` as whole numbers, until
    /// one is 0.
    pub(crate) fn upwards(&self) -> impl Iterator<Item = (u64, u128)> {
        let next = |&(k, weight): &(u64, f64)| Some((k + 1, weight * self.rise(k)));
        whole(std::iter::successors(Some((self.mode(), 1.0)), next))
    }

    /// The same downwards, from below the most probable one.
    pub(crate) fn downwards(&self) -> impl Iterator<Item = (u64, u128)> {
        let below = |&(k, weight): &(u64, f64)| {
            let k = k.checked_sub(1).filter(|&k| k >= self.least())?;
            Some((k, weight / self.rise(k)))
        };
        let first = below(&(self.mode(), 1.0));
        whole(std::iter::successors(first, below))
    }

    /// Samples a number of runs.
    ///
    /// The generator must be secret, because the bound does not hold if the number is known. The time grows with the width of
    /// the distribution, up to seconds for means of many millions.
    pub fn draw(&self, rng: &mut impl Rng) -> u64 {
        self.at_weight(|total| uniform_below(total, rng))
    }

    /// An upper bound on the total variation distance between this distribution and that of [`Self::draw`].
    ///
    /// It is about `1.4e-14` for a geometric mean of ten runs, and `7e-13` for a Poisson mean of a million runs.
    ///
    /// *Proof.* A weight that is `d` numbers away from the mode is a product of `d` ratios, each with at most five
    /// roundings of `u = 2^-53` (the ratio of two neighbouring probabilities has four and the product one), so that it
    /// is right but for a factor within `1 +- 6 u d`: `d` is below `2^30` (laws that are wider take too long to
    /// sample), and what is left of a sixth covers products of errors. Weights that are off by factors `1 +- t(k)` give
    /// a law within `E[t(K)]` in total variation, here `6 u E|K - mode|`. For the Poisson law that is at most `6 u
    /// (deviation + 1)`, the mode being within 1 of the mean. For the negative binomial one the mode is at most `E[K]`
    /// and at least 1, and so `E|K - mode| <= 2 E[K]`. Weights are cut to multiples of `2^-96` of the largest, which
    /// loses less than `2^31 2^-96` of all, with the tails from where they are 0; that is below `u / 2^12`, for which
    /// `6 u` more is added. They are added and compared as whole numbers, with a uniform one from 128 bits that is
    /// sampled again where it is too large: nothing is rounded there.
    pub fn draw_error(&self) -> f64 {
        let apart = match *self {
            Self::NegativeBinomial { .. } => 2.0 * self.mean(),
            Self::Poisson { mean } => mean.sqrt() + 1.0,
        };
        3.0 * f64::EPSILON * (apart + 1.0)
    }

    /// The smallest number `k` with `P(K <= k) > share`, for `share` in `[0, 1)`.
    pub fn quantile(&self, share: f64) -> u64 {
        self.at_weight(|total| ((share * total as f64) as u128).min(total - 1))
    }

    /// The number that covers the place which `place` chooses below the sum of all weights, in ascending order.
    fn at_weight(&self, place: impl FnOnce(u128) -> u128) -> u64 {
        let below: u128 = self.downwards().map(|(_, weight)| weight).sum();
        let above: u128 = self.upwards().map(|(_, weight)| weight).sum();
        let place = place(below + above);
        if place < below {
            // What is left on the way down is the weight of lesser numbers.
            let mut left = below;
            for (k, weight) in self.downwards() {
                left -= weight;
                if left <= place {
                    return k;
                }
            }
        }
        let mut reached = below;
        for (k, weight) in self.upwards() {
            reached += weight;
            if place < reached {
                return k;
            }
        }
        self.mode()
    }
}

/// Weights as multiples of `2^-96`, while there are any.
fn whole(weights: impl Iterator<Item = (u64, f64)>) -> impl Iterator<Item = (u64, u128)> {
    let whole = weights.map(|(k, weight)| (k, (weight * ONE) as u128));
    whole.take_while(|&(_, weight)| weight > 0)
}

/// A whole number below `bound >= 1`, each with the same probability.
fn uniform_below(bound: u128, rng: &mut impl Rng) -> u128 {
    let mask = u128::MAX.checked_shr((bound - 1).leading_zeros());
    loop {
        let sampled = (u128::from(rng.next_u64()) << 64) | u128::from(rng.next_u64());
        let sampled = sampled & mask.unwrap_or(0);
        if sampled < bound {
            return sampled;
        }
    }
}

fn check_shape(shape: f64) -> Result<()> {
    let ok = shape > -1.0 && shape <= 100.0;
    check("shape", shape, ok, "in (-1, 100]")
}
