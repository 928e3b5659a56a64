use rand::Rng;
use rand::seq::SliceRandom;

use super::check_batch;
use crate::DpError;
use crate::accounting::Neighbours;

/// All records in turn, in batches of one size: in one order for all cycles ([`CyclicSampler::new`]), or in a fresh one for
/// each epoch ([`CyclicSampler::shuffled`]). Nothing is amplified: each record is in one step of each cycle. Neighbours
/// replace one record, or one counts or is blank ([`CyclicSampler::zero_out`]).
///
/// ```
/// use dp_accountant::sampling::CyclicSampler;
/// use rand::SeedableRng;
///
/// let any = || rand_chacha::ChaCha20Rng::seed_from_u64(1);
/// let fixed = CyclicSampler::new(6, 2)?;
/// assert_eq!([1, 2, 3, 4].map(|step| fixed.sample(step, &mut any())), [[0, 3], [1, 4], [2, 5], [0, 3]]);
///
/// // Three batches of an epoch, and one record that is left over.
/// let shuffled = CyclicSampler::shuffled(7, 2)?;
/// let mut epoch = [1, 2, 3].map(|step| shuffled.sample(step, &mut any())).concat();
/// epoch.sort();
/// epoch.dedup();
/// assert_eq!(epoch.len(), 6);
/// # Ok::<(), dp_accountant::DpError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CyclicSampler {
    records: usize,
    batch: usize,
    neighbours: Neighbours,
    shuffled: bool,
}

impl CyclicSampler {
    /// Fixed batches of `batch` of `records`: those of step `s`, from 1, are the records `r` of `0..records` with `r = s - 1`
    /// modulo `records / batch`.
    ///
    /// The order is the same in every process, so that a training goes on in it. **Record `r` is the same one in every step**,
    /// also after a resume: with [correlated noise](crate::plan::TrainingPlan::correlated) no epsilon holds where records take
    /// part in steps that are closer together. Records whose order is itself a cycle should be shuffled once, before the first
    /// step, by public randomness.
    ///
    /// # Errors
    /// [`DpError::Batch`] unless `batch` is at least 1 and divides `records`.
    pub fn new(records: usize, batch: usize) -> Result<Self, DpError> {
        let sampler = Self::shuffled(records, batch)?;
        if records.is_multiple_of(batch) {
            return Ok(Self {
                shuffled: false,
                ..sampler
            });
        }
        Err(DpError::Batch {
            what: "a cycle of batches of all records".into(),
            batch,
            records,
            advice: "take a batch that divides their number",
        })
    }

    /// Batches of `batch` of `records` in a fresh random order for each epoch of `records / batch` steps, rounded down: what
    /// is left over of an order is dropped. An epoch costs one release of all records
    /// ([`Sampler::ShuffledUpper`](crate::accounting::Sampler::ShuffledUpper)), whoever knows the order, and so does one that
    /// ends early.
    ///
    /// Only what resumes with its secret noise state goes on in the order of its epoch; otherwise the rest of the epoch is
    /// in another, and costs a release more.
    ///
    /// # Errors
    /// [`DpError::Batch`] unless `batch` is in 1..=`records`.
    pub fn shuffled(records: usize, batch: usize) -> Result<Self, DpError> {
        check_batch("the data", records, batch)?;
        Ok(Self {
            records,
            batch,
            neighbours: Neighbours::ReplaceOne,
            shuffled: true,
        })
    }

    /// The same for neighbours of which one record counts or is blank, which adds nothing to any sum; the number of records,
    /// blank ones among them, is public. A record moves a sum half as far.
    #[must_use]
    pub fn zero_out(self) -> Self {
        Self {
            neighbours: Neighbours::ZeroOut,
            ..self
        }
    }

    /// The relation that a training hides a record under.
    pub fn neighbours(&self) -> Neighbours {
        self.neighbours
    }

    /// The number of records.
    pub fn records(&self) -> usize {
        self.records
    }

    /// The number of records in each batch.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Steps of a cycle, or of an epoch: records / batch, rounded down.
    pub fn period(&self) -> usize {
        self.records / self.batch
    }

    /// The epoch of a step, both from 1, that has an order of its own; none where batches are fixed.
    pub fn epoch(&self, step: u64) -> Option<u64> {
        self.shuffled.then(|| step.div_ceil(self.period() as u64))
    }

    /// The records of a step, from 1, in ascending order.
    ///
    /// - `generator`: of the order of the step's epoch, **in the same state for all of its steps**. Fixed batches do not look
    ///   at it.
    pub fn sample<R: Rng + ?Sized>(&self, step: u64, generator: &mut R) -> Vec<usize> {
        let period = self.period();
        let first = (step.wrapping_sub(1) % period as u64) as usize;
        if !self.shuffled {
            return (first..self.records).step_by(period).collect();
        }
        let mut order: Vec<usize> = (0..self.records).collect();
        order.shuffle(generator);
        let mut batch = order[first * self.batch..][..self.batch].to_vec();
        batch.sort_unstable();
        batch
    }
}
