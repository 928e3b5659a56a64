use rand::{Rng, RngExt};

use crate::DpError;

/// Samples each of the records `0..records` independently with probability `rate`; the number of records is public.
///
/// Neighbours are two data sets of as many records, one of which counts in the first and is blank in the second
/// ([`Neighbours::ZeroOut`](crate::accounting::Neighbours::ZeroOut)). A batch may have any size, none at all included, and
/// its size is as secret as the batch. What is released is a sum over it, divided by the expected size
/// `rate * records`. Rate, divisor and noise may rest on the number of records under this relation alone: where one data
/// set has a record more than the other, they would tell the two apart. [`AddRemoveSampler`](super::AddRemoveSampler) is
/// for that.
///
/// ```
/// use dp_accountant::sampling::PoissonSampler;
/// use rand::SeedableRng;
///
/// let sampler = PoissonSampler::new(60_000, 0.01)?;
/// let batch = sampler.sample(&mut rand_chacha::ChaCha20Rng::seed_from_u64(1));
/// assert!((450..750).contains(&batch.len()));
/// assert_eq!(sampler.expected(), 600.0);
/// # Ok::<(), dp_accountant::DpError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoissonSampler {
    records: usize,
    rate: f64,
}

impl PoissonSampler {
    /// A sampler of each of `records` with probability `rate`.
    ///
    /// # Errors
    /// [`DpError::Empty`] without records, [`DpError::OutOfRange`] unless `rate` is in (0, 1].
    pub fn new(records: usize, rate: f64) -> Result<Self, DpError> {
        if records == 0 {
            return Err(DpError::Empty {
                what: "the data".into(),
                expected: "record",
            });
        }
        check_rate(rate)?;
        Ok(Self { records, rate })
    }

    /// The number of records.
    pub fn records(&self) -> usize {
        self.records
    }

    /// The probability that a record is in a batch.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The expected size of a batch, rate * records.
    pub fn expected(&self) -> f64 {
        self.rate * self.records as f64
    }

    /// Samples a batch: distinct indices in ascending order, possibly none.
    ///
    /// A record is in it with a probability of at most the rate and at least the rate less 2^-64.
    pub fn sample<R: Rng + ?Sized>(&self, generator: &mut R) -> Vec<usize> {
        each_by_itself(self.records, self.rate, generator)
    }
}

pub(super) fn check_rate(rate: f64) -> Result<(), DpError> {
    if rate > 0.0 && rate <= 1.0 {
        return Ok(());
    }
    Err(DpError::OutOfRange {
        name: "rate",
        value: rate,
        bound: "above 0 and at most 1".into(),
    })
}

/// Those of `0..records` that are in a batch, each with probability `rate`.
pub(super) fn each_by_itself<R: Rng + ?Sized>(
    records: usize,
    rate: f64,
    generator: &mut R,
) -> Vec<usize> {
    (0..records)
        .filter(|_| generator.random_bool(rate))
        .collect()
}
