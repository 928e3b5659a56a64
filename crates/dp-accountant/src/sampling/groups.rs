use rand::Rng;

use super::{FixedSizeSampler, check_batch};
use crate::DpError;

/// Draws from each of several groups of records a uniformly random set of a fixed size.
///
/// The groups (of a class label, say) and their sizes are public; neighbouring data sets replace one
/// record within its group: the k-end relation of "Learning with differentially private sliced
/// Wasserstein gradients", definition 2.1. Each group j is sampled at its own rate n'_j / n_j, without
/// replacement, afresh at each call and independently of the other groups; a record of any group is
/// sampled with probability at most the largest of these rates.
///
/// What [`FixedSizeSampler`] says about the generator holds here too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSampler {
    groups: Vec<Vec<usize>>,
    samplers: Vec<FixedSizeSampler>,
}

impl GroupSampler {
    /// A sampler of `batches[j]` out of the record indices `groups[j]`, for each j.
    ///
    /// # Errors
    /// [`DpError::Empty`] without groups or with an empty group, [`DpError::GroupCount`] when the
    /// lists differ in length, [`DpError::Batch`] unless each batch is in 1..=size of its group,
    /// [`DpError::SharedRecord`] for a record that the groups hold twice.
    pub fn new(groups: Vec<Vec<usize>>, batches: &[usize]) -> Result<Self, DpError> {
        if groups.is_empty() {
            return Err(DpError::Empty {
                what: "the list of groups".into(),
                expected: "group",
            });
        }
        if groups.len() != batches.len() {
            return Err(DpError::GroupCount {
                groups: groups.len(),
                found: batches.len(),
            });
        }
        let mut samplers = Vec::with_capacity(groups.len());
        for (number, (group, &batch)) in groups.iter().zip(batches).enumerate() {
            let what = format!("group {number}");
            if group.is_empty() {
                return Err(DpError::Empty {
                    what,
                    expected: "record",
                });
            }
            check_batch(&what, group.len(), batch)?;
            samplers.push(FixedSizeSampler::new(group.len(), batch)?);
        }
        check_disjoint(&groups)?;
        Ok(Self { groups, samplers })
    }

    /// The record indices of each group.
    pub fn groups(&self) -> &[Vec<usize>] {
        &self.groups
    }

    /// The batch size of each group, n'_j.
    pub fn batches(&self) -> Vec<usize> {
        self.samplers.iter().map(FixedSizeSampler::batch).collect()
    }

    /// The number of records in each batch, over all groups.
    pub fn batch(&self) -> usize {
        self.samplers.iter().map(FixedSizeSampler::batch).sum()
    }

    /// The number of records in all groups.
    pub fn records(&self) -> usize {
        self.samplers.iter().map(FixedSizeSampler::records).sum()
    }

    /// Draws a batch: for each group, distinct record indices of that group, in the order in which the
    /// group lists them.
    pub fn sample<R: Rng + ?Sized>(&self, generator: &mut R) -> Vec<Vec<usize>> {
        self.groups
            .iter()
            .zip(&self.samplers)
            .map(|(group, sampler)| {
                let places = sampler.sample(generator);
                places.into_iter().map(|place| group[place]).collect()
            })
            .collect()
    }
}

/// A record in two groups would be sampled, and would move the gradient, more often than accounted for.
fn check_disjoint(groups: &[Vec<usize>]) -> Result<(), DpError> {
    let mut records: Vec<(usize, usize)> = groups
        .iter()
        .enumerate()
        .flat_map(|(number, group)| group.iter().map(move |&record| (record, number)))
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
