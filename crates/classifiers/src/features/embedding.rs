//! Rows that somebody computed elsewhere.

use super::normalise;
use crate::ClassifierError;
use crate::error::rows_of;

/// Rows of numbers, such as embeddings by a public network: each is divided by its norm, and a last column of ones stands for a
/// bias; then all is divided by `sqrt 2`.
///
/// The row of a record depends on this record alone, so that no bound on its norm is needed.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    size: usize,
}

impl Embedding {
    /// Takes rows of `size` numbers.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] for a size of 0, or above 65 536.
    pub fn new(size: usize) -> Result<Self, ClassifierError> {
        if (1..=1 << 16).contains(&size) {
            return Ok(Self { size });
        }
        let bound = "between 1 and 65536";
        Err(ClassifierError::range(
            "the length of a row",
            size as f64,
            bound,
        ))
    }

    /// Returns the number of values of a record.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Returns rows of `size + 1` numbers and of norm 1.
    pub(super) fn rows(&self, records: &[f32]) -> Result<Vec<f32>, ClassifierError> {
        let n = rows_of("the number of values of rows", records.len(), self.size)?;
        let width = self.size + 1;
        let mut rows = vec![0.0; n * width];
        let each = rows.chunks_exact_mut(width);
        for (row, record) in each.zip(records.chunks_exact(self.size)) {
            row[..self.size].copy_from_slice(record);
            normalise(row, width);
            row[self.size] = 1.0;
            normalise(row, width);
        }
        Ok(rows)
    }
}
