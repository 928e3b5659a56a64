//! The closed form for Gaussian releases that every record takes part in.

use super::accountant::Accountant;
use super::error::{AccountingError, Result, check_delta, check_epsilon};
use super::event::Event;
use super::normal::gaussian_delta;
use super::steps::{Steps, alternatives};

/// Covers Gaussian releases without sampling, which compose exactly whatever their multipliers:
/// the squares of `mu = 1 / noise_multiplier` add up (Rodriguez-Vitores et al. 2025, arXiv 2502.01701, lemma 2.3).
///
/// ```
/// use dp_accountant::accounting::{Accountant, Event, GaussianAccountant};
///
/// // Four releases with noise multiplier 2 are worth one with multiplier 1.
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
        let mut worst = 0.0_f64;
        for steps in alternatives(event, Self::NAME)? {
            let mu = Self::mu(&steps)?;
            worst = worst.max(match steps.left(delta) {
                Some(left) if !steps.non_private || delta == 1.0 => epsilon(mu, left),
                _ => f64::INFINITY,
            });
        }
        Ok(worst)
    }

    fn delta(&self, event: &Event, epsilon: f64) -> Result<f64> {
        check_epsilon(epsilon)?;
        let mut worst = 0.0_f64;
        for steps in alternatives(event, Self::NAME)? {
            let mu = Self::mu(&steps)?;
            worst = worst.max(if steps.non_private {
                1.0
            } else {
                steps.with_failure(delta(mu, epsilon))
            });
        }
        Ok(worst)
    }
}

/// Relative allowance for the rounding of the closed form.
const ROUNDING: f64 = 1e-11;

/// Delta of a Gaussian release with this `mu >= 0` at `epsilon >= 0`, rounded up.
pub fn delta(mu: f64, epsilon: f64) -> f64 {
    if mu == 0.0 || epsilon == f64::INFINITY {
        return 0.0;
    }
    (gaussian_delta(mu, epsilon) * (1.0 + ROUNDING)).min(1.0)
}

/// Epsilon of a Gaussian release with this `mu >= 0` at `delta` in `[0, 1]`, rounded up.
pub fn epsilon(mu: f64, target: f64) -> f64 {
    bracket(mu, target, delta).1
}

/// The same, rounded down: what a lower bound on `mu` says of epsilon.
pub fn epsilon_lower(mu: f64, target: f64) -> f64 {
    let lower = |mu: f64, epsilon: f64| gaussian_delta(mu, epsilon) * (1.0 - ROUNDING);
    bracket(mu, target, lower).0
}

/// Two values, next to each other, between which `delta(mu, epsilon)` crosses `target`.
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
    let mut low = 0.0;
    while high - low > 1e-13 * high {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if delta(mu, middle) > target {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low, high)
}
