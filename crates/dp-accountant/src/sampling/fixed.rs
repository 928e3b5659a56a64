use rand::Rng;
use rand::seq::index;

use super::check_batch;
use crate::DpError;

/// Draws a uniformly random set of exactly `batch` of the records `0..records`.
///
/// Each of the C(records, batch) sets is equally likely at each call, independently of the calls
/// before and of what the records hold, so each record is sampled with probability
/// [`rate`](Self::rate) = batch / records. This is the sampling that accountants for fixed-size
/// batches without replacement assume; neighbours replace one record.
///
/// That probability hides a record only from someone who does not know the batches: private training
/// needs a generator seeded by the operating system, and no publication of what it draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedSizeSampler {
    records: usize,
    batch: usize,
}

impl FixedSizeSampler {
    /// A sampler of `batch` out of `records`.
    ///
    /// # Errors
    /// [`DpError::Batch`] unless `batch` is in 1..=`records`.
    pub fn new(records: usize, batch: usize) -> Result<Self, DpError> {
        check_batch("the data", records, batch)?;
        Ok(Self { records, batch })
    }

    /// The number of records.
    pub fn records(&self) -> usize {
        self.records
    }

    /// The number of records in each batch.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// The probability that a record is in a batch, batch / records.
    pub fn rate(&self) -> f64 {
        self.batch as f64 / self.records as f64
    }

    /// Draws a batch: distinct indices in ascending order.
    ///
    /// The order is that of the indices, so it tells nothing that the set does not; but the place of a
    /// record in it tells something of the record. Accountants amplify what depends on the set alone:
    /// release sums over the batch, or values whose order is gone before they leave.
    pub fn sample<R: Rng + ?Sized>(&self, generator: &mut R) -> Vec<usize> {
        let mut indices = index::sample(generator, self.records, self.batch).into_vec();
        indices.sort_unstable();
        indices
    }
}
