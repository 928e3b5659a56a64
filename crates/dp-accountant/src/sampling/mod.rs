//! Samples the records of each step: a [`Sampler`] makes the batches and gives the accountants their distribution.
//!
//! | constructor | a batch | neighbours | [`BatchDistribution`] |
//! |---|---|---|---|
//! | [`Sampler::fixed_size`] | a fixed number of distinct records | replace one | `WithoutReplacement` |
//! | [`Sampler::stratified`] | a fixed number of each public stratum | replace one within its stratum | `Stratified` |
//! | [`Sampler::poisson_zero_out`] | each record independently | blank one; their number is public | `PoissonZeroOut` |
//! | [`Sampler::poisson_add_remove`] | each record independently | add or remove one | `Poisson` |
//! | [`Sampler::all`] | all records | replace one | none |
//! | [`Sampler::cyclic`] | fixed, in a cycle | replace one | none |
//! | [`Sampler::cyclic_zero_out`] | fixed, in a cycle | blank one; their number is public | none |
//!
//! ```
//! use dp_accountant::accounting::Neighbours;
//! use dp_accountant::sampling::Sampler;
//! use rand::SeedableRng;
//!
//! let sampler = Sampler::fixed_size(60_000, 600)?;
//! assert_eq!(sampler.neighbours(), Neighbours::ReplaceOne);
//! let strata = sampler.sample(1, &mut rand_chacha::ChaCha20Rng::seed_from_u64(1));
//! assert_eq!((strata.len(), strata[0].len()), (1, 600));
//! # Ok::<(), dp_accountant::DpError>(())
//! ```

mod split;

use std::fmt;

use rand::seq::index;
use rand::{Rng, RngExt};

pub use split::split_batch;

use crate::DpError;
use crate::accounting::{BatchDistribution, Neighbours, Stratum};

/// Makes the batch of each step, and gives its neighbour relation and its distribution for the accountants. A
/// [plan](crate::plan) owns one, so the sampler that is accounted for is the one that samples.
///
/// Sampling hides a record only from someone who does not know the batches. Private training needs a generator that the
/// operating system seeds, and must not publish the batches.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampler(Batches);

#[derive(Clone, Debug, PartialEq)]
enum Batches {
    FixedSize {
        records: usize,
        batch: usize,
    },
    Stratified {
        strata: Vec<Vec<usize>>,
        batches: Vec<usize>,
    },
    PoissonZeroOut {
        records: usize,
        rate: f64,
    },
    PoissonAddRemove {
        records: Secret,
        rate: f64,
        divisor: f64,
    },
    All {
        records: usize,
    },
    Cyclic {
        records: usize,
        batch: usize,
        neighbours: Neighbours,
    },
}

/// A private number of records, which `Debug` does not show.
#[derive(Clone, Copy, PartialEq)]
struct Secret(usize);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

impl Sampler {
    /// Samples uniformly a set of `batch` of the records `0..records`, anew at each step and independently of their values. Each
    /// record is in a batch with probability `batch / records`. Neighbours replace one record.
    ///
    /// # Errors
    /// Returns [`DpError::Batch`] unless `batch` is in 1..=`records`.
    pub fn fixed_size(records: usize, batch: usize) -> Result<Self, DpError> {
        check_batch("the data", records, batch)?;
        Ok(Self(Batches::FixedSize { records, batch }))
    }

    /// Samples uniformly a set of `batches[j]` of the record indices `strata[j]`, for each `j` and step independently.
    ///
    /// The strata (such as class labels) and their sizes are public. Neighbours replace one record within its stratum: the k-end
    /// relation of "Learning with differentially private sliced Wasserstein gradients", definition 2.1.
    ///
    /// # Errors
    /// Returns [`DpError::Empty`] without strata or with an empty stratum, [`DpError::StratumCount`] if the lists differ in length,
    /// [`DpError::Batch`] unless each batch is in 1..=size of its stratum, [`DpError::SharedRecord`] if the strata hold a
    /// record twice.
    pub fn stratified(strata: Vec<Vec<usize>>, batches: &[usize]) -> Result<Self, DpError> {
        if strata.is_empty() {
            return Err(empty("the list of strata".into(), "stratum"));
        }
        if strata.len() != batches.len() {
            return Err(DpError::StratumCount {
                strata: strata.len(),
                found: batches.len(),
            });
        }
        for (number, (stratum, &batch)) in strata.iter().zip(batches).enumerate() {
            let what = format!("stratum {number}");
            if stratum.is_empty() {
                return Err(empty(what, "record"));
            }
            check_batch(&what, stratum.len(), batch)?;
        }
        check_disjoint(&strata)?;
        let batches = batches.to_vec();
        Ok(Self(Batches::Stratified { strata, batches }))
    }

    /// Samples each record independently with probability `rate`, for a **public** number of records.
    ///
    /// Neighbours are two data sets of equal size; one record counts in the first and is blank in the second
    /// ([`Neighbours::ZeroOut`]). The size of a batch, which may be 0, is as secret as the batch: sums over it are divided by
    /// `rate * records`. Only under this relation may rate, divisor and noise depend on the number of records. If one data set
    /// had one record more than the other, they would distinguish the two: use [`Sampler::poisson_add_remove`] then.
    ///
    /// # Errors
    /// Returns [`DpError::Empty`] without records, and [`DpError::OutOfRange`] unless `rate` is in (0, 1].
    pub fn poisson_zero_out(records: usize, rate: f64) -> Result<Self, DpError> {
        some(records)?;
        check_rate(rate)?;
        Ok(Self(Batches::PoissonZeroOut { records, rate }))
    }

    /// Samples each record independently with probability `rate`, for a **private** number of records, which may be 0.
    ///
    /// Neighbours add or remove one record (Abadi et al. 2016, section 3.1). Sums over a batch are divided by `divisor`. `rate`
    /// and `divisor` must be public numbers that do not come from the data: a rate of `batch / records` would reveal the number
    /// of records, and so would noise scaled by it. The best divisor is near the expected size of a batch; a larger one only
    /// makes steps smaller.
    ///
    /// ```
    /// use dp_accountant::sampling::Sampler;
    ///
    /// // 59 873 records, a private number. Public: there are about 60 000, and batches of about 600 are wanted.
    /// let sampler = Sampler::poisson_add_remove(59_873, 0.01, 600.0)?;
    /// assert_eq!((sampler.records(), sampler.presumed_records()), (None, 60_000.0));
    /// assert!(!format!("{sampler:?}").contains("59873"));
    /// # Ok::<(), dp_accountant::DpError>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`DpError::OutOfRange`] unless `rate` is in (0, 1] and `divisor` is positive and finite.
    pub fn poisson_add_remove(records: usize, rate: f64, divisor: f64) -> Result<Self, DpError> {
        check_rate(rate)?;
        if !(divisor.is_finite() && divisor > 0.0) {
            return Err(DpError::OutOfRange {
                name: "divisor",
                value: divisor,
                bound: "positive and finite".into(),
            });
        }
        Ok(Self(Batches::PoissonAddRemove {
            records: Secret(records),
            rate,
            divisor,
        }))
    }

    /// Takes all of the records `0..records` at each step, without amplification. Neighbours replace one record.
    ///
    /// # Errors
    /// Returns [`DpError::Empty`] without records.
    pub fn all(records: usize) -> Result<Self, DpError> {
        some(records)?;
        Ok(Self(Batches::All { records }))
    }

    /// Takes all records in turn, in fixed batches of `batch` and without amplification. The batch of step `s`, from 1, has the
    /// records `r` of `0..records` with `r = s - 1` modulo `records / batch`, so each record is in one step of each cycle.
    /// Neighbours replace one record.
    ///
    /// The order is the same in every process, so a training can resume. **Record `r` must be the same one in every step**, also
    /// after a resume: with [correlated noise](crate::plan::TrainingPlan::correlated) no epsilon holds if records take part in
    /// steps that are closer together. Shuffle records whose order is itself a cycle once, before the first step, by public
    /// randomness.
    ///
    /// ```
    /// use dp_accountant::sampling::Sampler;
    ///
    /// let (sampler, rng) = (Sampler::cyclic(6, 2)?, &mut rand::rng());
    /// assert_eq!([1, 2, 3, 4].map(|step| sampler.sample(step, rng)), [[[0, 3]], [[1, 4]], [[2, 5]], [[0, 3]]]);
    /// # Ok::<(), dp_accountant::DpError>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`DpError::Batch`] unless `batch` is at least 1 and divides `records`.
    pub fn cyclic(records: usize, batch: usize) -> Result<Self, DpError> {
        Self::in_turn(records, batch, Neighbours::ReplaceOne)
    }

    /// Takes all records in turn as [`Sampler::cyclic`] does, for neighbours that blank one record. A blank record adds nothing
    /// to any sum, so a record moves a sum half as far. The number of records, with blank ones, is public.
    ///
    /// # Errors
    /// Returns the errors of [`Sampler::cyclic`].
    pub fn cyclic_zero_out(records: usize, batch: usize) -> Result<Self, DpError> {
        Self::in_turn(records, batch, Neighbours::ZeroOut)
    }

    fn in_turn(records: usize, batch: usize, neighbours: Neighbours) -> Result<Self, DpError> {
        check_batch("the data", records, batch)?;
        if !records.is_multiple_of(batch) {
            return Err(DpError::Batch {
                what: "a cycle of batches of all records".into(),
                batch,
                records,
                advice: "take a batch that divides their number",
            });
        }
        Ok(Self(Batches::Cyclic {
            records,
            batch,
            neighbours,
        }))
    }

    /// Returns the number of all records, or `None` if it is private.
    pub fn records(&self) -> Option<usize> {
        match &self.0 {
            Batches::FixedSize { records, .. }
            | Batches::PoissonZeroOut { records, .. }
            | Batches::All { records }
            | Batches::Cyclic { records, .. } => Some(*records),
            Batches::Stratified { strata, .. } => Some(strata.iter().map(Vec::len).sum()),
            Batches::PoissonAddRemove { .. } => None,
        }
    }

    /// Returns the number of records, or `divisor / rate` if it is private, with which delta is compared.
    pub fn presumed_records(&self) -> f64 {
        match self.0 {
            Batches::PoissonAddRemove { rate, divisor, .. } => divisor / rate,
            _ => self.records().unwrap_or_default() as f64,
        }
    }

    /// Returns whether the data has this number of records. The answer is as private as their number.
    pub fn is_of(&self, records: usize) -> bool {
        match self.0 {
            Batches::PoissonAddRemove { records: own, .. } => own.0 == records,
            _ => self.records() == Some(records),
        }
    }

    /// Returns the neighbour relation under which sampled records are protected.
    pub fn neighbours(&self) -> Neighbours {
        match self.0 {
            Batches::FixedSize { .. } | Batches::All { .. } => Neighbours::ReplaceOne,
            Batches::Stratified { .. } => Neighbours::KEnd,
            Batches::PoissonZeroOut { .. } => Neighbours::ZeroOut,
            Batches::PoissonAddRemove { .. } => Neighbours::AddRemove,
            Batches::Cyclic { neighbours, .. } => neighbours,
        }
    }

    /// Returns the distribution of the batches for accountants, or `None` if they are fixed.
    pub fn distribution(&self) -> Option<BatchDistribution> {
        match &self.0 {
            Batches::FixedSize { records, batch } => Some(BatchDistribution::WithoutReplacement {
                records: *records as u64,
                batch: *batch as u64,
            }),
            Batches::Stratified { strata, batches } => {
                let sizes = strata.iter().zip(batches);
                let strata = sizes.map(|(stratum, &batch)| Stratum {
                    records: stratum.len() as u64,
                    batch: batch as u64,
                });
                Some(BatchDistribution::Stratified {
                    strata: strata.collect(),
                })
            }
            &Batches::PoissonZeroOut { rate, .. } => {
                Some(BatchDistribution::PoissonZeroOut { rate })
            }
            &Batches::PoissonAddRemove { rate, .. } => Some(BatchDistribution::Poisson { rate }),
            Batches::Cyclic { .. } | Batches::All { .. } => None,
        }
    }

    /// Returns the number of steps of a cycle, `records / batch`, or `None` if batches do not form a cycle.
    pub(crate) fn period(&self) -> Option<u64> {
        match self.0 {
            Batches::Cyclic { records, batch, .. } => Some((records / batch) as u64),
            _ => None,
        }
    }

    /// Returns the public number by which sums over each stratum of a batch are divided: its size if that is fixed, its mean with
    /// Poisson sampling of a public number of records, and the divisor for a private number.
    pub fn expected_sizes(&self) -> Vec<f64> {
        match &self.0 {
            Batches::FixedSize { batch, .. } | Batches::Cyclic { batch, .. } => {
                vec![*batch as f64]
            }
            Batches::Stratified { batches, .. } => batches.iter().map(|&b| b as f64).collect(),
            Batches::PoissonZeroOut { records, rate } => vec![rate * *records as f64],
            Batches::PoissonAddRemove { divisor, .. } => vec![*divisor],
            Batches::All { records } => vec![*records as f64],
        }
    }

    /// Samples the batch of a step, from 1: the distinct record indices of each stratum, in ascending order or in that of the
    /// stratum's list.
    ///
    /// Fixed batches depend on the step alone, and other batches on the generator alone. With Poisson sampling a record is in the
    /// batch with a probability of at most the rate and at least the rate less 2^-64. The place of a record in a batch reveals
    /// something about the record, so release sums over a batch. Private training samples by a plan's releaser; this method is
    /// for training without privacy.
    pub fn sample<R: Rng + ?Sized>(&self, step: u64, generator: &mut R) -> Vec<Vec<usize>> {
        match &self.0 {
            &Batches::FixedSize { records, batch } => vec![subset(records, batch, generator)],
            Batches::Stratified { strata, batches } => {
                let strata = strata.iter().zip(batches);
                let sample = |(stratum, &batch): (&Vec<usize>, &usize)| {
                    let places = subset(stratum.len(), batch, generator);
                    places.into_iter().map(|place| stratum[place]).collect()
                };
                strata.map(sample).collect()
            }
            &Batches::PoissonZeroOut { records, rate }
            | &Batches::PoissonAddRemove {
                records: Secret(records),
                rate,
                ..
            } => {
                let each = (0..records).filter(|_| generator.random_bool(rate));
                vec![each.collect()]
            }
            &Batches::All { records } => vec![(0..records).collect()],
            &Batches::Cyclic { records, batch, .. } => {
                let period = records / batch;
                let first = (step.wrapping_sub(1) % period as u64) as usize;
                vec![(first..records).step_by(period).collect()]
            }
        }
    }
}

/// Samples a set of `batch` of `0..records`, each set equally likely.
fn subset<R: Rng + ?Sized>(records: usize, batch: usize, generator: &mut R) -> Vec<usize> {
    let mut indices = index::sample(generator, records, batch).into_vec();
    indices.sort_unstable();
    indices
}

/// Refuses a record in two strata, which would be sampled, and would move the gradient, more often than accounted for.
fn check_disjoint(strata: &[Vec<usize>]) -> Result<(), DpError> {
    let mut records: Vec<(usize, usize)> = strata
        .iter()
        .enumerate()
        .flat_map(|(number, stratum)| stratum.iter().map(move |&record| (record, number)))
        .collect();
    records.sort_unstable();
    match records.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        None => Ok(()),
        Some(pair) => Err(DpError::SharedRecord {
            record: pair[0].0,
            first: pair[0].1,
            second: pair[1].1,
        }),
    }
}

fn some(records: usize) -> Result<(), DpError> {
    match records {
        0 => Err(empty("the data".into(), "record")),
        _ => Ok(()),
    }
}

fn empty(what: String, expected: &'static str) -> DpError {
    DpError::Empty { what, expected }
}

fn check_rate(rate: f64) -> Result<(), DpError> {
    if rate > 0.0 && rate <= 1.0 {
        return Ok(());
    }
    Err(DpError::OutOfRange {
        name: "rate",
        value: rate,
        bound: "above 0 and at most 1".into(),
    })
}

fn check_batch(what: &str, records: usize, batch: usize) -> Result<(), DpError> {
    if (1..=records).contains(&batch) {
        return Ok(());
    }
    Err(DpError::Batch {
        what: what.into(),
        batch,
        records,
        advice: match (records, batch) {
            (0, _) => "give it records",
            (_, 0) => "take at least one record a step",
            _ => "take a smaller batch, or more records",
        },
    })
}
