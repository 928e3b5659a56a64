use data::DataError;
use dp_core::DpError;
use private_queries::QueryError;
use private_training::TrainingError;

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum SynthError {
    /// The records cannot be read, or are not those of the schema.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A query is refused.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The plan is refused, or the ledger cannot be written.
    #[error(transparent)]
    Privacy(#[from] DpError),
    /// A network cannot be had, or does not fit its weights.
    #[error(transparent)]
    Training(#[from] TrainingError),
    /// The operating system gives no secret randomness.
    #[error("{0}")]
    Randomness(String),
    /// Columns of which nobody has said that their values, bounds and type may be public.
    #[error(
        "{} columns are not confirmed: {}: say public = true for each column whose values, bounds and type may be known to \
         everybody; ignore the others",
        columns.len(),
        columns.join(", ")
    )]
    Unconfirmed {
        /// Their names.
        columns: Vec<String>,
    },
    /// Columns and values that have more pairs than are counted.
    #[error(
        "the pairs of columns and values have {found} counts: expected at most {most}: ignore columns, or join values"
    )]
    TooManyCounts {
        /// How many there would be.
        found: usize,
        /// How many are counted at most.
        most: usize,
    },
    /// Classes, cells and dimensions that have more values than a release has room for.
    #[error(
        "classes, cells and dimensions make {found} values: expected at most {most}: take fewer dimensions or cells"
    )]
    TooManyValues {
        /// How many there would be.
        found: usize,
        /// How many a release has at most.
        most: usize,
    },
    /// A label without other columns.
    #[error("label '{label}': expected a column beside others that depend on it")]
    LabelAlone {
        /// Its name.
        label: String,
    },
    /// Rules that sampled records do not keep.
    #[error(
        "{kept} of {sampled} sampled records keep the rules between columns of the schema: expected one in 1000 or more"
    )]
    Rules {
        /// How many do.
        kept: usize,
        /// How many were sampled.
        sampled: usize,
    },
}
