//! Private selection: what the best of a random number of runs costs.
//!
//! A mechanism `Q` is run `K` times, `K` sampled from a public law, and the best of its outputs is released, by any fixed
//! order of outputs (Liu and Talwar 2019, arXiv 1811.07971; Papernot and Steinke 2022, arXiv 2110.03620). Neither `K`
//! nor any other output may leave. With `f(x) = E[x^K]`, the probability of an output `y` is
//! `A(y) = f(Q(<= y)) - f(Q(< y)) = Q(y) * integral over u in [0, 1] of f'(q_u)`, where `q_u = Q(< y) + u Q(y)` is the
//! probability under `Q` of a randomised test, and `q'_u` under `Q'` that of the same test.
//!
//! **The bound.** Let `c = sup ln f'(q) / f'(q')` over all tests, that is over all pairs with `1 - q' <= e^x (1 - q) +
//! delta_Q(x)` for every `x`. As `f'` rises, `f'(q) <= f'(1) = E[K]`, and with `f'(q) <= e^c f'(q')`
//!
//! ```text
//! delta_A(x + c) = sum over y of [A(y) - e^(x + c) A'(y)]_+
//!               <= sum over y of integral of f'(q_u) [Q(y) - e^x Q'(y)]_+  <=  E[K] delta_Q(x).
//! ```
//!
//! Where `K` may be 0, the output that says so has the same probability on both sides and adds nothing. The theorems of
//! Papernot and Steinke by Renyi divergences are there too, and the smaller of the two epsilons counts.
//!
//! **What the draw costs.** A computer draws `K` from a law that is within `tv` in total variation of the one above,
//! [`Runs::draw_error`], and so is what is released, with each of two neighbours. For any set of outputs
//! `P~ <= P + tv <= e^epsilon P' + delta + tv <= e^epsilon (P'~ + tv) + delta + tv`: a release that is
//! `(epsilon, delta)` with the law itself is `(epsilon, delta + (1 + e^epsilon) tv)` as it is sampled. The epsilons of a
//! [`Selection`] have that in their delta.

use rand::Rng;
use serde::{Deserialize, Serialize};

use super::error::{AccountingError, Result, check, check_delta};
use super::event::Event;
use super::rdp;
use super::{Accountant, PldAccountant};

/// One, in whole numbers: weights of a draw are multiples of `2^-96`.
const ONE: f64 = (1_u128 << 96) as f64;

/// Points of the profile from which `c` is bounded.
const LINES: u32 = 400;

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
    fn rise(&self, k: u64) -> f64 {
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
    fn upwards(&self) -> impl Iterator<Item = (u64, u128)> {
        let next = |&(k, weight): &(u64, f64)| Some((k + 1, weight * self.rise(k)));
        whole(std::iter::successors(Some((self.mode(), 1.0)), next))
    }

    /// The same downwards, from below the most probable one.
    fn downwards(&self) -> impl Iterator<Item = (u64, u128)> {
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
    fn widest_ratio(&self, lines: &[(f64, f64)]) -> f64 {
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
fn corners(lines: &[(f64, f64)]) -> Vec<f64> {
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

/// The best of a random number of runs, each of which is any of some mechanisms, chosen without the data.
///
/// ```
/// use dp_accountant::accounting::{Accountant, Event, PldAccountant, Runs, Selection};
///
/// // Ten runs in the mean, each at epsilon 1 and delta 1e-5, and the best of them.
/// let run = Event::Gaussian { noise_multiplier: 3.73 };
/// let one = PldAccountant::default().epsilon(&run, 1e-5)?;
/// let selection = Selection::new(Runs::negative_binomial(1.0, 10.0)?, vec![run], 0.0)?;
/// let best = selection.epsilon(1e-5)?;
/// assert!((0.9..1.1).contains(&one) && (1.5..1.7).contains(&best), "{one} {best}");
/// # Ok::<(), dp_accountant::accounting::AccountingError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    runs: Runs,
    mechanisms: Vec<Event>,
    failure_probability: f64,
}

impl Selection {
    /// The best of so many runs of `mechanisms`, the sensitivity of one of which may fail with a probability: that of
    /// all releases of a run.
    ///
    /// # Errors
    /// A parameter out of range, no mechanism, or mechanisms under different neighbours.
    pub fn new(runs: Runs, mechanisms: Vec<Event>, failure_probability: f64) -> Result<Self> {
        runs.check()?;
        let failure = failure_probability;
        check(
            "failure probability",
            failure,
            (0.0..=1.0).contains(&failure),
            "in [0, 1]",
        )?;
        check(
            "number of mechanisms",
            0.0,
            !mechanisms.is_empty(),
            "at least 1",
        )?;
        let all = Event::Composed { events: mechanisms };
        // Refuses what does not hold under one relation.
        all.neighbours()?;
        let Event::Composed { events: mechanisms } = all else {
            return Err(AccountingError::OutOfRange {
                name: "number of mechanisms",
                value: 0.0,
                bound: "at least 1",
            });
        };
        Ok(Self {
            runs,
            mechanisms,
            failure_probability,
        })
    }

    /// The law of the number of runs.
    pub fn runs(&self) -> Runs {
        self.runs
    }

    /// An upper bound on epsilon of the released output at `delta`: the smaller of [`Self::epsilon_by_profile`] and
    /// [`Self::epsilon_by_renyi`].
    ///
    /// # Errors
    /// A delta out of range, or a mechanism that neither of the two covers.
    pub fn epsilon(&self, delta: f64) -> Result<f64> {
        let by_profile = self.epsilon_by_profile(delta);
        let by_renyi = self.epsilon_by_renyi(delta);
        match (by_profile, by_renyi) {
            (Ok(one), Ok(other)) => Ok(one.min(other)),
            (Ok(one), Err(_)) | (Err(_), Ok(one)) => Ok(one),
            (Err(why), Err(_)) => Err(why),
        }
    }

    /// The epsilon at `delta` of the number of runs as it is sampled, where `of_law` gives that of the law itself:
    /// the module's `delta + (1 + e^epsilon) tv`.
    fn as_drawn(&self, delta: f64, of_law: impl Fn(f64) -> Result<f64>) -> Result<f64> {
        check_delta(delta)?;
        let error = self.runs.draw_error();
        // Epsilon depends on what is left of delta: what is taken off is enough once the epsilon that is found says so.
        // A part in 10^7 is enough at once for most, and changes no epsilon that is printed.
        let mut taken = (8.0 * error).max(1e-7 * delta);
        while taken < delta {
            let epsilon = of_law(delta - taken)?;
            let needed = (1.0 + epsilon.exp()) * error;
            if needed <= taken {
                return Ok(epsilon);
            }
            taken = 2.0 * needed;
        }
        Ok(f64::INFINITY)
    }

    /// `epsilon_Q(delta / E[K]) + c`, by the module's bound from the privacy profile of a run, and what the draw costs.
    ///
    /// # Errors
    /// A delta out of range, or a mechanism that [`PldAccountant`] does not cover.
    pub fn epsilon_by_profile(&self, delta: f64) -> Result<f64> {
        self.as_drawn(delta, |delta| self.law_by_profile(delta))
    }

    fn law_by_profile(&self, delta: f64) -> Result<f64> {
        let left = delta / self.runs.mean() - self.failure_probability;
        if left <= 0.0 {
            return Ok(f64::INFINITY);
        }
        let accountant = PldAccountant::default();
        let mut epsilon = 0.0_f64;
        for event in &self.mechanisms {
            epsilon = epsilon.max(accountant.epsilon(event, left)?);
        }
        if epsilon.is_infinite() {
            return Ok(epsilon);
        }
        let points: Vec<f64> = (0..=LINES)
            .map(|k| epsilon.max(1e-3) * 1.2 * (f64::from(k) / f64::from(LINES)).powi(2))
            .collect();
        let mut deltas = vec![0.0_f64; points.len()];
        for event in &self.mechanisms {
            let found = accountant.profile(event, &points)?;
            deltas
                .iter_mut()
                .zip(found)
                .for_each(|(d, found)| *d = d.max(found));
        }
        let failure = self.failure_probability;
        let lines = points
            .into_iter()
            .zip(deltas)
            .map(|(x, d)| (x, (d + failure).min(1.0)));
        Ok(epsilon + self.runs.widest_ratio(&lines.collect::<Vec<_>>()))
    }

    /// By Renyi divergences: theorems 2 and 6 of Papernot and Steinke (2022, arXiv 2110.03620), at the best orders.
    ///
    /// For the negative binomial law with divergences `e(a)` of a run, those of the best are at most
    /// `e(a) + (1 + shape) (1 - 1/b) e(b) + (1 + shape) ln(1/gamma) / b + ln E[K] / (a - 1)` for any `b >= 1`. For the
    /// Poisson law `e(a) + mean delta_Q(ln(1 + 1/(a - 1))) + ln(mean) / (a - 1)`. What the draw costs comes on top.
    ///
    /// # Errors
    /// A delta out of range, a mechanism that [`super::RdpAccountant`] does not cover, or a sensitivity that may fail.
    pub fn epsilon_by_renyi(&self, delta: f64) -> Result<f64> {
        self.as_drawn(delta, |delta| self.law_by_renyi(delta))
    }

    fn law_by_renyi(&self, delta: f64) -> Result<f64> {
        let failure = self.failure_probability;
        check(
            "failure probability",
            failure,
            failure == 0.0,
            "0 for Renyi divergences",
        )?;
        let mut curve: Option<Vec<(f64, f64)>> = None;
        for event in &self.mechanisms {
            let found = rdp::divergences(event)?;
            curve = Some(match curve {
                None => found,
                Some(before) => {
                    let both = before.iter().zip(found);
                    both.map(|(&(order, one), (_, other))| (order, one.max(other)))
                        .collect()
                }
            });
        }
        let curve = curve.unwrap_or_default();
        let (mean, mut best) = (self.runs.mean(), f64::INFINITY);
        let extra: Box<dyn Fn(f64) -> Result<f64>> = match self.runs {
            Runs::NegativeBinomial { shape, gamma } => {
                let at =
                    |&(b, e): &(f64, f64)| (1.0 + shape) * ((1.0 - 1.0 / b) * e - gamma.ln() / b);
                let least = curve.iter().map(at).fold(f64::INFINITY, f64::min);
                Box::new(move |_| Ok(least))
            }
            Runs::Poisson { mean } => Box::new(move |order| {
                let x = (1.0 / (order - 1.0)).ln_1p();
                let mut delta = 0.0_f64;
                for event in &self.mechanisms {
                    delta = delta.max(PldAccountant::default().delta(event, x)?);
                }
                Ok(mean * delta)
            }),
        };
        for &(order, divergence) in &curve {
            // Before what costs a composition.
            let without = rdp::epsilon_at(order, divergence + mean.ln() / (order - 1.0), delta);
            if without < best {
                best = best.min(without + extra(order)?);
            }
        }
        Ok(best.max(0.0))
    }
}

/// Selections, with their numbers.
type Counted = Vec<(Selection, u64)>;

/// The selections in an event with their numbers, and what else it releases.
pub(super) fn apart(event: &Event) -> Result<(Counted, Vec<Event>)> {
    let (mut found, mut rest) = (Vec::new(), Vec::new());
    walk(event, 1, &mut found, &mut rest)?;
    Ok((found, rest))
}

fn walk(event: &Event, count: u64, found: &mut Counted, rest: &mut Vec<Event>) -> Result<()> {
    match event {
        Event::Selected { runs, events } => {
            let selection = Selection::new(*runs, events.clone(), 0.0)?;
            if count > 0 {
                found.push((selection, count));
            }
        }
        Event::Composed { events } => {
            for event in events {
                walk(event, count, found, rest)?;
            }
        }
        Event::SelfComposed {
            event,
            count: inner,
        } => {
            let bound = super::MAX_STEPS;
            let count = count.checked_mul(*inner).filter(|count| *count <= bound);
            let count = count.ok_or(AccountingError::TooManySteps { bound })?;
            walk(event, count, found, rest)?;
        }
        other => rest.push(other.clone().repeated(count)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    /// `f(x) = E[x^K]` from its probabilities.
    fn generating(runs: Runs, x: f64) -> f64 {
        let (mut sum, mut p, mut power) = (0.0, runs.probability(0), 1.0);
        for k in 0..100_000 {
            sum += p * power;
            power *= x;
            p = match (k, runs) {
                (0, Runs::NegativeBinomial { .. }) => runs.probability(1),
                _ => p * runs.rise(k),
            };
            if p < 1e-18 && k > 10 {
                break;
            }
        }
        sum
    }

    /// `f'(x)` of the generating function `f(x) = E[x^K]`.
    fn slope(runs: Runs, x: f64) -> f64 {
        match runs {
            Runs::NegativeBinomial { shape, gamma } => {
                runs.mean() * (gamma / (1.0 - (1.0 - gamma) * x)).powf(shape + 1.0)
            }
            Runs::Poisson { mean } => mean * (mean * (x - 1.0)).exp(),
        }
    }

    fn law() -> impl Strategy<Value = Runs> {
        prop_oneof![
            (-0.9..4.0_f64, 1.05..40.0_f64).prop_filter_map(
                "a mean that the law has",
                |(shape, mean)| {
                    let runs = Runs::negative_binomial(shape, mean).ok()?;
                    // Others have tails that take long to add up.
                    let short =
                        matches!(runs, Runs::NegativeBinomial { gamma, .. } if gamma > 0.01);
                    short.then_some(runs)
                }
            ),
            (0.1..30.0_f64).prop_map(|mean| Runs::poisson(mean).unwrap()),
        ]
    }

    fn distribution(points: usize) -> impl Strategy<Value = Vec<f64>> {
        proptest::collection::vec(0.001..1.0_f64, points).prop_map(|weights| {
            let sum: f64 = weights.iter().sum();
            weights.into_iter().map(|w| w / sum).collect()
        })
    }

    /// `H_{e^x}(P || Q)` of two distributions on a few points.
    fn hockey_stick(p: &[f64], q: &[f64], x: f64) -> f64 {
        let over = |(p, q): (&f64, &f64)| (p - x.exp() * q).max(0.0);
        p.iter().zip(q).map(over).sum()
    }

    /// The best of a random number of draws, the last point being the best.
    fn best(runs: Runs, q: &[f64]) -> Vec<f64> {
        let mut below = 0.0;
        let mut found = vec![generating(runs, 0.0)];
        for p in q {
            let next = (below + p).min(1.0);
            found.push(generating(runs, next) - generating(runs, below));
            below = next;
        }
        found
    }

    #[test]
    fn a_line_that_is_nowhere_least_changes_no_corner() {
        let lines = [(0.0, 0.3), (1.0, 0.05), (2.0, 0.01)];
        let with = [&lines[..], &[(0.5, 0.9), (1.0, 0.2)]].concat();
        assert_eq!(corners(&lines), corners(&with));
        assert_eq!(corners(&[]), [0.0, 1.0]);
    }

    #[test]
    fn the_profile_s_bound_is_below_the_published_one_and_both_above_one_run() {
        for (shape, mean) in [
            (1.0, 10.0),
            (0.0, 10.0),
            (-0.5, 20.0),
            (1.0, 50.0),
            (0.0, 3.0),
        ] {
            for z in [0.8, 3.73, 20.0] {
                let run = Event::Gaussian {
                    noise_multiplier: z,
                };
                let runs = Runs::negative_binomial(shape, mean).unwrap();
                let selection = Selection::new(runs, vec![run.clone()], 0.0).unwrap();
                let ours = selection.epsilon_by_profile(1e-5).unwrap();
                let theirs = selection.epsilon_by_renyi(1e-5).unwrap();
                let one = PldAccountant::default().epsilon(&run, 1e-5).unwrap();
                assert!(
                    one < ours && ours < theirs,
                    "{shape} {mean} {z}: {one} {ours} {theirs}"
                );
            }
        }
    }

    #[test]
    fn pure_privacy_is_multiplied_as_published() {
        // Papernot and Steinke 2022, corollary 3: (2 + shape) epsilon.
        for shape in [-0.5, 0.0, 1.0, 2.0] {
            let runs = Runs::negative_binomial(shape, 5.0).unwrap();
            let run = Event::Laplace {
                noise_multiplier: 2.0,
            };
            let found = Selection::new(runs, vec![run], 0.0)
                .unwrap()
                .epsilon(1e-9)
                .unwrap();
            assert!(found <= (2.0 + shape) * 0.5 + 1e-6, "{shape}: {found}");
        }
        // What a test can tell of pure privacy alone: the least gamma has it all.
        let widest = |gamma| {
            let runs = Runs::NegativeBinomial { shape: 1.0, gamma };
            runs.widest_ratio(&[(0.5, 0.0)])
        };
        assert!(widest(0.01) > 0.95 && widest(0.01) < 1.0 && widest(0.5) < 0.5);
    }

    #[test]
    fn published_bounds_by_hand() {
        // e(a) = a / (2 z^2) with z = 4, geometric with gamma 1/10: the sum of theorem 2 at one pair of orders is never
        // below the least one.
        let runs = Runs::NegativeBinomial {
            shape: 1.0,
            gamma: 0.1,
        };
        let run = Event::Gaussian {
            noise_multiplier: 4.0,
        };
        let selection = Selection::new(runs, vec![run], 0.0).unwrap();
        let found = selection.epsilon_by_renyi(1e-5).unwrap();
        let at = |a: f64, b: f64| {
            let e = |a: f64| a / 32.0;
            let best = e(a)
                + 2.0 * (1.0 - 1.0 / b) * e(b)
                + 2.0 * 10_f64.ln() / b
                + 10_f64.ln() / (a - 1.0);
            rdp::epsilon_at(a, best, 1e-5)
        };
        let least = (11..60).flat_map(|a| (2..40).map(move |b| at(f64::from(a), f64::from(b))));
        let least = least.fold(f64::INFINITY, f64::min);
        assert!(
            found <= least + 1e-9 && found > least - 0.01,
            "{found} {least}"
        );
    }

    #[test]
    fn gaussian_scores_agree_with_integration() {
        // The output is the score itself, N(0, z^2) or N(1, z^2), and the largest is released: its distribution function
        // is f(Phi), and its delta an integral, which gives the true epsilon. The bound is loose by design: it adds the
        // largest ratio over all tests to the epsilon at delta / E[K], where one output cannot have both. It is
        // 1.60, 1.28 and 1.82 times the truth here, and a part in a hundred more is allowed.
        for (runs, z, loose) in [
            (Runs::negative_binomial(1.0, 10.0).unwrap(), 4.0, 1.61),
            (Runs::negative_binomial(0.0, 5.0).unwrap(), 1.0, 1.29),
            (Runs::poisson(8.0).unwrap(), 3.0, 1.83),
        ] {
            let phi = |x: f64| 0.5 * libm::erfc(-x / 2_f64.sqrt());
            let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
            let law = |x: f64, shift: f64| {
                slope(runs, phi((x - shift) / z)) * density((x - shift) / z) / z
            };
            let run = Event::Gaussian {
                noise_multiplier: z,
            };
            let selection = Selection::new(runs, vec![run], 0.0).unwrap();
            let delta = 1e-3;
            let epsilon = selection.epsilon(delta).unwrap();
            let step = 1e-3 * z;
            let laws: Vec<[f64; 2]> = (-12_000..12_000)
                .map(|i| f64::from(i) * step)
                .map(|x| [law(x, 0.0), law(x, 1.0)])
                .collect();
            let true_delta = |epsilon: f64| {
                let over = |p: f64, q: f64| (p - epsilon.exp() * q).max(0.0) * step;
                let one: f64 = laws.iter().map(|[p, q]| over(*p, *q)).sum();
                let other: f64 = laws.iter().map(|[p, q]| over(*q, *p)).sum();
                one.max(other)
            };
            let (mut low, mut high) = (0.0, epsilon + 1.0);
            for _ in 0..50 {
                let middle = 0.5 * (low + high);
                if true_delta(middle) > delta {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            let truth = high;
            assert!(truth > 0.5, "{runs:?}: {truth}");
            assert!(
                truth <= epsilon && epsilon <= loose * truth,
                "{runs:?}: {truth} {epsilon}"
            );
        }
    }

    #[test]
    fn numbers_of_runs_follow_their_law() {
        // 20 000 draws; each of the first counts is within 5 deviations: by Hoeffding and a union bound, a false alarm
        // has a probability below 1e-4 over all seeds, and the seed is fixed.
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        for runs in [
            Runs::negative_binomial(1.0, 4.0).unwrap(),
            Runs::negative_binomial(0.0, 3.0).unwrap(),
            Runs::poisson(2.5).unwrap(),
        ] {
            let n = 20_000;
            let draws: Vec<u64> = (0..n).map(|_| runs.draw(&mut rng)).collect();
            for k in 0..12 {
                let share = draws.iter().filter(|d| **d == k).count() as f64 / f64::from(n);
                let p = runs.probability(k);
                let deviation = (p * (1.0 - p) / f64::from(n)).sqrt();
                assert!(
                    (share - p).abs() <= 5.0 * deviation + 1e-9,
                    "{runs:?} {k}: {share} {p}"
                );
            }
        }
    }

    /// `exp(-mean)` is 0 in `f64` from a mean of about 746 on, and `gamma^shape` in the last law.
    #[test]
    fn large_numbers_of_runs_follow_their_law() {
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        let n = 20_000_u32;
        for (runs, variance) in [745.0, 746.0, 1000.0, 5000.0]
            .map(|mean| (Runs::poisson(mean).unwrap(), mean))
            .into_iter()
            // Without its truncation, which is of no account here: shape (1 - gamma) / gamma^2.
            .chain([1e-4].map(|gamma| {
                let runs = Runs::NegativeBinomial {
                    shape: 100.0,
                    gamma,
                };
                (runs, 100.0 * (1.0 - gamma) / (gamma * gamma))
            }))
        {
            let n = if variance > 1e6 { 200 } else { n };
            let draws: Vec<u64> = (0..n).map(|_| runs.draw(&mut rng)).collect();
            let from_mean = draws.iter().map(|&k| k as f64 - runs.mean());
            let mean = from_mean.clone().sum::<f64>() / f64::from(n);
            let square = from_mean.map(|x| x * x).sum::<f64>() / f64::from(n);
            // 6 deviations of sums of so many: a false alarm of 2e-9 each by the normal law, the fourth moment being
            // within 4 % of 3 variance^2.
            assert!(
                mean.abs() < 6.0 * (variance / f64::from(n)).sqrt(),
                "{runs:?}: mean {mean} off"
            );
            assert!(
                (square / variance - 1.0).abs() < 6.0 * (2.1 / f64::from(n)).sqrt(),
                "{runs:?}: variance {square}, not {variance}"
            );
            // Of each number within 2 deviations, how often it came: binomial, and so within this by Bernstein's
            // inequality but for 2 exp(-24) < 1e-10 each.
            let reach = (2.0 * variance.sqrt()) as u64;
            let middle = runs.mean() as u64;
            let mut counts = std::collections::HashMap::new();
            draws
                .iter()
                .for_each(|&k| *counts.entry(k).or_insert(0_u32) += 1);
            for k in middle - reach..=middle + reach {
                let count = counts.get(&k).copied().unwrap_or(0);
                let expected = f64::from(n) * runs.probability(k);
                let (x, count) = (24.0, f64::from(count));
                let allowed = x / 3.0 + (x * x / 9.0 + 2.0 * x * expected).sqrt();
                assert!(
                    (count - expected).abs() <= allowed,
                    "{runs:?} {k}: {count}, not {expected}"
                );
            }
            assert!(counts.len() > 100, "{runs:?}: {counts:?}");
            // The quantiles are those of what is sampled: Dvoretzky, Kiefer and Wolfowitz, 2 exp(-2 n 0.03^2) < 1e-15.
            if n >= 20_000 {
                let median = runs.quantile(0.5);
                let share = draws.iter().filter(|&&k| k <= median).count() as f64 / f64::from(n);
                assert!((0.47..0.56).contains(&share), "{runs:?}: {share}");
            }
        }
    }

    /// All weights of a draw against probabilities from logarithms, which are coarser than what is proved of the draw.
    #[test]
    fn weights_are_probabilities() {
        for runs in [
            Runs::poisson(0.3).unwrap(),
            Runs::poisson(8.0).unwrap(),
            Runs::poisson(1000.0).unwrap(),
            Runs::poisson(1e6).unwrap(),
            Runs::negative_binomial(-0.9, 3.0).unwrap(),
            Runs::negative_binomial(0.0, 5.0).unwrap(),
            Runs::negative_binomial(1.0, 1e4).unwrap(),
            Runs::negative_binomial(100.0, 1e5).unwrap(),
        ] {
            let all = || runs.downwards().chain(runs.upwards());
            let total: u128 = all().map(|(_, weight)| weight).sum();
            let (mut apart, mut lost) = (0.0, 1e-14);
            for (k, weight) in all() {
                let p = runs.probability(k);
                apart += 0.5 * (weight as f64 / total as f64 - p).abs();
                // What logarithms of this size lose, on the average.
                lost += p * 1e-15 * k as f64 * (k.max(1) as f64).ln();
            }
            assert!(apart < lost + runs.draw_error(), "{runs:?}: {apart} {lost}");
            assert!(runs.draw_error() < 1e-9, "{runs:?}: {}", runs.draw_error());
        }
    }

    /// A release within `tv` of an `(epsilon, delta)` one is `(epsilon, delta + (1 + e^epsilon) tv)`.
    #[test]
    fn delta_pays_for_the_draw() {
        let run = Event::Gaussian {
            noise_multiplier: 1.0,
        };
        for runs in [
            Runs::negative_binomial(1.0, 10.0).unwrap(),
            Runs::negative_binomial(1.0, 1e5).unwrap(),
            Runs::poisson(8.0).unwrap(),
        ] {
            let selection = Selection::new(runs, vec![run.clone()], 0.0).unwrap();
            for delta in [1e-3, 1e-6] {
                let epsilon = selection.epsilon_by_profile(delta).unwrap();
                let needed = (1.0 + epsilon.exp()) * runs.draw_error();
                if needed >= delta {
                    assert!(epsilon.is_infinite(), "{runs:?} {delta}: {epsilon}");
                    continue;
                }
                let of_law = selection.law_by_profile(delta - needed).unwrap();
                assert!(epsilon >= of_law, "{runs:?} {delta}: {epsilon} {of_law}");
                assert!(
                    epsilon < of_law * 1.01,
                    "{runs:?} {delta}: {epsilon} {of_law}"
                );
            }
            assert!(selection.epsilon(runs.draw_error()).unwrap().is_infinite());
        }
    }

    #[test]
    fn several_mechanisms_cost_as_the_worst_and_failures_add() {
        let runs = Runs::negative_binomial(1.0, 10.0).unwrap();
        let [weak, strong] =
            [2.0, 5.0].map(|noise_multiplier| Event::Gaussian { noise_multiplier });
        let epsilon = |events: Vec<Event>, failure| {
            Selection::new(runs, events, failure)
                .unwrap()
                .epsilon(1e-5)
                .unwrap()
        };
        let alone = epsilon(vec![weak.clone()], 0.0);
        let both = epsilon(vec![strong, weak.clone()], 0.0);
        assert!(
            (alone - both).abs() < 1e-3 && both >= alone - 1e-9,
            "{alone} {both}"
        );
        assert!(epsilon(vec![weak.clone()], 5e-7) > alone);
        assert!(epsilon(vec![weak], 1e-6).is_infinite());
        assert!(epsilon(vec![Event::NonPrivate], 0.0).is_infinite());
    }

    #[test]
    fn an_event_of_a_selection_composes_by_adding() {
        let run = Event::Gaussian {
            noise_multiplier: 4.0,
        };
        let runs = Runs::negative_binomial(1.0, 10.0).unwrap();
        let selected = Event::Selected {
            runs,
            events: vec![run.clone()],
        };
        let accountant = PldAccountant::default();
        let of = |delta| {
            Selection::new(runs, vec![run.clone()], 0.0)
                .unwrap()
                .epsilon(delta)
                .unwrap()
        };
        // As a ledger has it, with releases that cost nothing.
        let nothing = Event::Composed { events: vec![] }.repeated(7);
        let alone = Event::Composed {
            events: vec![selected.clone().repeated(1), nothing],
        };
        assert_eq!(accountant.epsilon(&alone, 1e-5).unwrap(), of(1e-5));
        let with = Event::Composed {
            events: vec![selected.clone(), run.clone()],
        };
        let sum = of(5e-6) + accountant.epsilon(&run, 5e-6).unwrap();
        assert!((accountant.epsilon(&with, 1e-5).unwrap() - sum).abs() < 1e-12);
        let twice = selected.clone().repeated(2);
        assert!((accountant.epsilon(&twice, 1e-5).unwrap() - 2.0 * of(5e-6)).abs() < 1e-12);
        // No pair, no profile, no sample, and no other accountant.
        assert!(accountant.delta(&selected, 1.0).is_err());
        assert!(
            crate::accounting::RdpAccountant
                .epsilon(&selected, 1e-5)
                .is_err()
        );
        let sampled = selected
            .clone()
            .sampled(super::super::Sampler::Poisson { rate: 0.1 });
        assert!(accountant.epsilon(&sampled, 1e-5).is_err());
        let text = serde_json::to_string(&selected).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), selected);
    }

    #[test]
    fn what_is_refused() {
        assert!(Runs::negative_binomial(1.0, 1.0).is_err());
        assert!(Runs::negative_binomial(-1.0, 5.0).is_err());
        assert!(Runs::negative_binomial(f64::NAN, 5.0).is_err());
        assert!(Runs::poisson(0.0).is_err());
        let runs = Runs::poisson(3.0).unwrap();
        assert!(Selection::new(runs, vec![], 0.0).is_err());
        assert!(Selection::new(runs, vec![Event::NonPrivate], -0.1).is_err());
        let read = Runs::NegativeBinomial {
            shape: 1.0,
            gamma: 0.0,
        };
        assert!(Selection::new(read, vec![Event::NonPrivate], 0.0).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn a_law_is_a_law(runs in law(), x in 0.0..1.0_f64) {
            prop_assert!((generating(runs, 1.0) - 1.0).abs() < 1e-9);
            let step = 1e-6;
            let slope = (generating(runs, x + step * (1.0 - x)) - generating(runs, x)) / (step * (1.0 - x));
            let formula = self::slope(runs, x);
            prop_assert!((slope - formula).abs() < 1e-3 * runs.mean(), "{} {}", slope, formula);
            let mean: f64 = (1..5000).map(|k| k as f64 * runs.probability(k)).sum();
            prop_assert!((mean - runs.mean()).abs() < 1e-4 * runs.mean(), "{} {}", mean, runs.mean());
        }

        #[test]
        fn the_bound_is_never_below_the_truth(
            runs in law(),
            (p, q) in (2..7_usize).prop_flat_map(|n| (distribution(n), distribution(n))),
            x in 0.0..2.0_f64,
        ) {
            let widest = (0..p.len()).map(|i| (p[i] / q[i]).ln().abs()).fold(0.0, f64::max);
            let lines: Vec<(f64, f64)> = (0..=40)
                .map(|k| widest * f64::from(k) / 40.0)
                .map(|x| (x, hockey_stick(&p, &q, x).max(hockey_stick(&q, &p, x))))
                .collect();
            let c = runs.widest_ratio(&lines);
            let (of_p, of_q) = (best(runs, &p), best(runs, &q));
            for (one, other, first, second) in [(&of_p, &of_q, &p, &q), (&of_q, &of_p, &q, &p)] {
                let truth = hockey_stick(one, other, x + c);
                let bound = runs.mean() * hockey_stick(first, second, x);
                prop_assert!(truth <= bound + 1e-9, "{} {}", truth, bound);
            }
        }

        #[test]
        fn more_runs_cost_more(shape in -0.5..2.0_f64, mean in 1.2..20.0_f64, x in 0.05..1.0_f64) {
            let ratio = |mean| {
                let runs = Runs::negative_binomial(shape, mean).ok()?;
                Some(runs.widest_ratio(&[(0.0, x / 3.0), (x, 1e-3)]))
            };
            if let (Some(few), Some(many)) = (ratio(mean), ratio(mean * 1.5)) {
                prop_assert!(few <= many + 1e-9);
            }
        }
    }
}
