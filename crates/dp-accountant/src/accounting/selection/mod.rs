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

mod runs;
#[cfg(test)]
mod tests;

pub use runs::Runs;

use super::error::{AccountingError, Result, check, check_delta};
use super::event::Event;
use super::rdp;
use super::{Accountant, PldAccountant};

/// Points of the profile from which `c` is bounded.
const LINES: u32 = 400;

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

    /// An upper bound on epsilon of the released output at `delta`: the smaller of that by the profile of a run
    /// and that by Renyi divergences.
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
    fn epsilon_by_profile(&self, delta: f64) -> Result<f64> {
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
    fn epsilon_by_renyi(&self, delta: f64) -> Result<f64> {
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
