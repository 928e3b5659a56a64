//! The trait of queries, and their error.

use dp_core::mechanism::{NoisyVector, SensitiveVector};
use swd::SwdError;
use thiserror::Error;

/// A query measures all private records at once and is read back from the noisy values.
///
/// ```
/// use dp_core::mechanism::NoisyVector;
/// use private_queries::{Contingency, Query};
///
/// let query = Contingency::joint([2, 3])?;
/// let measured = query.measure(&[0, 0, 1, 2, 1, 2])?;
/// // A releaser adds the noise here, and writes it to the ledger before.
/// let tables = query.read(&NoisyVector::without_privacy(measured))?;
/// assert_eq!(tables[0].counts, [1.0, 0.0, 0.0, 0.0, 0.0, 2.0]);
/// # Ok::<(), private_queries::QueryError>(())
/// ```
pub trait Query {
    /// The private records.
    type Records: ?Sized;
    /// The answer that noisy values give.
    type Answer;

    /// Returns the number of measured values, which is public.
    fn len(&self) -> usize;

    /// Returns `false`, because constructors refuse a query without values.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Computes the exact values and their sensitivity to replacing one record.
    ///
    /// # Errors
    ///
    /// Returns an error if a public input is wrong: a length, or a group that does not exist. A record that is not finite is
    /// no error, because an error would reveal it: a public record replaces it.
    fn measure(&self, records: &Self::Records) -> Result<SensitiveVector, QueryError>;

    /// Computes the values of a part of the records, if they lie in several processes or exceed memory. The values of all parts
    /// add up to those of all records.
    ///
    /// ```
    /// use private_queries::{Moments, Query};
    ///
    /// let query = Moments::labelled(1, 2, 1.0);
    /// let mut blocks = [[0.1, 0.2, 0.3, 0.2], [0.5, 0.5, -0.5, 0.0]].into_iter();
    /// let mut measured = query.measure_part(&[Vec::new()])?;
    /// while let Some(block) = blocks.next() {
    ///     measured = measured.plus(&query.measure_part(&[block.to_vec()])?)?;
    /// }
    /// let whole = query.measure(&[vec![0.1, 0.2, 0.3, 0.2, 0.5, 0.5, -0.5, 0.0]])?;
    /// assert_eq!(measured.sensitivity_upper(), whole.sensitivity_upper());
    /// assert!(measured.before_noise().iter().zip(whole.before_noise()).all(|(a, b)| (a - b).abs() < 1e-12));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Query::measure`], and [`QueryError::NoSum`] if the query's values are not sums over records.
    fn measure_part(&self, _records: &Self::Records) -> Result<SensitiveVector, QueryError> {
        Err(QueryError::NoSum)
    }

    /// Reads the answer from noisy values and public inputs alone, so this is post-processing.
    ///
    /// # Errors
    ///
    /// Returns [`QueryError::Length`] for the values of another query, [`QueryError::NotFinite`] for a value that is not finite.
    fn read(&self, noisy: &NoisyVector) -> Result<Self::Answer, QueryError>;

    /// Returns the public values that the query was made of and that another process may round differently. A stored release
    /// belongs to this query if these values agree.
    fn made_of(&self) -> Vec<f64> {
        Vec::new()
    }
}

/// The error of a query, of the records that it measures, or of the noisy values that it reads.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum QueryError {
    /// A count is zero.
    #[error("{what} must be at least 1, found 0")]
    Empty {
        /// The quantity.
        what: &'static str,
    },
    /// A count is below the minimum.
    #[error("{what} must be at least {least}, found {found}")]
    TooFew {
        /// The quantity.
        what: &'static str,
        /// The minimum.
        least: usize,
        /// The count.
        found: usize,
    },
    /// A length does not fit.
    #[error("{what} has length {found}, expected {expected}")]
    Length {
        /// The argument.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that fits.
        expected: usize,
    },
    /// A value is not finite, or a standard deviation is below 0.
    #[error(
        "{what}: value {index} is {value}, expected a finite number, and of a deviation at least 0"
    )]
    NotFinite {
        /// The argument.
        what: &'static str,
        /// Its place.
        index: usize,
        /// The value.
        value: f64,
    },
    /// A record has a value or a cell that does not exist. The error does not reveal the value, which is private.
    #[error("a record has a {what} that there is not: there are {count}")]
    NotThere {
        /// The kind of value.
        what: &'static str,
        /// The number of values that exist.
        count: usize,
    },
    /// Records lie in several processes, but the query needs them in one.
    #[error(
        "the values of this query are no sums over records: it is asked of all of them in one process"
    )]
    NoSum,
    /// Rows are incomplete. The error does not reveal the number of values, which is private.
    #[error("{what} are not whole: their values are no multiple of {dim}")]
    Ragged {
        /// The rows.
        what: &'static str,
        /// The number of values in a row.
        dim: usize,
    },
    /// Groups were counted on different slices.
    #[error(
        "group {group} has marginals on other slices than group 0: count all groups on the same slices"
    )]
    OtherSlices {
        /// The first such group.
        group: usize,
    },
    /// Slices or bins are invalid.
    #[error(transparent)]
    Transport(#[from] SwdError),
}

/// Refuses a length that does not fit.
pub(crate) fn length(what: &'static str, found: usize, expected: usize) -> Result<(), QueryError> {
    if found == expected {
        return Ok(());
    }
    Err(QueryError::Length {
        what,
        found,
        expected,
    })
}

/// Refuses values that do not fill whole rows.
pub(crate) fn whole(what: &'static str, values: usize, dim: usize) -> Result<(), QueryError> {
    match dim > 0 && values.is_multiple_of(dim) {
        true => Ok(()),
        false => Err(QueryError::Ragged { what, dim }),
    }
}

/// Refuses noisy values of the wrong number, values that are not finite, and a deviation that is negative or not finite.
pub(crate) fn check_noisy(
    what: &'static str,
    values: &[f64],
    deviation: f64,
    expected: usize,
) -> Result<(), QueryError> {
    length(what, values.len(), expected)?;
    let all = values.iter().chain([&deviation]);
    let place = all.clone().position(|value| !value.is_finite());
    match place.or((deviation < 0.0).then_some(values.len())) {
        Some(index) => Err(QueryError::NotFinite {
            what,
            index,
            value: values.get(index).copied().unwrap_or(deviation),
        }),
        None => Ok(()),
    }
}
