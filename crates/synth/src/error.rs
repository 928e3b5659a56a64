use data::DataError;
use dp_core::DpError;
use private_classifiers::ClassifierError;
use private_queries::QueryError;
use private_training::TrainingError;

/// The reason why a copy could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SynthError {
    /// The records cannot be read, or do not match the schema.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A query returned an error.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The plan was refused, or the ledger cannot be written.
    #[error(transparent)]
    Privacy(#[from] DpError),
    /// A network cannot be made, or does not fit its weights.
    #[error(transparent)]
    Training(#[from] TrainingError),
    /// The operating system gave no secret randomness.
    #[error("{0}")]
    Randomness(String),
    /// Nobody confirmed that the values, bounds and type of these columns may be public.
    #[error(
        "{} columns are not confirmed: {}: say public = true for each column whose values, bounds and type may be known to \
         everybody; ignore the others",
        columns.len(),
        columns.join(", ")
    )]
    Unconfirmed {
        /// The names of the columns.
        columns: Vec<String>,
    },
    /// There are more classes than the noisy counts can tell apart.
    #[error(
        "noise leaves an accuracy of {} at most of {classes} classes, if they have equally many records, where chance has {}: give more \
         records or a larger epsilon, join classes, or say that some are rare or absent (--rare-classes)",
        (most * 1000.0).round() / 1000.0,
        (1000.0 / *classes as f64).round() / 1000.0
    )]
    TooManyClasses {
        /// The number of classes.
        classes: usize,
        /// The accuracy if every other column told the label by itself.
        most: f64,
    },
    /// Pairs of columns have more counts than the maximum.
    #[error(
        "the pairs of columns and values have {found} counts: expected at most {most}: ignore columns, or join values"
    )]
    TooManyCounts {
        /// The number of counts.
        found: usize,
        /// The maximum number of counts.
        most: usize,
    },
    /// Classes, cells and dimensions have more values than the maximum of a release.
    #[error(
        "classes, cells and dimensions make {found} values: expected at most {most}: take fewer dimensions or cells"
    )]
    TooManyValues {
        /// The number of values.
        found: usize,
        /// The maximum number of values.
        most: usize,
    },
    /// The table has a label and no other column.
    #[error("label '{label}': expected a column beside others that depend on it")]
    LabelAlone {
        /// The name of the label.
        label: String,
    },
    /// The table has no label that a model could tell.
    #[error("no column of 2 to 64 values is the label: expected one")]
    Unlabelled,
    /// A model of the label cannot be learned.
    #[error(transparent)]
    Model(#[from] ClassifierError),
    /// Too few sampled records keep the rules of the schema.
    #[error(
        "{kept} of {sampled} sampled records keep the rules between columns of the schema: expected one in 1000 or more"
    )]
    Rules {
        /// The number of records that keep them.
        kept: usize,
        /// The number of sampled records.
        sampled: usize,
    },
}
