use rand::{Rng, RngExt};

use crate::DpError;

/// Draws each of the records `0..records` independently with probability `rate`.
///
/// Neighbours add or remove one record (Abadi et al. 2016, section 3.1). A batch may have any size,
/// none at all included, and its size is as secret as the batch: what is released is a sum over it,
/// divided by the expected size `rate * records`, which is public.
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
        if rate > 0.0 && rate <= 1.0 {
            return Ok(Self { records, rate });
        }
        Err(DpError::OutOfRange {
            name: "rate",
            value: rate,
            bound: "above 0 and at most 1".into(),
        })
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

    /// Draws a batch: distinct indices in ascending order, possibly none.
    ///
    /// A record is in it with a probability of at most the rate and at least the rate less 2^-64.
    pub fn sample<R: Rng + ?Sized>(&self, generator: &mut R) -> Vec<usize> {
        (0..self.records)
            .filter(|_| generator.random_bool(self.rate))
            .collect()
    }
}
