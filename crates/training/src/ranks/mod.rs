//! One training over several processes: each holds its part of the records, and one of them releases.
//!
//! The root draws the batch, secretly and once, and tells each rank which of its records are in it. Each rank clips its records
//! as a single process does, with the sizes of the whole batch. For a penalty, the root gathers the activations, transports them
//! once and sends each rank the cotangents of its records. The root adds up the clipped sums. It alone has a releaser and a
//! ledger: noise is added once, to the sum over all ranks.
//!
//! Record `i` lies on rank `i mod R` of `R` ranks, as its record `i / R`.

mod error;
mod served;
mod shared;

use std::sync::Arc;

pub use error::RankError;
pub(crate) use shared::Shared;

/// Processes that take the steps of one training together, such as those of MPI. All of them call the same operation at the same
/// time; the root is rank 0.
///
/// Every operation fails if another process has failed or does not answer. A step with a failed operation releases nothing.
pub trait Ranks: Send + Sync {
    /// Returns the number of this process, from 0.
    fn rank(&self) -> usize;

    /// Returns the number of processes.
    fn size(&self) -> usize;

    /// Sends the root's bytes to all ranks and returns them on each.
    ///
    /// # Errors
    ///
    /// [`RankError`] if a rank has failed or does not answer.
    fn broadcast(&self, bytes: Vec<u8>) -> Result<Vec<u8>, RankError>;

    /// Returns the bytes of all ranks, in their order, at the root; nothing elsewhere.
    ///
    /// # Errors
    ///
    /// [`RankError`] names the rank that has failed or does not answer.
    fn gather(&self, bytes: Vec<u8>) -> Result<Vec<Vec<u8>>, RankError>;

    /// Sends each rank its part of the root's `parts` and returns it there; other ranks pass nothing.
    ///
    /// # Errors
    ///
    /// [`RankError`] if a rank has failed or does not answer.
    fn scatter(&self, parts: Vec<Vec<u8>>) -> Result<Vec<u8>, RankError>;

    /// Returns the sums over all ranks at the root, in an order that depends only on the number of ranks; nothing elsewhere.
    ///
    /// # Errors
    ///
    /// The same as for [`Ranks::gather`]; a rank with another number of values.
    fn sum(&self, values: Vec<f64>) -> Result<Vec<f64>, RankError>;
}

/// The ranks of a training.
#[derive(Clone)]
pub(crate) struct Team {
    pub(crate) ranks: Arc<dyn Ranks>,
    /// Whether sums are the same to the bit, however many ranks there are.
    pub(crate) ordered: bool,
}

/// Returns how many of `records` lie on rank `rank` of `ranks`.
pub fn records_of(rank: usize, ranks: usize, records: usize) -> usize {
    (records + ranks - 1 - rank) / ranks
}

/// Numbers as bytes, little-endian.
fn words(values: impl IntoIterator<Item = usize>) -> Vec<u8> {
    let words = values.into_iter().map(|value| (value as u64).to_le_bytes());
    words.collect::<Vec<[u8; 8]>>().into_flattened()
}

/// Reads the numbers that [`words`] wrote.
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

/// Reads the values that [`floats`] wrote.
fn of_floats(bytes: &[u8]) -> Vec<f32> {
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|&word| f32::from_le_bytes(word)).collect()
}
