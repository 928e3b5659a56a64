//! The closed form for Gaussian releases that every record takes part in.

use super::Accountant;
use crate::accounting::error::{AccountingError, Result, check_delta, check_epsilon};
use crate::accounting::event::Event;
use crate::accounting::steps::{Steps, worst};
use crate::numerics::bisection::{self, Until};
use crate::numerics::normal::gaussian_delta;

/// The exact accountant of Gaussian releases without sampling.
///
/// Releases with any multipliers compose exactly: the squares of `mu = 1 / noise_multiplier` add up (Rodriguez-Vitores et al.
/// 2025, arXiv 2502.01701, lemma 2.3).
///
/// ```
/// use dp_accountant::accounting::{Accountant, Event, GaussianAccountant};
///
/// // Four releases with noise multiplier 2 cost as much as one with multiplier 1.
/// let four = Event::Gaussian { noise_multiplier: 2.0 }.repeated(4);
/// let one = Event::Gaussian { noise_multiplier: 1.0 };
/// let epsilon = |event| GaussianAccountant.epsilon(event, 1e-5);
/// assert!((epsilon(&four)? - epsilon(&one)?).abs() < 1e-9);
/// assert!((epsilon(&one)? - 4.377).abs() < 1e-3);
/// # Ok::<(), dp_accountant::accounting::AccountingError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GaussianAccountant;

impl GaussianAccountant {
    const NAME: &'static str = "gaussian";

    fn mu(steps: &Steps) -> Result<f64> {
        steps
            .gaussian_mu()
            .ok_or_else(|| AccountingError::NotCovered {
                accountant: Self::NAME,
                event: "sampling or other noise".into(),
                reason: "it has a closed form only for Gaussian releases of all records; use pld",
            })
    }
}

impl Accountant for GaussianAccountant {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn is_upper_bound(&self) -> bool {
        true
    }

    fn epsilon(&self, event: &Event, delta: f64) -> Result<f64> {
        check_delta(delta)?;
        worst(event, Self::NAME, |steps| {
            Ok(epsilon_of(steps, Self::mu(steps)?, delta))
        })
    }

    fn delta(&self, event: &Event, epsilon: f64) -> Result<f64> {
        check_epsilon(epsilon)?;
        worst(event, Self::NAME, |steps| {
            Ok(delta_of(steps, Self::mu(steps)?, epsilon))
        })
    }
}

/// Epsilon at `delta` of steps that are one Gaussian release with this `mu`, beside failures.
pub(super) fn epsilon_of(steps: &Steps, mu: f64, delta: f64) -> f64 {
    match steps.left(delta) {
        _ if delta == 1.0 => 0.0,
        Some(left) if !steps.non_private && mu < f64::INFINITY => epsilon(mu, left),
        _ => f64::INFINITY,
    }
}

/// Delta at `epsilon` of the same.
pub(super) fn delta_of(steps: &Steps, mu: f64, epsilon: f64) -> f64 {
    if steps.non_private || mu == f64::INFINITY {
        return 1.0;
    }
    steps.with_failure(delta(mu, epsilon))
}

/// Relative allowance for the rounding of the closed form.
const ROUNDING: f64 = 1e-11;

/// Delta at `epsilon >= 0` of a Gaussian release with this `mu >= 0`, rounded up.
pub fn delta(mu: f64, epsilon: f64) -> f64 {
    if mu == 0.0 || epsilon == f64::INFINITY {
        return 0.0;
    }
    (gaussian_delta(mu, epsilon) * (1.0 + ROUNDING)).min(1.0)
}

/// Epsilon at delta `target` in `[0, 1]` of a Gaussian release with this `mu >= 0`, rounded up.
pub fn epsilon(mu: f64, target: f64) -> f64 {
    bracket(mu, target, delta).1
}

/// [`epsilon`], rounded down: if `mu` is a lower bound, so is the result.
pub fn epsilon_lower(mu: f64, target: f64) -> f64 {
    let lower = |mu: f64, epsilon: f64| gaussian_delta(mu, epsilon) * (1.0 - ROUNDING);
    bracket(mu, target, lower).0
}

/// Two neighbouring values between which `delta(mu, epsilon)` crosses `target`.
fn bracket(mu: f64, target: f64, delta: impl Fn(f64, f64) -> f64) -> (f64, f64) {
    if mu == 0.0 || delta(mu, 0.0) <= target {
        return (0.0, 0.0);
    }
    if target == 0.0 {
        return (f64::INFINITY, f64::INFINITY);
    }
    let mut high = mu * (mu + 1.0);
    while delta(mu, high) > target {
        high *= 2.0;
    }
    bisection::bracket((0.0, high), Until::Width(1e-13), |epsilon| {
        delta(mu, epsilon) > target
    })
}
