use std::fmt;

use rand::Rng;

use super::poisson::{check_rate, each_by_itself};
use crate::DpError;

/// Samples each record independently with probability `rate`; how many records there are is private.
///
/// Neighbours add or remove one record (Abadi et al. 2016, section 3.1). So `rate` and `divisor`, what sums over a batch are
/// divided by, must be public numbers that do not come from the data: a rate of `batch / records` would say how many
/// records there are, and so would noise that is scaled by it. Sampling alone sees the number of records; nothing that
/// this type shows, its `Debug` included, depends on it.
///
/// A divisor is best near the size that a batch is expected to have; one that is too large only makes steps smaller.
///
/// ```
/// use dp_accountant::sampling::AddRemoveSampler;
///
/// // 59 873 records, a private number. Public: there are about 60 000, and batches of about 600 are wanted.
/// let sampler = AddRemoveSampler::new(59_873, 0.01, 600.0)?;
/// assert_eq!((sampler.rate(), sampler.divisor()), (0.01, 600.0));
/// assert!(!format!("{sampler:?}").contains("59873"));
/// # Ok::<(), dp_accountant::DpError>(())
/// ```
#[derive(Clone, Copy, PartialEq)]
pub struct AddRemoveSampler {
    /// Secret.
    records: usize,
    rate: f64,
    divisor: f64,
}

impl AddRemoveSampler {
    /// A sampler of each of `records`, of which there may be none, with probability `rate`.
    ///
    /// # Errors
    /// [`DpError::OutOfRange`] unless `rate` is in (0, 1] and `divisor` positive and finite.
    pub fn new(records: usize, rate: f64, divisor: f64) -> Result<Self, DpError> {
        check_rate(rate)?;
        if divisor.is_finite() && divisor > 0.0 {
            return Ok(Self {
                records,
                rate,
                divisor,
            });
        }
        Err(DpError::OutOfRange {
            name: "divisor",
            value: divisor,
            bound: "positive and finite".into(),
        })
    }

    /// The probability that a record is in a batch.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// What sums over a batch are divided by.
    pub fn divisor(&self) -> f64 {
        self.divisor
    }

    /// The number of records that the two public numbers speak of, divisor / rate.
    pub fn presumed_records(&self) -> f64 {
        self.divisor / self.rate
    }

    /// Whether the data has so many records.
    pub(super) fn is_of(&self, records: usize) -> bool {
        self.records == records
    }

    /// Samples a batch: distinct indices in ascending order, possibly none.
    ///
    /// A record is in it with a probability of at most the rate and at least the rate less 2^-64.
    pub fn sample<R: Rng + ?Sized>(&self, generator: &mut R) -> Vec<usize> {
        each_by_itself(self.records, self.rate, generator)
    }
}

impl fmt::Debug for AddRemoveSampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AddRemoveSampler")
            .field("rate", &self.rate)
            .field("divisor", &self.divisor)
            .finish_non_exhaustive()
    }
}
