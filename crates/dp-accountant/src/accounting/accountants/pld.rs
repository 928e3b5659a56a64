//! The default accountant: numerical composition of dominating pairs.

use super::{Accountant, PrivateSelection, gaussian, rdp, selection};
use crate::accounting::error::{Result, check, check_delta, check_epsilon};
use crate::accounting::event::Event;
use crate::accounting::pld::{Goal, Pair, Plan, Profile, Reading, Side, compose};
use crate::accounting::steps::{Direction, PLD, ROUNDING, Steps, worst, worst_profile};

/// Smallest positive delta that is answered.
const MIN_DELTA: f64 = 1e-200;

/// How much finer the lattice of the lower bound is.
const LOWER_REFINEMENT: f64 = 4.0;

/// How much less accurate a direction is composed to see whether it matters at all.
const COARSER: f64 = 30.0;

/// How often a composition is planned again at most.
const REFINEMENTS: u32 = 2;

/// The default accountant: it composes dominating pairs numerically, and each answer is an upper bound.
///
/// It covers Gaussian and Laplace releases, exponential mechanisms and pure epsilons on all records, on batches without
/// replacement (replace-one or k-end) and on Poisson samples (add-remove, zero-out), and compositions of them. The pair of a
/// step is that of Rodriguez-Vitores et al. 2025, arXiv 2502.01701, section 5 and lemma 5.2; `docs/accounting.md` has the pairs
/// and the control of errors. For exponential mechanisms the smaller of two epsilons counts, by pairs and by Renyi divergences:
/// a pair's adversary may choose each mechanism after seeing the outputs of all others.
///
/// ```
/// use dp_accountant::accounting::{Accountant, Event, PldAccountant, RdpAccountant};
///
/// let event = Event::dp_sgd(60_000, 600, 1_000, 1.0);
/// let accountant = PldAccountant::default();
/// let epsilon = accountant.epsilon(&event, 1e-5)?;
/// // The largest possible distance to the truth, and the epsilon by Renyi divergences.
/// let slack = epsilon - accountant.epsilon_lower(&event, 1e-5)?;
/// assert!((0.0..1e-3).contains(&slack));
/// assert!(epsilon < RdpAccountant.epsilon(&event, 1e-5)?);
/// # Ok::<(), dp_accountant::accounting::AccountingError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PldAccountant {
    accuracy: f64,
}

impl Default for PldAccountant {
    fn default() -> Self {
        Self { accuracy: 1e-4 }
    }
}

impl PldAccountant {
    /// An accountant that aims at an error of at most `accuracy * min(epsilon, 1)` in epsilon; the default accuracy is `1e-4`.
    ///
    /// # Errors
    /// [`AccountingError::OutOfRange`](crate::accounting::AccountingError::OutOfRange) for an accuracy outside `[1e-9, 0.1]`.
    pub fn with_accuracy(accuracy: f64) -> Result<Self> {
        let ok = (1e-9..=0.1).contains(&accuracy);
        check("accuracy", accuracy, ok, "in [1e-9, 0.1]")?;
        Ok(Self { accuracy })
    }

    /// A lower bound on the epsilon of the composed pairs. It checks [`Accountant::epsilon`]; never report it as a guarantee.
    ///
    /// # Errors
    /// As [`Accountant::epsilon`].
    pub fn epsilon_lower(&self, event: &Event, delta: f64) -> Result<f64> {
        self.worst_epsilon(event, delta, Side::Lower)
    }

    /// A lower bound on the delta of the composed pairs. It checks [`Accountant::delta`]; never report it as a guarantee.
    ///
    /// # Errors
    /// As [`Accountant::delta`].
    pub fn delta_lower(&self, event: &Event, epsilon: f64) -> Result<f64> {
        self.worst_delta(event, epsilon, Side::Lower)
    }

    fn worst_epsilon(&self, event: &Event, delta: f64, side: Side) -> Result<f64> {
        check_delta(delta)?;
        worst(event, PLD, |steps| {
            let epsilon = self.epsilon_of(steps, delta, side)?;
            Ok(if side == Side::Upper && steps.has_exponential() {
                epsilon.min(rdp::epsilon_of(steps, delta))
            } else {
                epsilon
            })
        })
    }

    fn epsilon_of(&self, steps: &Steps, delta: f64, side: Side) -> Result<f64> {
        if steps.non_private && delta < 1.0 {
            return Ok(f64::INFINITY);
        }
        let Some(delta) = steps.left(delta) else {
            return Ok(f64::INFINITY);
        };
        if steps.counted.is_empty() || delta == 1.0 {
            return Ok(0.0);
        }
        if delta == 0.0 {
            return Ok(steps.loss_supremum());
        }
        check("delta", delta, delta >= MIN_DELTA, "0 or at least 1e-200")?;
        if let Some(mu) = steps.gaussian_mu() {
            return Ok(gaussian::epsilon(mu, delta));
        }
        let mut worst = 0.0_f64;
        for pairs in directions(steps) {
            let largest = loss_supremum(&pairs);
            if largest <= worst || self.is_below(&pairs, delta, worst, side)? {
                continue;
            }
            worst = worst.max(self.composed_epsilon(&pairs, delta, side)?.min(largest));
        }
        Ok(worst)
    }

    /// Whether a coarse composition already shows that this direction stays below `worst`.
    fn is_below(&self, pairs: &[(Pair, u64)], delta: f64, worst: f64, side: Side) -> Result<bool> {
        if worst == 0.0 || side == Side::Lower {
            return Ok(false);
        }
        let plan = Plan::new(pairs, Goal::Epsilon { delta }, COARSER * self.accuracy);
        Ok(compose(pairs, &plan, side)?.epsilon(delta)?.value <= worst)
    }

    fn composed_epsilon(&self, pairs: &[(Pair, u64)], delta: f64, side: Side) -> Result<f64> {
        let read = |profile: Profile| profile.epsilon(delta);
        self.refined(pairs, Goal::Epsilon { delta }, side, read, |plan, found| {
            let missed = found.slope == 0.0 && plan.bottom() > 0.0;
            let (epsilon, slope) = if missed {
                (0.1 * plan.bottom(), plan.slope)
            } else {
                (found.value, plan.steeper(found.slope))
            };
            let done = found.value == 0.0 || plan.suits(found.value, found.slope);
            (missed || !done).then_some(Goal::Near {
                epsilon,
                slope,
                delta,
            })
        })
    }

    fn composed_delta(&self, pairs: &[(Pair, u64)], epsilon: f64, side: Side) -> Result<f64> {
        let read = |profile: Profile| Ok(profile.delta(epsilon));
        self.refined(pairs, Goal::Delta { epsilon }, side, read, |plan, found| {
            let done = found.value < 1e-40 || plan.suits(f64::INFINITY, found.slope);
            (!done).then_some(Goal::Near {
                epsilon,
                slope: plan.steeper(found.slope),
                delta: found.value,
            })
        })
    }

    /// Composes where the tail bounds say that the value lies and, where they misjudged it (one step
    /// that matters more than all others), again for the goal that `next` gives. All answers are bounds.
    fn refined(
        &self,
        pairs: &[(Pair, u64)],
        mut goal: Goal,
        side: Side,
        read: impl Fn(Profile) -> Result<Reading>,
        next: impl Fn(&Plan, Reading) -> Option<Goal>,
    ) -> Result<f64> {
        let mut best = None;
        for _ in 0..=REFINEMENTS {
            let plan = Plan::new(pairs, goal, self.accuracy);
            let plan = match side {
                Side::Upper => plan,
                Side::Lower => plan.finer(LOWER_REFINEMENT),
            };
            let found = read(compose(pairs, &plan, side)?)?;
            best = Some(side.tighter(best, found.value));
            match next(&plan, found) {
                Some(near) => goal = near,
                None => break,
            }
        }
        Ok(best.unwrap_or(f64::INFINITY))
    }

    fn worst_delta(&self, event: &Event, epsilon: f64, side: Side) -> Result<f64> {
        check_epsilon(epsilon)?;
        worst(event, PLD, |steps| {
            let mut delta = self.delta_of(steps, epsilon, side)?;
            if side == Side::Upper && steps.has_exponential() {
                delta = delta.min(rdp::deltas_of(steps, &[epsilon])[0]);
            }
            Ok(steps.with_failure(delta))
        })
    }

    /// Deltas at rising values of epsilon.
    fn profile_of(&self, steps: &Steps, epsilons: &[f64]) -> Result<Vec<f64>> {
        if steps.non_private || steps.gaussian_mu().is_some() {
            let delta = |epsilon: &f64| self.delta_of(steps, *epsilon, Side::Upper);
            return epsilons.iter().map(delta).collect();
        }
        let mut worst = vec![0.0_f64; epsilons.len()];
        for pairs in directions(steps) {
            let largest = loss_supremum(&pairs);
            let plan = Plan::new(&pairs, Goal::Profile, self.accuracy);
            let deltas = compose(&pairs, &plan, Side::Upper)?.deltas(epsilons);
            for ((worst, delta), epsilon) in worst.iter_mut().zip(deltas).zip(epsilons) {
                if *epsilon < largest {
                    *worst = worst.max(delta);
                }
            }
        }
        if steps.has_exponential() {
            for (worst, delta) in worst.iter_mut().zip(rdp::deltas_of(steps, epsilons)) {
                *worst = worst.min(delta);
            }
        }
        Ok(worst)
    }

    fn delta_of(&self, steps: &Steps, epsilon: f64, side: Side) -> Result<f64> {
        if steps.non_private {
            return Ok(1.0);
        }
        if epsilon >= steps.loss_supremum() {
            return Ok(0.0);
        }
        if let Some(mu) = steps.gaussian_mu() {
            return Ok(gaussian::delta(mu, epsilon));
        }
        let mut worst = 0.0_f64;
        for pairs in directions(steps) {
            if epsilon < loss_supremum(&pairs) {
                worst = worst.max(self.composed_delta(&pairs, epsilon, side)?);
            }
        }
        Ok(worst)
    }
}

/// The compositions to take the worst of: one, or two where adding and removing a record differ.
fn directions(steps: &Steps) -> impl Iterator<Item = Vec<(Pair, u64)>> {
    let both = steps.counted.iter().any(|(step, _)| step.has_directions());
    let directions = Direction::BOTH.into_iter().take(1 + usize::from(both));
    directions.map(|direction| {
        let pair = |(step, count): &_| (Pair::dominating(*step, direction), *count);
        steps.counted.iter().map(pair).collect()
    })
}

/// The largest total loss of these pairs, rounded up.
fn loss_supremum(pairs: &[(Pair, u64)]) -> f64 {
    let losses = pairs.iter();
    let total: f64 = losses
        .map(|(pair, count)| *count as f64 * pair.loss_supremum())
        .sum();
    total * (1.0 + ROUNDING)
}

impl PrivateSelection {
    /// An upper bound on epsilon of the released output at `delta`.
    ///
    /// It is the smaller of two: by the privacy profile of a run, and by its Renyi divergences (Papernot and Steinke 2022, arXiv
    /// 2110.03620).
    ///
    /// # Errors
    /// A delta out of range, or a mechanism that neither [`PldAccountant`] nor [`super::RdpAccountant`] covers.
    pub fn epsilon(&self, delta: f64) -> Result<f64> {
        self.epsilon_by(&PldAccountant::default(), delta)
    }
}

impl Accountant for PldAccountant {
    fn name(&self) -> &'static str {
        PLD
    }

    fn is_upper_bound(&self) -> bool {
        true
    }

    /// If the best of several runs is among the events, basic composition adds epsilons at equal parts of delta.
    fn epsilon(&self, event: &Event, delta: f64) -> Result<f64> {
        let (best, rest) = selection::apart(event)?;
        if best.is_empty() {
            return self.worst_epsilon(event, delta, Side::Upper);
        }
        check_delta(delta)?;
        event.neighbours()?;
        let nothing = rest.is_empty();
        let parts = best.iter().map(|(_, count)| *count as f64).sum::<f64>();
        let each = delta / (parts + f64::from(u8::from(!nothing)));
        let mut epsilon = match nothing {
            true => 0.0,
            false => self.worst_epsilon(&Event::Composed { events: rest }, each, Side::Upper)?,
        };
        for (selection, count) in best {
            epsilon += count as f64 * selection.epsilon(each)?;
        }
        Ok(epsilon)
    }

    fn delta(&self, event: &Event, epsilon: f64) -> Result<f64> {
        self.worst_delta(event, epsilon, Side::Upper)
    }

    /// One untilted composition answers for all values. Each delta is an upper bound with an absolute error of about `1e-10`;
    /// the error of [`Accountant::delta`] is relative.
    fn profile(&self, event: &Event, epsilons: &[f64]) -> Result<Vec<f64>> {
        let mut order: Vec<usize> = (0..epsilons.len()).collect();
        order.sort_by(|a, b| epsilons[*a].total_cmp(&epsilons[*b]));
        let rising: Vec<f64> = order.iter().map(|k| epsilons[*k]).collect();
        let sorted = worst_profile(event, PLD, &rising, |steps| self.profile_of(steps, &rising))?;
        let mut deltas = vec![0.0; epsilons.len()];
        for (k, delta) in order.into_iter().zip(sorted) {
            deltas[k] = delta;
        }
        Ok(deltas)
    }
}
