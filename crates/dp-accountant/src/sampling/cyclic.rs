use super::check_batch;
use crate::DpError;
use crate::accounting::Neighbours;

/// All records in turn, in batches of one size, in one order for all cycles. Nothing is amplified: each record is in one step
/// of each cycle. Neighbours replace one record, or one counts or is blank ([`CyclicSampler::zero_out`]).
///
/// ```
/// use dp_accountant::sampling::CyclicSampler;
///
/// let sampler = CyclicSampler::new(6, 2)?;
/// assert_eq!([1, 2, 3, 4].map(|step| sampler.sample(step)), [[0, 3], [1, 4], [2, 5], [0, 3]]);
/// # Ok::<(), dp_accountant::DpError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CyclicSampler {
    records: usize,
    batch: usize,
    neighbours: Neighbours,
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
        check_batch("the data", records, batch)?;
        if records.is_multiple_of(batch) {
            return Ok(Self {
                records,
                batch,
                neighbours: Neighbours::ReplaceOne,
            });
        }
        Err(DpError::Batch {
            what: "a cycle of batches of all records".into(),
            batch,
            records,
            advice: "take a batch that divides their number",
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

    /// Steps of a cycle: records / batch.
    pub fn period(&self) -> usize {
        self.records / self.batch
    }

    /// The records of a step, from 1, in ascending order.
    pub fn sample(&self, step: u64) -> Vec<usize> {
        let period = self.period();
        let first = (step.wrapping_sub(1) % period as u64) as usize;
        (first..self.records).step_by(period).collect()
    }
}
