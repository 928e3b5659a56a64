//! What a query is.

use dp_core::mechanism::{NoisyVector, SensitiveVector};
use swd::SwdError;
use thiserror::Error;

/// What is measured of all private records at once, and read back from its noisy values.
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
    /// What noisy values say.
    type Answer;

    /// How many values are measured: public.
    fn len(&self) -> usize;

    /// Never: a query without values is refused where it is made.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Exact values, with how far replacing one record moves them.
    ///
    /// # Errors
    ///
    /// For what is wrong with the public side: lengths, groups that there are not. A record that is not finite is no
    /// error, which would tell about it: it counts as a public one.
    fn measure(&self, records: &Self::Records) -> Result<SensitiveVector, QueryError>;

    /// The same of a part of the records, where they lie in several processes or are more than memory holds: the values of
    /// all parts add up to those of the whole.
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
    /// As [`Query::measure`], and [`QueryError::NoSum`] for a query whose values are no sums over records.
    fn measure_part(&self, _records: &Self::Records) -> Result<SensitiveVector, QueryError> {
        Err(QueryError::NoSum)
    }

    /// What noisy values say: a function of them and of public things alone.
    ///
    /// # Errors
    ///
    /// [`QueryError::Length`] for values of another query, [`QueryError::NotFinite`] for a value that is none.
    fn read(&self, noisy: &NoisyVector) -> Result<Self::Answer, QueryError>;

    /// Public values that the query was made of and that another process may compute slightly otherwise: a release that
    /// was stored is of this query where they are the same.
    fn made_of(&self) -> Vec<f64> {
        Vec::new()
    }
}

/// What is wrong with a query, with the records that it is asked of, or with the values that it is read from.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum QueryError {
    /// A count that must not be zero.
    #[error("{what} must be at least 1, found 0")]
    Empty {
        /// The quantity.
        what: &'static str,
    },
    /// A count below what is needed.
    #[error("{what} must be at least {least}, found {found}")]
    TooFew {
        /// The quantity.
        what: &'static str,
        /// What is needed.
        least: usize,
        /// The count.
        found: usize,
    },
    /// A length that does not fit.
    #[error("{what} has length {found}, expected {expected}")]
    Length {
        /// The argument.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that fits.
        expected: usize,
    },
    /// A value that is a NaN or an infinity, or a deviation below 0.
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
    /// A value or a cell that there is not: which one is a record's.
    #[error("a record has a {what} that there is not: there are {count}")]
    NotThere {
        /// What it has.
        what: &'static str,
        /// How many there are.
        count: usize,
    },
    /// Records that lie in several processes, and a query that needs them in one.
    #[error(
        "the values of this query are no sums over records: it is asked of all of them in one process"
    )]
    NoSum,
    /// Rows that are not whole: how many values they have is a record's.
    #[error("{what} are not whole: their values are no multiple of {dim}")]
    Ragged {
        /// The rows.
        what: &'static str,
        /// Values of a row.
        dim: usize,
    },
    /// Groups that were not counted on the same slices.
    #[error(
        "group {group} has marginals on other slices than group 0: count all groups on the same slices"
    )]
    OtherSlices {
        /// The first such group.
        group: usize,
    },
    /// Slices or bins that are refused.
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

/// Refuses rows that are not whole.
pub(crate) fn whole(what: &'static str, values: usize, dim: usize) -> Result<(), QueryError> {
    match dim > 0 && values.is_multiple_of(dim) {
        true => Ok(()),
        false => Err(QueryError::Ragged { what, dim }),
    }
}

/// Refuses noisy values of another number, or that are not finite, and a deviation that is none.
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
