//! The parameter that meets a target epsilon, found by bisection, always on the private side.

use super::accountants::Accountant;
use super::error::{AccountingError, Result, check};
use super::event::Event;
use crate::numerics::bisection::{Until, try_bracket};

/// Smallest and largest noise multiplier searched.
const NOISE_RANGE: (f64, f64) = (0.01, 1e7);

/// The largest ratio of the noise multiplier found to one that does not meet the target.
const RATIO: f64 = 1.0 + 1e-5;

/// The least noise multiplier, to a relative `1e-5`, whose epsilon at `delta` is at most `target_epsilon`.
///
/// The accountant has been asked for the value returned, which meets the target.
///
/// ```
/// use dp_accountant::accounting::{Accountant, Event, PldAccountant, noise_multiplier_for};
///
/// let accountant = PldAccountant::default();
/// let event = |z| Event::dp_sgd(60_000, 600, 1_000, z);
/// let z = noise_multiplier_for(&accountant, 1.0, 1e-5, event)?;
/// assert!(accountant.epsilon(&event(z), 1e-5)? <= 1.0);
/// assert!(accountant.epsilon(&event(0.999 * z), 1e-5)? > 1.0);
/// # Ok::<(), dp_accountant::accounting::AccountingError>(())
/// ```
///
/// # Errors
/// [`AccountingError::CannotMeet`] if the largest noise multiplier, 1e7, does not meet the target;
/// [`AccountingError::OutOfRange`] for a target that is not positive and finite; and errors of the accountant.
pub fn noise_multiplier_for(
    accountant: &dyn Accountant,
    target_epsilon: f64,
    delta: f64,
    event: impl Fn(f64) -> Event,
) -> Result<f64> {
    check_target(target_epsilon)?;
    let epsilon = |z: f64| match accountant.epsilon(&event(z), delta) {
        // Noise that is too little for the accountant does not meet the target.
        Err(AccountingError::OutOfRange { .. }) if z < 1.0 => Ok(f64::INFINITY),
        found => found,
    };
    // What is no number does not meet the target.
    let meets = |epsilon: f64| epsilon <= target_epsilon;
    let (mut low, mut high) = (1.0, 1.0);
    if meets(epsilon(1.0)?) {
        loop {
            low = (high / 2.0_f64).max(NOISE_RANGE.0);
            if epsilon(low)? > target_epsilon {
                break;
            }
            high = low;
            if low <= NOISE_RANGE.0 {
                return Ok(low);
            }
        }
    } else {
        loop {
            high = (low * 2.0_f64).min(NOISE_RANGE.1);
            let reached = epsilon(high)?;
            if meets(reached) {
                break;
            }
            low = high;
            if high >= NOISE_RANGE.1 {
                return Err(AccountingError::CannotMeet {
                    parameter: "noise multiplier",
                    low: NOISE_RANGE.0,
                    high: NOISE_RANGE.1,
                    target: target_epsilon,
                    nearest: high,
                    epsilon: reached,
                });
            }
        }
    }
    let too_little = |z| Ok(!meets(epsilon(z)?));
    Ok(try_bracket((low, high), Until::Ratio(RATIO), too_little)?.1)
}

/// The largest number of steps, up to `limit`, whose epsilon at `delta` is at most `target_epsilon`.
///
/// ```
/// use dp_accountant::accounting::{Event, PldAccountant, steps_for};
///
/// let event = |steps| Event::dp_sgd(60_000, 600, steps, 1.0);
/// let steps = steps_for(&PldAccountant::default(), 1.0, 1e-5, 10_000, event)?;
/// assert!((1..10_000).contains(&steps));
/// # Ok::<(), dp_accountant::accounting::AccountingError>(())
/// ```
///
/// # Errors
/// [`AccountingError::CannotMeet`] if one step exceeds the target, and as [`noise_multiplier_for`].
pub fn steps_for(
    accountant: &dyn Accountant,
    target_epsilon: f64,
    delta: f64,
    limit: u64,
    event: impl Fn(u64) -> Event,
) -> Result<u64> {
    largest("steps", accountant, target_epsilon, delta, limit, event)
}

/// The largest batch, up to `limit`, whose epsilon at `delta` is at most `target_epsilon`.
///
/// # Errors
/// [`AccountingError::CannotMeet`] if a batch of one exceeds the target, and as [`noise_multiplier_for`].
pub fn batch_for(
    accountant: &dyn Accountant,
    target_epsilon: f64,
    delta: f64,
    limit: u64,
    event: impl Fn(u64) -> Event,
) -> Result<u64> {
    largest("batch", accountant, target_epsilon, delta, limit, event)
}

fn largest(
    parameter: &'static str,
    accountant: &dyn Accountant,
    target_epsilon: f64,
    delta: f64,
    limit: u64,
    event: impl Fn(u64) -> Event,
) -> Result<u64> {
    check_target(target_epsilon)?;
    let limit = limit.max(1);
    let epsilon = |value: u64| accountant.epsilon(&event(value), delta);
    let first = epsilon(1)?;
    if first > target_epsilon {
        return Err(AccountingError::CannotMeet {
            parameter,
            low: 1.0,
            high: limit as f64,
            target: target_epsilon,
            nearest: 1.0,
            epsilon: first,
        });
    }
    let (mut good, mut bad) = (1, limit.saturating_add(1));
    let mut probe = 2_u64;
    while probe < bad {
        if epsilon(probe)? <= target_epsilon {
            good = probe;
            probe = probe.saturating_mul(2);
        } else {
            bad = probe;
        }
    }
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if epsilon(middle)? <= target_epsilon {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(good)
}

fn check_target(target: f64) -> Result<()> {
    check(
        "target epsilon",
        target,
        target > 0.0 && target.is_finite(),
        "positive and finite",
    )
}
