//! One training over several processes: each holds its part of the records, and one of them releases.
//!
//! The root draws the batch, secretly and once, and tells each rank which of its records are in it. Ranks clip their
//! records as one process does, with the sizes of the whole batch. What a penalty compares is gathered at the root, which
//! transports it once and gives each rank the cotangents of its records. Clipped sums are added up at the root. It alone
//! has a releaser and a ledger: noise is added once, to the sum over all ranks.
//!
//! Record `i` of `R` ranks lies on rank `i mod R`, as its record `i / R`.

mod error;
mod served;
mod shared;

use std::sync::Arc;

pub use error::RankError;
pub(crate) use shared::Shared;

/// Processes that take the steps of one training together, such as those of MPI. All of them call the same operation
/// at the same time; the root is rank 0.
///
/// Every operation fails where another process has failed or is silent: a step whose operations did not all succeed
/// releases nothing.
pub trait Ranks: Send + Sync {
    /// The number of this process, from 0.
    fn rank(&self) -> usize;

    /// How many there are.
    fn size(&self) -> usize;

    /// The root's bytes, everywhere.
    ///
    /// # Errors
    ///
    /// [`RankError`].
    fn broadcast(&self, bytes: Vec<u8>) -> Result<Vec<u8>, RankError>;

    /// The bytes of all ranks, in their order, at the root; nothing elsewhere.
    ///
    /// # Errors
    ///
    /// [`RankError`] names the rank that failed or is silent.
    fn gather(&self, bytes: Vec<u8>) -> Result<Vec<Vec<u8>>, RankError>;

    /// For each rank its part of what the root has; other ranks give nothing.
    ///
    /// # Errors
    ///
    /// [`RankError`].
    fn scatter(&self, parts: Vec<Vec<u8>>) -> Result<Vec<u8>, RankError>;

    /// The sums over all ranks, in an order that depends on their number alone, at the root; nothing elsewhere.
    ///
    /// # Errors
    ///
    /// As [`Ranks::gather`]; values of another number on some rank.
    fn sum(&self, values: Vec<f64>) -> Result<Vec<f64>, RankError>;
}

/// The ranks of a training.
#[derive(Clone)]
pub(crate) struct Team {
    pub(crate) ranks: Arc<dyn Ranks>,
    /// Whether sums are the same to the bit, however many ranks there are.
    pub(crate) ordered: bool,
}

/// How many of `records` lie on `rank` of `ranks`.
pub fn records_of(rank: usize, ranks: usize, records: usize) -> usize {
    (records + ranks - 1 - rank) / ranks
}

/// Numbers as bytes, little-endian.
fn words(values: impl IntoIterator<Item = usize>) -> Vec<u8> {
    let words = values.into_iter().map(|value| (value as u64).to_le_bytes());
    words.collect::<Vec<[u8; 8]>>().into_flattened()
}

/// What [`words`] wrote.
fn of_words(bytes: &[u8]) -> Vec<usize> {
    let (words, _) = bytes.as_chunks::<8>();
    words
        .iter()
        .map(|&word| u64::from_le_bytes(word) as usize)
        .collect()
}

/// Values as bytes, little-endian.
fn floats(values: &[f32]) -> Vec<u8> {
    let words = values.iter().map(|value| value.to_le_bytes());
    words.collect::<Vec<[u8; 4]>>().into_flattened()
}

/// What [`floats`] wrote.
fn of_floats(bytes: &[u8]) -> Vec<f32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|&word| f32::from_le_bytes(word)).collect()
}
