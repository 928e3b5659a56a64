//! The error of this module.

use super::neighbours::Neighbours;

/// The reason why an accounting question has no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AccountingError {
    /// A parameter lies outside its range.
    #[error("{name} is {value}, but must be {bound}")]
    OutOfRange {
        /// Name of the parameter.
        name: &'static str,
        /// The given value.
        value: f64,
        /// The range in words, for example `in (0, 1]`.
        bound: &'static str,
    },
    /// A batch is empty, or holds more records than the stratum that it is sampled from.
    #[error(
        "batch is {batch}, but must be between 1 and the {records} records that it is sampled from"
    )]
    Batch {
        /// Records in a batch.
        batch: u64,
        /// Records in the stratum.
        records: u64,
    },
    /// The accountant does not cover this event.
    #[error("accountant {accountant} does not cover {event}: {reason}")]
    NotCovered {
        /// Name of the accountant.
        accountant: &'static str,
        /// The event, in words.
        event: String,
        /// The reason, and an alternative that is covered.
        reason: &'static str,
    },
    /// Parts of one event protect under different neighbour relations.
    #[error(
        "the event mixes parts that hold under {first} neighbours with parts that hold under {second} neighbours"
    )]
    MixedNeighbours {
        /// The relation of the earlier parts.
        first: Neighbours,
        /// The relation of the part that does not fit.
        second: Neighbours,
    },
    /// The number of steps is too large.
    #[error("the number of steps overflows {bound}")]
    TooManySteps {
        /// The largest number of steps that is covered.
        bound: u64,
    },
    /// A partition has no part or different numbers of parts, or there are too many combinations of parts.
    #[error("partition {partition:?}: {reason}")]
    Partition {
        /// Name of the partition.
        partition: String,
        /// The reason of the refusal.
        reason: &'static str,
    },
    /// The bounds on truncation and round-off exceed the requested delta.
    #[error(
        "delta {delta:e} cannot be resolved: truncation and round-off may add up to {resolution:e}; ask for a larger delta"
    )]
    Unresolved {
        /// The requested delta.
        delta: f64,
        /// The smallest delta that this composition resolves.
        resolution: f64,
    },
    /// A numerical self-check failed.
    #[error("numerical self-check failed: {check} is {value:e}, above {bound:e}")]
    SelfCheck {
        /// The checked quantity.
        check: &'static str,
        /// Its value.
        value: f64,
        /// The largest accepted value.
        bound: f64,
    },
    /// No value of the searched parameter meets the target.
    #[error(
        "no {parameter} between {low} and {high} gives epsilon at most {target}: the nearest, {parameter} {nearest}, gives {epsilon}"
    )]
    CannotMeet {
        /// The searched parameter.
        parameter: &'static str,
        /// Lower end of the search.
        low: f64,
        /// Upper end of the search.
        high: f64,
        /// The target epsilon.
        target: f64,
        /// The value whose epsilon is nearest to the target.
        nearest: f64,
        /// The epsilon at that value.
        epsilon: f64,
    },
    /// A ledger line cannot be read.
    #[error("ledger line {line}: {reason}")]
    Ledger {
        /// Line number, from 1.
        line: usize,
        /// The reason of the refusal.
        reason: String,
    },
}

/// Result of an accounting question.
pub type Result<T> = std::result::Result<T, AccountingError>;

/// Refuses `value` unless `ok`, with its range in words.
pub fn check(name: &'static str, value: f64, ok: bool, bound: &'static str) -> Result<()> {
    if ok && !value.is_nan() {
        Ok(())
    } else {
        Err(AccountingError::OutOfRange { name, value, bound })
    }
}

/// Checks that delta lies in `[0, 1]`.
pub fn check_delta(delta: f64) -> Result<()> {
    check("delta", delta, (0.0..=1.0).contains(&delta), "in [0, 1]")
}

/// Checks that epsilon is not negative (infinity is allowed).
pub fn check_epsilon(epsilon: f64) -> Result<()> {
    check("epsilon", epsilon, epsilon >= 0.0, "at least 0")
}
