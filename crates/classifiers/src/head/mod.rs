//! A linear classifier of rows, and how it learns from private ones.

mod descent;
mod examples;
mod gradient;

use nalgebra::{DMatrix, DMatrixView};
use rayon::prelude::*;

use crate::ClassifierError;
use crate::error::rows_of;

pub use descent::{Descent, HeadConfig};
pub use examples::Examples;

/// Rows that are computed at once.
const BLOCK: usize = 128;

/// Softmax regression: the probabilities of the classes are `softmax(x W)` of a row `x`. There is no bias; rows may have a
/// column of ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    width: usize,
    /// `[width, classes]`.
    weights: Vec<f64>,
}

impl Head {
    /// Creates a head of weights `[width, classes]`.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] for fewer than two classes, or another number of weights;
    /// [`ClassifierError::NotFinite`].
    pub fn new(width: usize, classes: usize, weights: Vec<f64>) -> Result<Self, ClassifierError> {
        examples::check_classes(classes)?;
        if weights.len() != width * classes || width == 0 {
            let (name, bound) = ("the number of weights", format!("{width} times {classes}"));
            return Err(ClassifierError::range(name, weights.len() as f64, bound));
        }
        if weights.iter().any(|weight| !weight.is_finite()) {
            return Err(ClassifierError::NotFinite { name: "weights" });
        }
        Ok(Self { width, weights })
    }

    /// Returns the length of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of classes.
    pub fn classes(&self) -> usize {
        self.weights.len() / self.width
    }

    /// Returns the weights, `[width, classes]`.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Returns the probabilities of the classes, `[n, classes]`, of rows `[n, width]`.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] if these are not rows.
    pub fn probabilities(&self, rows: &[f32]) -> Result<Vec<f64>, ClassifierError> {
        rows_of("the number of values of rows", rows.len(), self.width)?;
        let blocks = rows.par_chunks(BLOCK * self.width);
        let found = blocks.map(|block| {
            let rows = columns(block, self.width);
            probabilities(&self.weights, self.classes(), &rows)
        });
        let found: Vec<DMatrix<f64>> = found.collect();
        Ok(found.iter().flatten().copied().collect())
    }

    /// Returns the most probable class of each of `rows`, `[n, width]`; the first one of several.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] if these are not rows.
    pub fn predict(&self, rows: &[f32]) -> Result<Vec<usize>, ClassifierError> {
        let probabilities = self.probabilities(rows)?;
        let rows = probabilities.chunks_exact(self.classes());
        Ok(rows.map(largest).collect())
    }
}

/// Returns the place of the largest value, the first one of several.
pub fn largest(row: &[f64]) -> usize {
    let places = (0..row.len()).rev();
    let largest = places.max_by(|&a, &b| row[a].total_cmp(&row[b]));
    largest.unwrap_or(0)
}

/// Rows `[n, width]` as the columns of a matrix in 64 bits.
fn columns(rows: &[f32], width: usize) -> DMatrix<f64> {
    let values = rows.iter().map(|&x| f64::from(x));
    DMatrix::from_iterator(width, rows.len() / width, values)
}

/// The probabilities of each row, a column each, by weights `[width, classes]`.
fn probabilities(weights: &[f64], classes: usize, rows: &DMatrix<f64>) -> DMatrix<f64> {
    let weights = DMatrixView::from_slice(weights, classes, rows.nrows());
    let mut logits = weights * rows;
    for mut column in logits.column_iter_mut() {
        let most = column.max();
        column.apply(|x| *x = (*x - most).exp());
        let sum = column.sum();
        column /= sum;
    }
    logits
}
