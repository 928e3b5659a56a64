//! A linear model of rows, and how it learns from private ones.

mod balance;
mod best_case;
mod descent;
mod examples;
mod gradient;

use nalgebra::{DMatrix, DMatrixView, DVectorViewMut};
use rayon::prelude::*;

use crate::ClassifierError;
use crate::error::rows_of;

pub use balance::ClassWeights;
pub use descent::{Descent, HeadConfig};
pub use examples::{Examples, ValueLoss};

/// Rows that are computed at once.
const BLOCK: usize = 128;

/// Softmax regression, where the probabilities of the classes are `softmax(x W)` of a row `x`; or linear regression, where one output
/// `x W` is the value. There is no bias; rows may have a column of ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    width: usize,
    /// `[width, outputs]`.
    weights: Vec<f64>,
}

impl Head {
    /// Creates a head of weights `[width, outputs]`: one output for each class, or a single one for a value.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] for no output, or another number of weights; [`ClassifierError::NotFinite`].
    pub fn new(width: usize, outputs: usize, weights: Vec<f64>) -> Result<Self, ClassifierError> {
        examples::check_outputs(outputs)?;
        if weights.len() != width * outputs || width == 0 {
            let (name, bound) = ("the number of weights", format!("{width} times {outputs}"));
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

    /// Returns the number of classes; 1 of a head of values.
    pub fn outputs(&self) -> usize {
        self.weights.len() / self.width
    }

    /// Returns the weights, `[width, outputs]`.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Returns the probabilities of the classes, `[n, classes]`, of rows `[n, width]`.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] if these are not rows.
    pub fn probabilities(&self, rows: &[f32]) -> Result<Vec<f64>, ClassifierError> {
        self.outputs_of(rows, softmax)
    }

    /// Returns the values, `[n, outputs]`, of rows `[n, width]`: of classes their logits.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] if these are not rows.
    pub fn values(&self, rows: &[f32]) -> Result<Vec<f64>, ClassifierError> {
        self.outputs_of(rows, |_| {})
    }

    fn outputs_of(
        &self,
        rows: &[f32],
        each: impl Fn(&mut DVectorViewMut<'_, f64>) + Sync,
    ) -> Result<Vec<f64>, ClassifierError> {
        rows_of("the number of values of rows", rows.len(), self.width)?;
        let blocks = rows.par_chunks(BLOCK * self.width);
        let found = blocks.map(|block| {
            let mut found = logits(&self.weights, self.outputs(), &columns(block, self.width));
            let columns = found.column_iter_mut();
            columns.for_each(|mut column| each(&mut column));
            found
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
        let rows = probabilities.chunks_exact(self.outputs());
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

/// The outputs of each row, a column each, by weights `[width, outputs]`.
fn logits(weights: &[f64], outputs: usize, rows: &DMatrix<f64>) -> DMatrix<f64> {
    DMatrixView::from_slice(weights, outputs, rows.nrows()) * rows
}

/// Makes logits probabilities.
fn softmax(logits: &mut DVectorViewMut<'_, f64>) {
    let most = logits.max();
    logits.apply(|x| *x = (*x - most).exp());
    let sum = logits.sum();
    *logits /= sum;
}
