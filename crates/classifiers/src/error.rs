//! The errors of features and heads.

use dp_core::DpError;

/// What a feature, a head or a model of a table is refused for. No error holds a value of a record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClassifierError {
    /// A setting or a size is out of range.
    #[error("{name} is {value}, expected {bound}")]
    OutOfRange {
        /// The name of the setting or size.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What it must be.
        bound: String,
    },
    /// Some values are not finite.
    #[error("{name}: a value is not finite; expected numbers")]
    NotFinite {
        /// The name of the values.
        name: &'static str,
    },
    /// The covariance of public rows has no Cholesky decomposition.
    #[error("the covariance of {rows} public rows cannot be inverted; give more of them")]
    Singular {
        /// The number of rows.
        rows: usize,
    },
    /// A code that its column does not have. The code itself is not named, because it belongs to a record.
    #[error("codes of a table: column {column} holds a code that is not below its {codes} codes")]
    Code {
        /// The column.
        column: usize,
        /// The number of codes of that column.
        codes: usize,
    },
    /// The plan is of batches, and each step is of all records.
    #[error(
        "the sampler of the plan is another one than that of all records; expected Sampler::all"
    )]
    Sampler,
    /// The plan or the releaser refuses.
    #[error(transparent)]
    Privacy(#[from] DpError),
}

impl ClassifierError {
    pub(crate) fn range(name: &'static str, value: f64, bound: impl Into<String>) -> Self {
        let bound = bound.into();
        Self::OutOfRange { name, value, bound }
    }
}

/// Refuses a count of values that is not that of whole rows, at least one.
pub(crate) fn rows_of(
    name: &'static str,
    values: usize,
    width: usize,
) -> Result<usize, ClassifierError> {
    if values > 0 && values.is_multiple_of(width) {
        return Ok(values / width);
    }
    let bound = format!("a multiple of {width}, at least once");
    Err(ClassifierError::range(name, values as f64, bound))
}
