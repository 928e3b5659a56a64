//! The number of runs of a private selection: its law, how it is sampled, and what the computer's law costs.
//!
//! **What the draw costs.** A computer draws `K` from a law that is within `tv` in total variation of the one above,
//! [`Runs::draw_error`], and so is what is released, with each of two neighbours. For any set of outputs
//! `P~ <= P + tv <= e^epsilon P' + delta + tv <= e^epsilon (P'~ + tv) + delta + tv`: a release that is
//! `(epsilon, delta)` with the law itself is `(epsilon, delta + (1 + e^epsilon) tv)` as it is sampled. The epsilons of a
//! [`Selection`](super::Selection) have that in their delta.

use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::accounting::error::{Result, check};

/// One, in whole numbers: weights of a draw are multiples of `2^-96`.
const ONE: f64 = (1_u128 << 96) as f64;

/// The law of the number of runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "law", rename_all = "snake_case")]
pub enum Runs {
    /// The truncated negative binomial law, at least one run: `P(k) ~ (1 - gamma)^k (shape)_k / k!`. Shape 1 is the
    /// geometric law, shape 0 the logarithmic one. The lower the shape, the cheaper, and the wider the law.
    NegativeBinomial {
        /// Eta of Papernot and Steinke, above -1.
        shape: f64,
        /// In (0, 1): the smaller, the more runs.
        gamma: f64,
    },
    /// The Poisson law: there may be no run, and then nothing is released.
    Poisson {
        /// The mean, positive.
        mean: f64,
    },
}

impl Runs {
    /// The truncated negative binomial law of a mean.
    ///
    /// # Errors
    /// A shape that is not above -1, or a mean that no gamma in `[1e-6, 1)` gives: it is above 1.
    pub fn negative_binomial(shape: f64, mean: f64) -> Result<Self> {
        check_shape(shape)?;
        let of = |gamma: f64| Self::NegativeBinomial { shape, gamma };
        let most = of(1e-6).mean();
        let ok = mean > 1.0 && mean <= most;
        check(
            "mean number of runs",
            mean,
            ok,
            "above 1, and one that the law has",
        )?;
        // In the logarithm of gamma, in which the mean falls.
        let (mut low, mut high) = (1e-6_f64.ln(), 0.0_f64);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if middle < 0.0 && of(middle.exp()).mean() > mean {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(of(low.exp()))
    }

    /// The Poisson law of a mean.
    ///
    /// # Errors
    /// A mean that is not in (0, 1e6].
    pub fn poisson(mean: f64) -> Result<Self> {
        check(
            "mean number of runs",
            mean,
            mean > 0.0 && mean <= 1e6,
            "in (0, 1e6]",
        )?;
        Ok(Self::Poisson { mean })
    }

    /// # Errors
    /// A parameter outside its range, as one that was read may be.
    pub fn check(&self) -> Result<()> {
        match *self {
            Self::NegativeBinomial { shape, gamma } => {
                check_shape(shape)?;
                check("gamma", gamma, (1e-6..1.0).contains(&gamma), "in [1e-6, 1)")
            }
            Self::Poisson { mean } => Self::poisson(mean).map(|_| ()),
        }
    }

    /// The mean number of runs.
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

    /// The probability of `k` runs, from logarithms: in products and powers it is lost where `exp(-mean)` or
    /// `gamma^shape` is below what `f64` has. It is right to about `1e-15 k ln k` of itself, and nothing is sampled by it.
    pub fn probability(&self, k: u64) -> f64 {
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
    pub(super) fn rise(&self, k: u64) -> f64 {
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
    pub(super) fn upwards(&self) -> impl Iterator<Item = (u64, u128)> {
        let next = |&(k, weight): &(u64, f64)| Some((k + 1, weight * self.rise(k)));
        whole(std::iter::successors(Some((self.mode(), 1.0)), next))
    }

    /// The same downwards, from below the most probable one.
    pub(super) fn downwards(&self) -> impl Iterator<Item = (u64, u128)> {
        let below = |&(k, weight): &(u64, f64)| {
            let k = k.checked_sub(1).filter(|&k| k >= self.least())?;
            Some((k, weight / self.rise(k)))
        };
        let first = below(&(self.mode(), 1.0));
        whole(std::iter::successors(first, below))
    }

    /// A number of runs. The generator must be secret: who knows the number knows more than the bound allows. It takes
    /// as long as the law is wide, up to seconds for means of many millions.
    pub fn draw(&self, rng: &mut impl Rng) -> u64 {
        self.behind(|total| uniform_below(total, rng))
    }

    /// An upper bound on the total variation distance between this law and that of [`Self::draw`]: about `1.4e-14` for
    /// ten runs in the mean of the geometric law, `7e-13` for a million of the Poisson law.
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

    /// The smallest number that `share` in `[0, 1)` of all draws do not exceed.
    pub fn quantile(&self, share: f64) -> u64 {
        self.behind(|total| ((share * total as f64) as u128).min(total - 1))
    }

    /// The number behind so much weight in ascending order, as `place` chooses below the sum of all weights.
    fn behind(&self, place: impl FnOnce(u128) -> u128) -> u64 {
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

    /// An upper bound on `ln f'(1 - a) / f'(1 - b)` over all `a`, `b` in `[0, 1]` with `b <= e^x a + delta` for each of
    /// `lines` `(x, delta)`.
    pub(super) fn widest_ratio(&self, lines: &[(f64, f64)]) -> f64 {
        let bound = |a: f64| {
            let line = |&(x, delta): &(f64, f64)| x.exp() * a + delta;
            lines.iter().map(line).fold(1.0, f64::min).max(a)
        };
        let ratio = |(a, b): (f64, f64)| match *self {
            Self::NegativeBinomial { shape, gamma } => {
                let at = |x: f64| gamma + (1.0 - gamma) * x;
                (shape + 1.0) * (at(b) / at(a)).ln()
            }
            Self::Poisson { mean } => mean * (b - a),
        };
        // The bound is a concave chain of lines, and on each of them the ratio is monotone: its ends are enough.
        let corners = corners(lines).into_iter().map(|a| ratio((a, bound(a))));
        corners.fold(0.0, f64::max) * (1.0 + 1e-12) + 1e-12
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

/// Where the least of `lines`, and of 1, changes from one to another on `[0, 1]`, and the ends.
pub(super) fn corners(lines: &[(f64, f64)]) -> Vec<f64> {
    // From the steepest, which is least at 0, to the flat one: those that are least somewhere.
    let mut sorted: Vec<(f64, f64)> = lines.iter().map(|&(x, delta)| (x.exp(), delta)).collect();
    sorted.push((0.0, 1.0));
    sorted.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.total_cmp(&other.1)));
    let meet = |one: (f64, f64), other: (f64, f64)| (other.1 - one.1) / (one.0 - other.0);
    let mut least: Vec<(f64, f64)> = Vec::new();
    for line in sorted {
        if !line.0.is_finite() {
            continue;
        }
        if least.last().is_some_and(|last| last.0 == line.0) {
            continue;
        }
        while let Some(&last) = least.last() {
            let hidden = match least.len() {
                1 => meet(last, line) <= 0.0,
                n => meet(last, line) <= meet(least[n - 2], last),
            };
            if !hidden {
                break;
            }
            least.pop();
        }
        least.push(line);
    }
    let between = least.windows(2).map(|pair| meet(pair[0], pair[1]));
    let all = [0.0, 1.0].into_iter().chain(between);
    all.filter(|a| (0.0..=1.0).contains(a)).collect()
}
