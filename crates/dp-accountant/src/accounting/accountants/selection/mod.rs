//! Private selection: the cost of releasing the best of a random number of runs.
//!
//! A mechanism `Q` is run `K` times, for `K` of a public distribution, and the best of its outputs in a fixed order is
//! released (Liu and Talwar 2019, arXiv 1811.07971; Papernot and Steinke 2022, arXiv 2110.03620). Neither `K` nor another
//! output is released. With `f(x) = E[x^K]`, the probability of an output `y` is
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
//! If `K` may be 0, the output that says so has the same probability on both sides and adds nothing. Papernot and Steinke
//! have theorems by Renyi divergences, and the smaller of the two epsilons counts.
//!
//! **The cost of sampling `K`.** The sampled `K` is within `tv` in total variation of its distribution
//! ([`RepetitionDistribution::draw_error`]), and so is the release, for each of two neighbours. For any set of outputs
//! `P~ <= P + tv <= e^epsilon P' + delta + tv <= e^epsilon (P'~ + tv) + delta + tv`: if the release is `(epsilon, delta)` with
//! the exact distribution, it is `(epsilon, delta + (1 + e^epsilon) tv)` with the sampled `K`.

#[cfg(test)]
mod tests;

use super::{Accountant, rdp};
use crate::accounting::error::{Result, check, check_delta};
use crate::accounting::event::{Event, RepetitionDistribution, joint_neighbours};
use crate::accounting::steps::step_count;

/// Points of the profile from which `c` is bounded.
const LINES: u32 = 400;

/// A release of the best of a random number of runs, each of one of some mechanisms, chosen without the data.
///
/// ```
/// use dp_accountant::accounting::{
///     Accountant, Event, PldAccountant, PrivateSelection, RepetitionDistribution,
/// };
///
/// // The best of ten runs in the mean, each at epsilon 1 and delta 1e-5.
/// let run = Event::Gaussian { noise_multiplier: 3.73 };
/// let one = PldAccountant::default().epsilon(&run, 1e-5)?;
/// let runs = RepetitionDistribution::negative_binomial(1.0, 10.0)?;
/// let selection = PrivateSelection::new(runs, vec![run], 0.0)?;
/// let best = selection.epsilon(1e-5)?;
/// assert!((0.9..1.1).contains(&one) && (1.5..1.7).contains(&best), "{one} {best}");
/// # Ok::<(), dp_accountant::accounting::AccountingError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PrivateSelection {
    runs: RepetitionDistribution,
    mechanisms: Vec<Event>,
    failure_probability: f64,
}

impl PrivateSelection {
    /// The best of runs of `mechanisms`.
    ///
    /// - `failure_probability`: of all releases of one run, that the sensitivity of one of them does not hold.
    ///
    /// # Errors
    /// A parameter out of range, no mechanism, or mechanisms under different neighbours.
    pub fn new(
        runs: RepetitionDistribution,
        mechanisms: Vec<Event>,
        failure_probability: f64,
    ) -> Result<Self> {
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
        // Refuses mechanisms that do not hold under one relation.
        joint_neighbours(&mechanisms)?;
        Ok(Self {
            runs,
            mechanisms,
            failure_probability,
        })
    }

    /// The distribution of the number of runs.
    pub fn runs(&self) -> RepetitionDistribution {
        self.runs
    }

    /// An upper bound on epsilon at `delta`, with `pairs` for the profiles of a run: the smaller of that by profiles and that by
    /// Renyi divergences.
    pub(super) fn epsilon_by(&self, pairs: &dyn Accountant, delta: f64) -> Result<f64> {
        let by_profile = self.epsilon_by_profile(pairs, delta);
        let by_renyi = self.epsilon_by_renyi(pairs, delta);
        match (by_profile, by_renyi) {
            (Ok(one), Ok(other)) => Ok(one.min(other)),
            (Ok(one), Err(_)) | (Err(_), Ok(one)) => Ok(one),
            (Err(why), Err(_)) => Err(why),
        }
    }

    /// The epsilon at `delta` with the sampled number of runs, if `exact` gives that with its exact distribution.
    fn as_sampled(&self, delta: f64, exact: impl Fn(f64) -> Result<f64>) -> Result<f64> {
        check_delta(delta)?;
        let error = self.runs.draw_error();
        // Epsilon depends on the rest of delta: the part taken off is enough if the epsilon found says so. A part in 10^7
        // is enough at once for most, and changes no epsilon that is printed.
        let mut taken = (8.0 * error).max(1e-7 * delta);
        while taken < delta {
            let epsilon = exact(delta - taken)?;
            let needed = (1.0 + epsilon.exp()) * error;
            if needed <= taken {
                return Ok(epsilon);
            }
            taken = 2.0 * needed;
        }
        Ok(f64::INFINITY)
    }

    /// The largest value over the mechanisms, at least 0.
    fn worst(&self, value: impl Fn(&Event) -> Result<f64>) -> Result<f64> {
        let mut mechanisms = self.mechanisms.iter();
        mechanisms.try_fold(0.0_f64, |worst, event| Ok(worst.max(value(event)?)))
    }

    /// `epsilon_Q(delta / E[K]) + c`, by the module's bound, at the cost of sampling.
    fn epsilon_by_profile(&self, pairs: &dyn Accountant, delta: f64) -> Result<f64> {
        self.as_sampled(delta, |delta| self.exact_by_profile(pairs, delta))
    }

    fn exact_by_profile(&self, pairs: &dyn Accountant, delta: f64) -> Result<f64> {
        let left = delta / self.runs.mean() - self.failure_probability;
        if left <= 0.0 {
            return Ok(f64::INFINITY);
        }
        let epsilon = self.worst(|event| pairs.epsilon(event, left))?;
        if epsilon.is_infinite() {
            return Ok(epsilon);
        }
        let points: Vec<f64> = (0..=LINES)
            .map(|k| epsilon.max(1e-3) * 1.2 * (f64::from(k) / f64::from(LINES)).powi(2))
            .collect();
        let mut deltas = vec![0.0_f64; points.len()];
        for event in &self.mechanisms {
            for (delta, found) in deltas.iter_mut().zip(pairs.profile(event, &points)?) {
                *delta = delta.max(found);
            }
        }
        let failure = self.failure_probability;
        let lines = points
            .into_iter()
            .zip(deltas)
            .map(|(x, d)| (x, (d + failure).min(1.0)));
        Ok(epsilon + widest_ratio(self.runs, &lines.collect::<Vec<_>>()))
    }

    /// Theorems 2 and 6 of Papernot and Steinke (2022, arXiv 2110.03620) by Renyi divergences, at the best orders and at the
    /// cost of sampling.
    ///
    /// With divergences `e(a)` of a run, those of the release are, for the negative binomial distribution, at most
    /// `e(a) + (1 + shape) (1 - 1/b) e(b) + (1 + shape) ln(1/gamma) / b + ln E[K] / (a - 1)` for any `b >= 1`, and for the
    /// Poisson distribution `e(a) + mean delta_Q(ln(1 + 1/(a - 1))) + ln(mean) / (a - 1)`.
    ///
    /// # Errors
    /// A mechanism that [`super::RdpAccountant`] does not cover, or a sensitivity that may fail.
    fn epsilon_by_renyi(&self, pairs: &dyn Accountant, delta: f64) -> Result<f64> {
        self.as_sampled(delta, |delta| self.exact_by_renyi(pairs, delta))
    }

    fn exact_by_renyi(&self, pairs: &dyn Accountant, delta: f64) -> Result<f64> {
        let failure = self.failure_probability;
        let bound = "0 for Renyi divergences";
        check("failure probability", failure, failure == 0.0, bound)?;
        let curves = self.mechanisms.iter().map(rdp::divergences);
        let curve = rdp::worst_of(curves)?;
        let (mean, mut best) = (self.runs.mean(), f64::INFINITY);
        for &(order, divergence) in &curve {
            let without = rdp::epsilon_at(order, divergence + mean.ln() / (order - 1.0), delta);
            if without >= best {
                continue;
            }
            let extra = match self.runs {
                RepetitionDistribution::NegativeBinomial { shape, gamma } => {
                    let at = |(b, e): &(f64, f64)| (1.0 - 1.0 / b) * e - gamma.ln() / b;
                    let at = curve.iter().map(|point| (1.0 + shape) * at(point));
                    at.fold(f64::INFINITY, f64::min)
                }
                // This costs a composition.
                RepetitionDistribution::Poisson { mean } => {
                    let x = (1.0 / (order - 1.0)).ln_1p();
                    mean * self.worst(|event| pairs.delta(event, x))?
                }
            };
            best = best.min(without + extra);
        }
        Ok(best.max(0.0))
    }
}

/// Selections with their counts.
type Counted = Vec<(PrivateSelection, u64)>;

/// The selections in an event with their counts, and the other events in it.
pub(super) fn apart(event: &Event) -> Result<(Counted, Vec<Event>)> {
    let (mut found, mut rest) = (Vec::new(), Vec::new());
    walk(event, 1, &mut found, &mut rest)?;
    Ok((found, rest))
}

fn walk(event: &Event, count: u64, found: &mut Counted, rest: &mut Vec<Event>) -> Result<()> {
    match event {
        Event::Selected { runs, events } => {
            let selection = PrivateSelection::new(*runs, events.clone(), 0.0)?;
            if count > 0 {
                found.push((selection, count));
            }
        }
        Event::Composed { events } => {
            let mut parts = events.iter();
            parts.try_for_each(|event| walk(event, count, found, rest))?;
        }
        Event::SelfComposed {
            event,
            count: inner,
        } => {
            walk(event, step_count(count.checked_mul(*inner))?, found, rest)?;
        }
        other => rest.push(other.clone().repeated(count)),
    }
    Ok(())
}

/// An upper bound on `ln f'(1 - a) / f'(1 - b)` over all `a`, `b` in `[0, 1]` with `b <= e^x a + delta` for each of
/// `lines` `(x, delta)`.
fn widest_ratio(runs: RepetitionDistribution, lines: &[(f64, f64)]) -> f64 {
    let bound = |a: f64| {
        let line = |&(x, delta): &(f64, f64)| x.exp() * a + delta;
        lines.iter().map(line).fold(1.0, f64::min).max(a)
    };
    let ratio = |(a, b): (f64, f64)| match runs {
        RepetitionDistribution::NegativeBinomial { shape, gamma } => {
            let at = |x: f64| gamma + (1.0 - gamma) * x;
            (shape + 1.0) * (at(b) / at(a)).ln()
        }
        RepetitionDistribution::Poisson { mean } => mean * (b - a),
    };
    // The bound is a concave chain of lines, and on each of them the ratio is monotone: its ends are enough.
    let corners = corners(lines).into_iter().map(|a| ratio((a, bound(a))));
    corners.fold(0.0, f64::max) * (1.0 + 1e-12) + 1e-12
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
        if !line.0.is_finite() || least.last().is_some_and(|last| last.0 == line.0) {
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
