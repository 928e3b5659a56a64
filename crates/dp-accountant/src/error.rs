//! What can go wrong between a private record and a released gradient.
//!
//! One enum for this crate and for `dp-core`, which is built on it: who plans, draws and releases handles one type.
//! The cases that name a layer, a draw or a device are `dp-core`'s.
//!
//! ```
//! use dp_accountant::sampling::Sampler;
//!
//! let refused = Sampler::fixed_size(100, 600).expect_err("more than there are");
//! assert!(refused.to_string().contains("batch of 600, expected 1 to 100"));
//! ```

use crate::accounting::AccountingError;

/// Errors of this crate and of `dp-core`. Each names the value and the bound that it broke; none holds what is private, as
/// `Debug`, by which `main` prints an error that it returns, hides nothing.
#[derive(Debug, thiserror::Error)]
pub enum DpError {
    /// A parameter of a plan or a mechanism lies outside its range.
    #[error("{name} = {value} is refused: it must be {bound}")]
    OutOfRange {
        /// What the value is.
        name: &'static str,
        /// The value found.
        value: f64,
        /// The bound it must respect, in words.
        bound: String,
    },
    /// A batch that the data cannot fill.
    #[error("{what}: batch of {batch}, expected 1 to {records}, its number of records; {advice}")]
    Batch {
        /// The whole data, or a group of it.
        what: String,
        /// The batch size.
        batch: usize,
        /// The number of records.
        records: usize,
        /// What to do.
        advice: &'static str,
    },
    /// A group, or a list of groups, that has nothing to sample from.
    #[error("{what} is empty: expected at least 1 {expected}; remove it, or give it some")]
    Empty {
        /// The group or the list.
        what: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// Two lists that belong together have different lengths.
    #[error("{found} batch sizes for {groups} groups: expected {groups}, one for each group")]
    GroupCount {
        /// The number of groups.
        groups: usize,
        /// The number of batch sizes.
        found: usize,
    },
    /// A record that is in two groups, or twice in one.
    #[error(
        "record {record} is in the groups more than once (in {first} and {second}): \
         expected each record in one group, once"
    )]
    SharedRecord {
        /// The record's index.
        record: usize,
        /// A group that holds it.
        first: usize,
        /// A group that holds it too, or the same group.
        second: usize,
    },
    /// What is to be released is a sum over other numbers of records than were sampled. With Poisson sampling
    /// these numbers are secret, and no error holds them.
    #[error(
        "what is summed has other numbers of records in its groups than the draw: sum the records of the draw"
    )]
    SampledSizes,
    /// A draw of another releaser, and so of another plan or training.
    #[error("the draw is of releaser {sampled} of this process, and this is releaser {here}")]
    ForeignDraw {
        /// The releaser that drew.
        sampled: u64,
        /// The releaser that was asked to release.
        here: u64,
    },
    /// A draw that is not the last one.
    #[error(
        "the draw is number {sampled} (for step {step}) of this releaser, and only its last one, \
         number {last}, can be released"
    )]
    StaleDraw {
        /// Which of the releaser's draws it is, from 1.
        sampled: u64,
        /// The step that it was sampled for, from 1.
        step: u64,
        /// The number of its last draw.
        last: u64,
    },
    /// A step that the plan does not hold.
    #[error("step {step} is refused: the plan has {steps} steps")]
    BeyondPlan {
        /// The step, from 1.
        step: u64,
        /// The plan's steps.
        steps: u64,
    },
    /// A release that the plan does not hold.
    #[error("the release {name:?} is not planned: the other releases of the plan are {planned:?}")]
    NotPlanned {
        /// The release asked for.
        name: String,
        /// The releases of the plan.
        planned: Vec<String>,
    },
    /// A release with another noise than the plan's.
    #[error(
        "the release {name:?} is planned with {planned} noise, and was asked for with {asked} noise"
    )]
    OtherNoise {
        /// The release.
        name: String,
        /// The noise in the plan.
        planned: &'static str,
        /// The noise asked for.
        asked: &'static str,
    },
    /// A release that was made before; the plan holds it once.
    #[error("the release {name:?} was made before: the plan has it once")]
    ReleasedTwice {
        /// The release.
        name: String,
    },
    /// Two releases of a plan with one name.
    #[error("two releases of the plan are named {name:?}: give each its own name")]
    SameName {
        /// The name.
        name: String,
    },
    /// The gradient that reached the mechanism holds a NaN or an infinity.
    // How many are not is a function of private records.
    #[error("the clipped gradient is not finite in some of {total} entries: nothing was released")]
    NotFinite {
        /// How many entries there are.
        total: usize,
    },
    /// A value that lies beyond the grid of its noise.
    // Which one it is, and its size, are functions of private records.
    #[error(
        "a value is too large for the grid of its noise: expected sizes below {bound:e}, 2^28 times the scale of the \
         noise; nothing was released"
    )]
    BeyondGrid {
        /// What every size must be below, public: `2^28` times the scale of the noise.
        bound: f64,
    },
    /// Shapes that do not fit each other.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// Where.
        what: &'static str,
        /// The size expected.
        expected: usize,
        /// The size found.
        found: usize,
    },
    /// A device that gave no answer; nothing was released.
    #[error("the device gave no answer, and nothing was released: {message}")]
    Device {
        /// Its message.
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
    /// A ledger whose file cannot be read.
    #[error("the ledger {path} could not be read: {source}")]
    LedgerUnread {
        /// The ledger's file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// A line of a ledger that is no entry.
    #[error("the ledger {path}, line {line}: {reason}")]
    LedgerFormat {
        /// The ledger's file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The accountant refused.
    #[error(transparent)]
    Accounting(#[from] AccountingError),
}
