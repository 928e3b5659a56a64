//! How the records of a step are drawn.
//!
//! A plan ([`crate::plan`]) owns a [`BatchSampler`], and its [`distribution`](BatchSampler::distribution) is what the
//! accountants read: what draws is what is accounted.
//!
//! | sampler | a batch | neighbours |
//! |---|---|---|
//! | [`FixedSizeSampler`] | a fixed number of distinct records | replace one |
//! | [`GroupSampler`] | a fixed number of each public group | replace one within its group |
//! | [`PoissonSampler`] | each record independently | add or remove one |
//! | [`AllRecords`] | all records | replace one |

mod all;
mod fixed;
mod groups;
mod poisson;
mod split;

pub use all::AllRecords;
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
    /// Each record independently.
    Poisson(PoissonSampler),
    /// All records.
    All(AllRecords),
}

impl BatchSampler {
    /// The number of records in all; with Poisson sampling, where neighbours differ in it, that of the data
    /// at hand, taken as public.
    pub fn records(&self) -> usize {
        match self {
            Self::FixedSize(sampler) => sampler.records(),
            Self::Groups(sampler) => sampler.records(),
            Self::Poisson(sampler) => sampler.records(),
            Self::All(sampler) => sampler.records(),
        }
    }

    /// The relation that what is drawn hides a record under.
    pub fn neighbours(&self) -> Neighbours {
        match self {
            Self::FixedSize(_) | Self::All(_) => Neighbours::ReplaceOne,
            Self::Groups(_) => Neighbours::KEnd,
            Self::Poisson(_) => Neighbours::AddRemove,
        }
    }

    /// The distribution of its batches, as accountants read it; none where every record is in them.
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
            Self::Poisson(sampler) => Some(Sampler::Poisson {
                rate: sampler.rate(),
            }),
            Self::All(_) => None,
        }
    }

    /// The public size of each group of a batch, to divide sums by: the size itself where it is fixed, its
    /// mean with Poisson sampling.
    pub fn expected_sizes(&self) -> Vec<f64> {
        match self {
            Self::FixedSize(sampler) => vec![sampler.batch() as f64],
            Self::Groups(sampler) => sampler.batches().iter().map(|&b| b as f64).collect(),
            Self::Poisson(sampler) => vec![sampler.expected()],
            Self::All(sampler) => vec![sampler.records() as f64],
        }
    }

    /// Draws a batch: the record indices of each group. For private training a plan's releaser draws;
    /// this is for training without privacy.
    pub fn sample<R: Rng + ?Sized>(&self, generator: &mut R) -> Vec<Vec<usize>> {
        match self {
            Self::FixedSize(sampler) => vec![sampler.sample(generator)],
            Self::Groups(sampler) => sampler.sample(generator),
            Self::Poisson(sampler) => vec![sampler.sample(generator)],
            Self::All(sampler) => vec![(0..sampler.records()).collect()],
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

impl From<AllRecords> for BatchSampler {
    fn from(sampler: AllRecords) -> Self {
        Self::All(sampler)
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
