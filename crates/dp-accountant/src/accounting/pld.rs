//! The default accountant: numerical composition of dominating pairs.

use super::accountant::Accountant;
use super::compose::compose;
use super::error::{Result, check, check_delta, check_epsilon};
use super::event::Event;
use super::gaussian;
use super::pair::Pair;
use super::plan::{Goal, Plan};
use super::pure;
use super::rdp;
use super::selection;
use super::side::Side;
use super::steps::{PLD, Sampling, Steps, alternatives};

/// Smallest positive delta that is answered.
const MIN_DELTA: f64 = 1e-200;

/// How much finer the lattice of the lower bound is.
const LOWER_REFINEMENT: f64 = 4.0;

/// How much less accurate a direction is composed to see whether it matters at all.
const COARSER: f64 = 30.0;

/// How often a composition is planned again.
const REFINEMENTS: u32 = 2;

/// How much steeper than planned a profile is taken to be at most.
const STEEPER: f64 = 30.0;

/// Composes dominating pairs numerically; every answer is an upper bound.
///
/// Covers Gaussian and Laplace releases, exponential mechanisms and pure epsilons, plain, on batches without replacement (replace-one or
/// k-end neighbours) or on Poisson samples (add-remove, zero-out), and any composition of them. The pair of
/// a step is that of Rodriguez-Vitores et al. 2025, arXiv 2502.01701, section 5 and lemma 5.2;
/// `docs/accounting.md` names it and the control of the error. Of exponential mechanisms the smaller epsilon counts, of their
/// pairs and of their Renyi divergences: the pair of one lets its adversary choose with all others known.
///
/// ```
/// use dp_accountant::accounting::{Accountant, Event, PldAccountant, RdpAccountant};
///
/// let event = Event::dp_sgd(60_000, 600, 1_000, 1.0);
/// let accountant = PldAccountant::default();
/// let epsilon = accountant.epsilon(&event, 1e-5)?;
/// // How far above the truth it may be, and what Renyi divergences would have given.
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
    const NAME: &'static str = PLD;

    /// An accountant that aims at an error of `accuracy * min(epsilon, 1)` in epsilon.
    ///
    /// # Errors
    /// An accuracy outside of `[1e-9, 0.1]`.
    pub fn with_accuracy(accuracy: f64) -> Result<Self> {
        let ok = (1e-9..=0.1).contains(&accuracy);
        check("accuracy", accuracy, ok, "in [1e-9, 0.1]")?;
        Ok(Self { accuracy })
    }

    /// A lower bound on the true epsilon of the dominating pairs' composition, as a check of
    /// [`Accountant::epsilon`]: never report it.
    ///
    /// # Errors
    /// As [`Accountant::epsilon`].
    pub fn epsilon_lower(&self, event: &Event, delta: f64) -> Result<f64> {
        self.worst_epsilon(event, delta, Side::Lower)
    }

    /// A lower bound on the true delta, as a check of [`Accountant::delta`]: never report it.
    ///
    /// # Errors
    /// As [`Accountant::delta`].
    pub fn delta_lower(&self, event: &Event, epsilon: f64) -> Result<f64> {
        self.worst_delta(event, epsilon, Side::Lower)
    }

    fn worst_epsilon(&self, event: &Event, delta: f64, side: Side) -> Result<f64> {
        check_delta(delta)?;
        let mut worst = 0.0_f64;
        for steps in alternatives(event, Self::NAME)? {
            let mut epsilon = self.epsilon_of(&steps, delta, side)?;
            if side == Side::Upper && steps.has_exponential() {
                epsilon = epsilon.min(rdp::epsilon_of(&steps, delta));
            }
            worst = worst.max(epsilon);
        }
        Ok(worst)
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
            return Ok(pure::epsilon(steps));
        }
        check("delta", delta, delta >= MIN_DELTA, "0 or at least 1e-200")?;
        if let Some(mu) = steps.gaussian_mu() {
            return Ok(gaussian::epsilon(mu, delta));
        }
        let mut worst = 0.0_f64;
        for pairs in directions(steps) {
            let largest = pure::of_pairs(&pairs);
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

    /// Composes where the tail bounds say that epsilon lies and, where they misjudged it (one step
    /// that matters more than all others), once more where it was found. Both answers are bounds.
    fn composed_epsilon(&self, pairs: &[(Pair, u64)], delta: f64, side: Side) -> Result<f64> {
        let mut goal = Goal::Epsilon { delta };
        let mut best = None;
        for _ in 0..=REFINEMENTS {
            let plan = self.plan(pairs, goal, side);
            let found = compose(pairs, &plan, side)?.epsilon(delta)?;
            best = Some(side.tighter(best, found.value));
            let missed = found.slope == 0.0 && plan.bottom() > 0.0;
            if !missed && (found.value == 0.0 || plan.suits(found.value, found.slope)) {
                break;
            }
            goal = Goal::Near {
                epsilon: if missed {
                    0.1 * plan.bottom()
                } else {
                    found.value
                },
                slope: if missed {
                    plan.slope
                } else {
                    plan.steeper(found.slope, STEEPER)
                },
                delta,
            };
        }
        Ok(best.unwrap_or(f64::INFINITY))
    }

    /// As [`Self::composed_epsilon`], for delta.
    fn composed_delta(&self, pairs: &[(Pair, u64)], epsilon: f64, side: Side) -> Result<f64> {
        let mut goal = Goal::Delta { epsilon };
        let mut best = None;
        for _ in 0..=REFINEMENTS {
            let plan = self.plan(pairs, goal, side);
            let found = compose(pairs, &plan, side)?.delta(epsilon);
            best = Some(side.tighter(best, found.value));
            if found.value < 1e-40 || plan.suits(f64::INFINITY, found.slope) {
                break;
            }
            goal = Goal::Near {
                epsilon,
                slope: plan.steeper(found.slope, STEEPER),
                delta: found.value,
            };
        }
        Ok(best.unwrap_or(1.0))
    }

    fn plan(&self, pairs: &[(Pair, u64)], goal: Goal, side: Side) -> Plan {
        let plan = Plan::new(pairs, goal, self.accuracy);
        match side {
            Side::Upper => plan,
            Side::Lower => plan.finer(LOWER_REFINEMENT),
        }
    }

    fn worst_delta(&self, event: &Event, epsilon: f64, side: Side) -> Result<f64> {
        check_epsilon(epsilon)?;
        let mut worst = 0.0_f64;
        for steps in alternatives(event, Self::NAME)? {
            let mut delta = self.delta_of(&steps, epsilon, side)?;
            if side == Side::Upper && steps.has_exponential() {
                delta = delta.min(rdp::deltas_of(&steps, &[epsilon])[0]);
            }
            worst = worst.max(steps.with_failure(delta));
        }
        Ok(worst)
    }

    /// Deltas at rising values of epsilon.
    fn profile_of(&self, steps: &Steps, epsilons: &[f64]) -> Result<Vec<f64>> {
        let closed = steps.non_private || steps.gaussian_mu().is_some();
        let mut worst = vec![0.0_f64; epsilons.len()];
        if closed {
            for (delta, epsilon) in worst.iter_mut().zip(epsilons) {
                *delta = self.delta_of(steps, *epsilon, Side::Upper)?;
            }
            return Ok(worst);
        }
        for pairs in directions(steps) {
            let largest = pure::of_pairs(&pairs);
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
        if epsilon >= pure::epsilon(steps) {
            return Ok(0.0);
        }
        if let Some(mu) = steps.gaussian_mu() {
            return Ok(gaussian::delta(mu, epsilon));
        }
        let mut worst = 0.0_f64;
        for pairs in directions(steps) {
            if epsilon < pure::of_pairs(&pairs) {
                worst = worst.max(self.composed_delta(&pairs, epsilon, side)?);
            }
        }
        Ok(worst)
    }
}

/// The compositions to take the worst of: one, or two where adding and removing a record differ.
fn directions(steps: &Steps) -> Vec<Vec<(Pair, u64)>> {
    // Samples of Poisson's kind, dealt ones among them.
    let poisson = steps
        .counted
        .iter()
        .any(|(step, _)| !matches!(step.sampling, Sampling::None | Sampling::Fixed { .. }));
    let of = |direction: usize| {
        steps
            .counted
            .iter()
            .map(|(step, count)| {
                let pairs = Pair::of(step);
                (pairs[direction.min(pairs.len() - 1)].clone(), *count)
            })
            .collect()
    };
    if poisson {
        vec![of(0), of(1)]
    } else {
        vec![of(0)]
    }
}

impl Accountant for PldAccountant {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn is_upper_bound(&self) -> bool {
        true
    }

    /// Where the best of several runs is among the events, by basic composition: delta in equal parts.
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

    /// One untilted composition answers for all values: delta is accurate to about `1e-10`, and
    /// above the truth, where [`Accountant::delta`] keeps its relative accuracy.
    fn profile(&self, event: &Event, epsilons: &[f64]) -> Result<Vec<f64>> {
        for epsilon in epsilons {
            check_epsilon(*epsilon)?;
        }
        let mut order: Vec<usize> = (0..epsilons.len()).collect();
        order.sort_by(|a, b| epsilons[*a].total_cmp(&epsilons[*b]));
        let rising: Vec<f64> = order.iter().map(|k| epsilons[*k]).collect();
        let mut worst = vec![0.0_f64; epsilons.len()];
        for steps in alternatives(event, Self::NAME)? {
            for (k, delta) in order.iter().zip(self.profile_of(&steps, &rising)?) {
                worst[*k] = worst[*k].max(steps.with_failure(delta));
            }
        }
        Ok(worst)
    }
}
