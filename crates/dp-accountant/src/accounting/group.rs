//! Privacy of groups of records where no pair is known for them.

use super::accountant::Accountant;
use super::error::{AccountingError, Result, check, check_delta};
use super::event::Event;

/// Least delta of one record that is tried.
const LEAST: f64 = 1e-180;

/// Relative allowance for the rounding of a sum, upwards.
const ROUNDING: f64 = 1e-12;

/// An upper bound on epsilon at `delta` for neighbours that differ in `records` records: that of [`Event::Group`] where the
/// accountant covers it, or else `records` times the epsilon of one record at the largest `delta_1` with
///
/// `delta_1 (1 + e^epsilon_1 + ... + e^((records - 1) epsilon_1)) <= delta`,
///
/// by steps from one data set to the other that change one record each (Vadhan 2017). Infinite where no such
/// `delta_1` is found. A change is one of the event's own neighbours: a replaced record is two of them under add-remove and
/// zero-out. Where the answer is that of [`Event::Group`], all records come, or all go.
///
/// ```
/// use dp_accountant::accounting::{Accountant, Event, PldAccountant, group_epsilon};
///
/// let event = Event::dp_sgd(60_000, 600, 100, 4.0);
/// let accountant = PldAccountant::default();
/// let (one, four) = (accountant.epsilon(&event, 1e-6)?, group_epsilon(&accountant, &event, 4, 1e-6)?);
/// assert!(4.0 * one < four && four < 6.0 * one, "{one} {four}");
/// # Ok::<(), dp_accountant::accounting::AccountingError>(())
/// ```
///
/// # Errors
/// What the accountant refuses of one record; a number of records outside `1..=1e6`, or a delta outside `[0, 1]`.
pub fn group_epsilon(
    accountant: &dyn Accountant,
    event: &Event,
    records: u64,
    delta: f64,
) -> Result<f64> {
    check_delta(delta)?;
    let exact = accountant.epsilon(&event.clone().of_groups(records), delta);
    match exact {
        Err(AccountingError::NotCovered { .. }) => {}
        // Only samples have this smaller bound.
        Err(AccountingError::OutOfRange { value, .. }) if value == records as f64 => check(
            "number of records of a group",
            value,
            (1.0..=1e6).contains(&value),
            "between 1 and 1e6",
        )?,
        found => return found,
    }
    let count = records as f64;
    if delta == 0.0 {
        return Ok(count * accountant.epsilon(event, 0.0)?);
    }
    // Epsilon of one record at this delta, and whether the sum stays below the whole.
    let at = |ln_delta: f64| {
        let least = ln_delta.exp();
        let epsilon = match accountant.epsilon(event, least) {
            Err(AccountingError::Unresolved { .. }) => f64::INFINITY,
            found => found?,
        };
        let sum = match epsilon {
            0.0 => count,
            _ => (count * epsilon).exp_m1() / epsilon.exp_m1(),
        };
        Ok((epsilon, least * sum * (1.0 + ROUNDING) <= delta))
    };
    let (mut low, mut high) = (LEAST.ln(), (delta / count).ln());
    // Deltas that are too small may not be resolved.
    let mut best = loop {
        let (epsilon, fits) = at(low)?;
        if fits {
            break epsilon;
        }
        if high - low < 1.0 {
            return Ok(f64::INFINITY);
        }
        low = 0.5 * (low + high);
    };
    for _ in 0..22 {
        let middle = 0.5 * (low + high);
        let (epsilon, fits) = at(middle)?;
        if fits {
            (low, best) = (middle, best.min(epsilon));
        } else {
            high = middle;
        }
    }
    Ok(count * best)
}
