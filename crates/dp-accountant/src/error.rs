//! The error type of this crate and of `dp-core`.
//!
//! `dp-core` is built on this crate and shares one enum with it, so planning, sampling and releasing return one type. Only
//! `dp-core` returns the cases that name a layer, a draw or a device.
//!
//! ```
//! use dp_accountant::sampling::Sampler;
//!
//! let refused = Sampler::fixed_size(100, 600).expect_err("more than there are");
//! assert!(refused.to_string().contains("batch of 600, expected 1 to 100"));
//! ```

use crate::accounting::AccountingError;

/// An error of this crate or of `dp-core`, with the refused value and the bound that it broke. No error holds a private value,
/// because `Debug`, with which `main` prints a returned error, hides nothing.
#[derive(Debug, thiserror::Error)]
pub enum DpError {
    /// A parameter of a plan or a mechanism lies outside its range.
    #[error("{name} = {value} is refused: it must be {bound}")]
    OutOfRange {
        /// The name of the value.
        name: &'static str,
        /// The refused value.
        value: f64,
        /// The bound, in words.
        bound: String,
    },
    /// The data cannot fill a batch.
    #[error("{what}: batch of {batch}, expected 1 to {records}, its number of records; {advice}")]
    Batch {
        /// The whole data, or a stratum of it.
        what: String,
        /// The batch size.
        batch: usize,
        /// The number of records.
        records: usize,
        /// Advice on how to fix it.
        advice: &'static str,
    },
    /// A stratum, or a list of strata, is empty.
    #[error("{what} is empty: expected at least 1 {expected}; remove it, or give it some")]
    Empty {
        /// The stratum or the list.
        what: String,
        /// The missing element.
        expected: &'static str,
    },
    /// Two lists that belong together have different lengths.
    #[error("{found} batch sizes for {strata} strata: expected {strata}, one for each stratum")]
    StratumCount {
        /// The number of strata.
        strata: usize,
        /// The number of batch sizes.
        found: usize,
    },
    /// A record is in two strata, or twice in one.
    #[error(
        "record {record} is in the strata more than once (in {first} and {second}): \
         expected each record in one stratum, once"
    )]
    SharedRecord {
        /// The record's index.
        record: usize,
        /// The first stratum that holds it.
        first: usize,
        /// The second stratum that holds it; it may be the first again.
        second: usize,
    },
    /// A sum to be released is over other numbers of records than were sampled. With Poisson sampling these numbers are secret,
    /// and no error holds them.
    #[error(
        "what is summed has other numbers of records in its strata than the draw: sum the records of the draw"
    )]
    SampledSizes,
    /// The draw belongs to another releaser, and so to another plan or training.
    #[error("the draw is of releaser {sampled} of this process, and this is releaser {here}")]
    ForeignDraw {
        /// The number of the releaser that drew.
        sampled: u64,
        /// The number of the releaser that was asked to release.
        here: u64,
    },
    /// The draw is not the last one.
    #[error(
        "the draw is number {sampled} (for step {step}) of this releaser, and only its last one, \
         number {last}, can be released"
    )]
    StaleDraw {
        /// The number of the draw among the releaser's draws, from 1.
        sampled: u64,
        /// The step for which it was sampled, from 1.
        step: u64,
        /// The number of the last draw.
        last: u64,
    },
    /// A step is beyond the plan.
    #[error("step {step} is refused: the plan has {steps} steps")]
    BeyondPlan {
        /// The step, from 1.
        step: u64,
        /// The plan's steps.
        steps: u64,
    },
    /// A release is not in the plan.
    #[error("the release {name:?} is not planned: the other releases of the plan are {planned:?}")]
    NotPlanned {
        /// The requested release.
        name: String,
        /// The releases of the plan.
        planned: Vec<String>,
    },
    /// A release was requested with other noise than planned.
    #[error(
        "the release {name:?} is planned with {planned} noise, and was asked for with {asked} noise"
    )]
    OtherNoise {
        /// The release.
        name: String,
        /// The noise in the plan.
        planned: &'static str,
        /// The requested noise.
        asked: &'static str,
    },
    /// A release was made before; the plan holds it once.
    #[error("the release {name:?} was made before: the plan has it once")]
    ReleasedTwice {
        /// The release.
        name: String,
    },
    /// Two releases of a plan have one name.
    #[error("two releases of the plan are named {name:?}: give each its own name")]
    SameName {
        /// The name.
        name: String,
    },
    /// The gradient that reached the mechanism holds a NaN or an infinity.
    // The number of such entries is a function of private records.
    #[error("the clipped gradient is not finite in some of {total} entries: nothing was released")]
    NotFinite {
        /// The number of all entries.
        total: usize,
    },
    /// A value is beyond the grid of its noise.
    // Its place and size are functions of private records.
    #[error(
        "a value is too large for the grid of its noise: expected sizes below {bound:e}, 2^28 times the scale of the \
         noise; nothing was released"
    )]
    BeyondGrid {
        /// The public bound of every size: `2^28` times the scale of the noise.
        bound: f64,
    },
    /// Shapes do not fit each other.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// The place of the mismatch.
        what: &'static str,
        /// The expected size.
        expected: usize,
        /// The size that was found.
        found: usize,
    },
    /// A device gave no answer; nothing was released.
    #[error("the device gave no answer, and nothing was released: {message}")]
    Device {
        /// The device's message.
        message: String,
    },
    /// The ledger could not be written, so nothing was released.
    #[error("the ledger {path} could not be written, and nothing was released: {source}")]
    Ledger {
        /// The ledger's file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The ledger's file cannot be read.
    #[error("the ledger {path} could not be read: {source}")]
    LedgerUnread {
        /// The ledger's file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// A line of a ledger is not an entry.
    #[error("the ledger {path}, line {line}: {reason}")]
    LedgerFormat {
        /// The ledger's file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// The reason.
        reason: String,
    },
    /// The accountant returned an error.
    #[error(transparent)]
    Accounting(#[from] AccountingError),
}
