//! What an accountant can refuse, each case by name.

use super::neighbours::Neighbours;

/// Why an accounting question has no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AccountingError {
    /// A parameter lies outside its range.
    #[error("{name} is {value}, but must be {bound}")]
    OutOfRange {
        /// Name of the parameter.
        name: &'static str,
        /// The value that was given.
        value: f64,
        /// The range in words, for example `in (0, 1]`.
        bound: &'static str,
    },
    /// A batch holds more records than the group that it is sampled from.
    #[error(
        "batch is {batch}, but must be between 1 and the {records} records that it is sampled from"
    )]
    Batch {
        /// Records in a batch.
        batch: u64,
        /// Records in the group.
        records: u64,
    },
    /// The accountant does not cover this event.
    #[error("accountant {accountant} does not cover {event}: {reason}")]
    NotCovered {
        /// Name of the accountant.
        accountant: &'static str,
        /// The event, in words.
        event: String,
        /// Why, and what would cover it.
        reason: &'static str,
    },
    /// Parts of one event protect under different neighbour relations.
    #[error(
        "the event mixes parts that hold under {first} neighbours with parts that hold under {second} neighbours"
    )]
    MixedNeighbours {
        /// The relation of the parts seen first.
        first: Neighbours,
        /// The relation of the part that does not fit.
        second: Neighbours,
    },
    /// The number of steps does not fit.
    #[error("the number of steps overflows {bound}")]
    TooManySteps {
        /// The largest number of steps that is covered.
        bound: u64,
    },
    /// One partition is used with different numbers of groups, or there are too many combinations.
    #[error("partition {partition:?}: {reason}")]
    Partition {
        /// Name of the partition.
        partition: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The bounds on truncation and round-off are larger than the delta that was asked for.
    #[error(
        "delta {delta:e} cannot be resolved: truncation and round-off may add up to {resolution:e}; ask for a larger delta"
    )]
    Unresolved {
        /// The delta that was asked for.
        delta: f64,
        /// The smallest delta that this composition resolves.
        resolution: f64,
    },
    /// A numerical self-check failed.
    #[error("numerical self-check failed: {check} is {value:e}, above {bound:e}")]
    SelfCheck {
        /// What was checked.
        check: &'static str,
        /// Its value.
        value: f64,
        /// The largest value accepted.
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
        /// The epsilon asked for.
        target: f64,
        /// The value that comes nearest.
        nearest: f64,
        /// The epsilon at that value.
        epsilon: f64,
    },
    /// A ledger line cannot be read.
    #[error("ledger line {line}: {reason}")]
    Ledger {
        /// Line number, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

/// Result of an accounting question.
pub type Result<T> = std::result::Result<T, AccountingError>;

/// Checks `value` against a range given in words.
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
