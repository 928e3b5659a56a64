//! The bound that delta must stay below, and the risk that a delta leaves.
//!
//! A mechanism that picks one of `n` records and publishes it with probability `c` is `(0, c/n)`-differentially private: at
//! `delta = 1/n` it can publish a record outright.

use crate::DpError;
use crate::decimal::{lower, nearest};

/// The share of `1/n` above which a run warns about its delta.
const SMALL: f64 = 0.1;
/// The relative excess that is allowed for the sum of the parts of a delta.
const ROUNDING: f64 = 1e-9;

/// Returns the default delta, `0.1/n`: the largest without a warning.
///
/// ```
/// use dp_accountant::delta::{default_delta, loose_delta};
///
/// assert_eq!(default_delta(20_000.0), 5e-6);
/// assert_eq!(loose_delta(default_delta(20_000.0), 20_000.0), None);
/// ```
pub fn default_delta(records: f64) -> f64 {
    SMALL / records.max(1.0)
}

/// Refuses a delta outside of `(0, 1/n)`.
///
/// ```
/// use dp_accountant::delta::{check_delta, loose_delta};
///
/// assert!(check_delta(1e-5, 60_000.0).is_ok());
/// assert!(check_delta(1e-4, 60_000.0).is_err());
/// // Allowed, with a warning: it is above 0.1/n.
/// assert!(loose_delta(1e-5, 60_000.0).is_some());
/// ```
///
/// # Errors
///
/// Returns [`DpError::OutOfRange`] with delta, `1/n` and `n`.
pub fn check_delta(delta: f64, records: f64) -> Result<(), DpError> {
    if delta > 0.0 && delta < 1.0 / records {
        return Ok(());
    }
    Err(DpError::OutOfRange {
        name: "delta",
        value: delta,
        bound: format!(
            "above 0 and below 1/n = {}, n = {records} records",
            lower(1.0 / records)
        ),
    })
}

/// Describes the risk of a delta above `0.1/n`; returns `None` below it, and for an excess that rounding of a sum explains.
pub fn loose_delta(delta: f64, records: f64) -> Option<String> {
    if delta <= SMALL / records * (1.0 + ROUNDING) {
        return None;
    }
    let share = delta * records;
    let (times, chance) = (nearest(share, 2), nearest(share.min(1.0), 2));
    Some(format!(
        "delta is about {times}/n for n = {records} private records: such a delta alone would let a mechanism publish \
         one of them outright with a probability of about {chance}. At most 0.1/n = {} protects better.",
        lower(SMALL / records)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_that_is_named_is_accepted() {
        for records in [3.0, 7.0, 30_000.0, 81_385.0] {
            let refused = check_delta(1.0 / records, records).unwrap_err().to_string();
            let (_, limit) = refused.split_once("1/n = ").expect("a limit");
            let (limit, _) = limit.split_once(',').expect("a limit");
            let limit: f64 = limit.parse().expect("a number");
            assert!(limit <= 1.0 / records, "{refused}");
            assert!(check_delta(limit * (1.0 - 1e-9), records).is_ok());
        }
    }

    #[test]
    fn a_delta_near_one_record_is_warned_of() {
        for (delta, records, words) in [
            (
                3.333_333e-5,
                30_000.0,
                &["about 1/n for n = 30000", "of about 1.", "3.3333e-6"][..],
            ),
            (1e-5, 60_000.0, &["0.6/n"]),
            // As where releases that may fail were made again.
            (4e-5, 30_000.0, &["1.2/n", "of about 1."]),
        ] {
            let warning = loose_delta(delta, records).expect("a warning");
            assert!(
                words.iter().all(|words| warning.contains(words)),
                "{warning}"
            );
        }
        assert_eq!(loose_delta(0.1 / 30_000.0, 30_000.0), None);
        assert_eq!(loose_delta(3.3333e-6, 30_000.0), None);
    }
}
