//! Whitening by public rows.

use nalgebra::{Cholesky, DMatrix, DMatrixView};
use rayon::prelude::*;

use super::normalise;
use crate::ClassifierError;
use crate::error::rows_of;

/// What is added to the variances of rows, whose norms are 1 at most.
const RIDGE: f64 = 1e-3;
/// The number of rows that are multiplied at once.
const ROWS: usize = 256;

/// A map of rows `x -> L^-1 (x - m)`, divided by its norm, where `m` is the mean of public rows and `L L^T` their covariance with
/// 0.001 added to its diagonal.
///
/// It is a change of coordinates that needs no private record. Linear models learn in fewer steps behind it: all directions in
/// which public rows vary have the same variance. (`L^-1` is the symmetric root up to a rotation, which no linear model sees.)
#[derive(Debug, Clone, PartialEq)]
pub struct Whitening {
    mean: Vec<f32>,
    /// `L^-1`, a row after the other.
    map: Vec<f32>,
}

impl Whitening {
    /// Learns from public rows, `[n, width]`.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] if these are not rows; [`ClassifierError::Singular`] for values that are not finite.
    pub fn of_public(rows: &[f32], width: usize) -> Result<Self, ClassifierError> {
        let n = rows_of("the number of values of public rows", rows.len(), width)?;
        let mut mean = vec![0.0f64; width];
        for row in rows.chunks_exact(width) {
            mean.iter_mut()
                .zip(row)
                .for_each(|(sum, &x)| *sum += f64::from(x));
        }
        let mean: Vec<f32> = mean.iter().map(|sum| (sum / n as f64) as f32).collect();
        // As many parts as there are threads would make the result depend on them.
        let parts = rows.par_chunks(rows.len().div_ceil(4 * width) * width);
        let covariances = parts.map(|part| {
            let mut covariance = DMatrix::<f32>::zeros(width, width);
            for block in part.chunks(ROWS * width) {
                let centred = centred(block, &mean);
                let turned = centred.transpose();
                covariance.gemm(1.0, &centred, &turned, 1.0);
            }
            covariance
        });
        let covariances: Vec<DMatrix<f32>> = covariances.collect();
        let mut covariance = DMatrix::<f64>::zeros(width, width);
        for part in covariances {
            let both = covariance.iter_mut().zip(part.iter());
            both.for_each(|(sum, &x)| *sum += f64::from(x) / n as f64);
        }
        (0..width).for_each(|i| covariance[(i, i)] += RIDGE);
        let singular = ClassifierError::Singular { rows: n };
        let root = Cholesky::new(covariance).ok_or(singular)?.unpack();
        let map = inverse(&root).transpose();
        Ok(Self {
            mean,
            map: map.iter().map(|&x| x as f32).collect(),
        })
    }

    /// Takes a mean and a map `L^-1`, `[width, width]`, of an earlier whitening.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] for a map of another size; [`ClassifierError::NotFinite`].
    pub fn new(mean: Vec<f32>, map: Vec<f32>) -> Result<Self, ClassifierError> {
        let width = mean.len();
        if width == 0 || map.len() != width * width {
            let (name, bound) = ("the size of the map", format!("{width} times {width}"));
            return Err(ClassifierError::range(name, map.len() as f64, bound));
        }
        if mean.iter().chain(&map).any(|value| !value.is_finite()) {
            return Err(ClassifierError::NotFinite { name: "whitening" });
        }
        Ok(Self { mean, map })
    }

    /// Returns the mean of the public rows.
    pub fn mean(&self) -> &[f32] {
        &self.mean
    }

    /// Returns `L^-1`, a row after the other.
    pub fn map(&self) -> &[f32] {
        &self.map
    }

    /// Returns rows `[n, width]` after the map.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] if these are not rows.
    pub fn rows(&self, rows: &[f32]) -> Result<Vec<f32>, ClassifierError> {
        let width = self.mean.len();
        rows_of("the number of values of rows", rows.len(), width)?;
        let turned = DMatrixView::from_slice(&self.map, width, width);
        let map = turned.transpose();
        let mut whitened = vec![0.0; rows.len()];
        let blocks = whitened.par_chunks_mut(ROWS * width);
        blocks
            .zip(rows.par_chunks(ROWS * width))
            .for_each(|(whitened, rows)| {
                let found = &map * centred(rows, &self.mean);
                whitened.copy_from_slice(found.as_slice());
                normalise(whitened, width);
            });
        Ok(whitened)
    }
}

/// Rows minus their mean, a column each.
fn centred(rows: &[f32], mean: &[f32]) -> DMatrix<f32> {
    let width = mean.len();
    let values = rows.chunks_exact(width);
    let values = values.flat_map(|row| row.iter().zip(mean).map(|(x, m)| x - m));
    DMatrix::from_iterator(width, rows.len() / width, values)
}

/// The inverse of a lower triangular matrix, by halves: most of it is products.
fn inverse(root: &DMatrix<f64>) -> DMatrix<f64> {
    let n = root.nrows();
    if n <= 64 {
        let mut inverse = DMatrix::identity(n, n);
        root.solve_lower_triangular_mut(&mut inverse);
        return inverse;
    }
    let half = n / 2;
    let part = |row: usize, column: usize, rows: usize, columns: usize| {
        root.view((row, column), (rows, columns)).into_owned()
    };
    let (first, second) = (
        inverse(&part(0, 0, half, half)),
        inverse(&part(half, half, n - half, n - half)),
    );
    let below = -(&second * part(half, 0, n - half, half) * &first);
    let mut whole = DMatrix::zeros(n, n);
    whole.view_mut((0, 0), (half, half)).copy_from(&first);
    whole
        .view_mut((half, half), (n - half, n - half))
        .copy_from(&second);
    whole
        .view_mut((half, 0), (n - half, half))
        .copy_from(&below);
    whole
}
