//! How the records of a step are sampled.
//!
//! A plan ([`crate::plan`]) owns a [`BatchSampler`], and its [`distribution`](BatchSampler::distribution) is what the
//! accountants read: what draws is what is accounted.
//!
//! | sampler | a batch | neighbours |
//! |---|---|---|
//! | [`FixedSizeSampler`] | a fixed number of distinct records | replace one |
//! | [`GroupSampler`] | a fixed number of each public group | replace one within its group |
//! | [`PoissonSampler`] | each record independently | one counts or is blank, their number is public |
//! | [`AddRemoveSampler`] | each record independently | add or remove one |
//! | [`AllRecords`] | all records | replace one |
//! | [`CyclicSampler`] | fixed, in a cycle | replace one, or one counts or is blank |
//!
//! ```
//! use dp_accountant::accounting::Neighbours;
//! use dp_accountant::sampling::{BatchSampler, FixedSizeSampler};
//! use rand::SeedableRng;
//!
//! let sampler = BatchSampler::from(FixedSizeSampler::new(60_000, 600)?);
//! assert_eq!(sampler.neighbours(), Neighbours::ReplaceOne);
//! let groups = sampler.sample(1, &mut rand_chacha::ChaCha20Rng::seed_from_u64(1));
//! assert_eq!((groups.len(), groups[0].len()), (1, 600));
//! # Ok::<(), dp_accountant::DpError>(())
//! ```

mod add_remove;
mod all;
mod cyclic;
mod fixed;
mod groups;
mod poisson;
mod split;

pub use add_remove::AddRemoveSampler;
pub use all::AllRecords;
pub use cyclic::CyclicSampler;
pub use fixed::FixedSizeSampler;
pub use groups::GroupSampler;
pub use poisson::PoissonSampler;
pub use split::split_batch;

use rand::Rng;

use crate::DpError;
use crate::accounting::{GroupSize, Neighbours, Sampler};

/// Any of the samplers.
#[derive(Clone, Debug, PartialEq)]
pub enum BatchSampler {
    /// A fixed number of distinct records.
    FixedSize(FixedSizeSampler),
    /// A fixed number of distinct records of each public group.
    Groups(GroupSampler),
    /// Each record independently, of a public number of them.
    Poisson(PoissonSampler),
    /// Each record independently, of a private number of them.
    AddRemove(AddRemoveSampler),
    /// All records.
    All(AllRecords),
    /// All records in turn.
    Cyclic(CyclicSampler),
}

impl BatchSampler {
    /// The number of records in all; none where it is private.
    pub fn records(&self) -> Option<usize> {
        match self {
            Self::FixedSize(sampler) => Some(sampler.records()),
            Self::Groups(sampler) => Some(sampler.records()),
            Self::Poisson(sampler) => Some(sampler.records()),
            Self::AddRemove(_) => None,
            Self::All(sampler) => Some(sampler.records()),
            Self::Cyclic(sampler) => Some(sampler.records()),
        }
    }

    /// The number of records, or what public numbers presume of it: delta is held against it.
    pub fn presumed_records(&self) -> f64 {
        match self {
            Self::AddRemove(sampler) => sampler.presumed_records(),
            other => other.records().unwrap_or_default() as f64,
        }
    }

    /// Whether it samples from data of so many records. The answer is as private as their number.
    pub fn is_of(&self, records: usize) -> bool {
        match self {
            Self::AddRemove(sampler) => sampler.is_of(records),
            other => other.records() == Some(records),
        }
    }

    /// The relation that what is sampled hides a record under.
    pub fn neighbours(&self) -> Neighbours {
        match self {
            Self::FixedSize(_) | Self::All(_) => Neighbours::ReplaceOne,
            Self::Cyclic(sampler) => sampler.neighbours(),
            Self::Groups(_) => Neighbours::KEnd,
            Self::Poisson(_) => Neighbours::ZeroOut,
            Self::AddRemove(_) => Neighbours::AddRemove,
        }
    }

    /// The distribution of its batches, as accountants read it; none where they are fixed.
    pub fn distribution(&self) -> Option<Sampler> {
        match self {
            Self::FixedSize(sampler) => Some(Sampler::WithoutReplacement {
                records: sampler.records() as u64,
                batch: sampler.batch() as u64,
            }),
            Self::Groups(sampler) => Some(Sampler::KEndGroups {
                groups: sampler
                    .groups()
                    .iter()
                    .zip(sampler.batches())
                    .map(|(group, batch)| GroupSize {
                        records: group.len() as u64,
                        batch: batch as u64,
                    })
                    .collect(),
            }),
            Self::Poisson(sampler) => Some(Sampler::PoissonZeroOut {
                rate: sampler.rate(),
            }),
            Self::AddRemove(sampler) => Some(Sampler::Poisson {
                rate: sampler.rate(),
            }),
            Self::Cyclic(_) | Self::All(_) => None,
        }
    }

    /// The public size of each group of a batch, to divide sums by: the size itself where it is fixed, its
    /// mean with Poisson sampling of a public number of records, the divisor of a private one.
    pub fn expected_sizes(&self) -> Vec<f64> {
        match self {
            Self::FixedSize(sampler) => vec![sampler.batch() as f64],
            Self::Groups(sampler) => sampler.batches().iter().map(|&b| b as f64).collect(),
            Self::Poisson(sampler) => vec![sampler.expected()],
            Self::AddRemove(sampler) => vec![sampler.divisor()],
            Self::All(sampler) => vec![sampler.records() as f64],
            Self::Cyclic(sampler) => vec![sampler.batch() as f64],
        }
    }

    /// The batch of a step, from 1: the record indices of each group. Only [`CyclicSampler`] looks at the step, and only it does
    /// not look at the generator. For private training a plan's releaser draws; this is for training without privacy.
    pub fn sample<R: Rng + ?Sized>(&self, step: u64, generator: &mut R) -> Vec<Vec<usize>> {
        match self {
            Self::FixedSize(sampler) => vec![sampler.sample(generator)],
            Self::Groups(sampler) => sampler.sample(generator),
            Self::Poisson(sampler) => vec![sampler.sample(generator)],
            Self::AddRemove(sampler) => vec![sampler.sample(generator)],
            Self::All(sampler) => vec![(0..sampler.records()).collect()],
            Self::Cyclic(sampler) => vec![sampler.sample(step)],
        }
    }
}

impl From<FixedSizeSampler> for BatchSampler {
    fn from(sampler: FixedSizeSampler) -> Self {
        Self::FixedSize(sampler)
    }
}

impl From<GroupSampler> for BatchSampler {
    fn from(sampler: GroupSampler) -> Self {
        Self::Groups(sampler)
    }
}

impl From<PoissonSampler> for BatchSampler {
    fn from(sampler: PoissonSampler) -> Self {
        Self::Poisson(sampler)
    }
}

impl From<AddRemoveSampler> for BatchSampler {
    fn from(sampler: AddRemoveSampler) -> Self {
        Self::AddRemove(sampler)
    }
}

impl From<AllRecords> for BatchSampler {
    fn from(sampler: AllRecords) -> Self {
        Self::All(sampler)
    }
}

impl From<CyclicSampler> for BatchSampler {
    fn from(sampler: CyclicSampler) -> Self {
        Self::Cyclic(sampler)
    }
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
