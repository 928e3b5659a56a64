//! Clips gradients and Jacobians by their norms and Gram matrices alone.
//!
//! Inner clipping (Rodriguez-Vitores, Lalanne and Loubes 2025, arXiv 2502.01701, section 5.1) replaces the Jacobian
//! `J` (`d x r`) of a record by its projection onto matrices of spectral norm at most `L`, then applies the cotangent
//! `c`. Both forms below are maps `c -> c'` with `||J^T c'|| <= L ||c||`, computed from `G = J J^T`:
//! - `rows`: each row is clipped to `L / sqrt(d)`, so `c'_r = min(1, L / (sqrt(d) sqrt(G_rr))) c_r`
//!   (Rodriguez-Vitores, Lalanne and Loubes 2025, arXiv 2502.01701, remark A.2);
//! - `spectral`: each singular value is clipped to `L`, so `c' = f(G) c` with
//!   `f(e) = min(1, L / sqrt(e))` on the eigenvalues of `G`.
//!
//! # Rounding
//!
//! `G` is computed in `f32`. If its largest eigenvalue is far above `L^2`, rounding of relative size
//! [`GRAM_ROUNDING`] in the large part is not small against `L^2`. So every eigenvalue is raised by
//! `GRAM_ROUNDING * trace(G)` before the comparison: with `G' = G + eta tr(G) I >= G_exact`,
//! `f(G') G_exact f(G') <= f(G') G' f(G') <= L^2`. The norm of a row is raised by the same part of itself.

use std::ops::RangeInclusive;

use burn::tensor::Tensor;
use nalgebra::{DMatrix, SymmetricEigen};

use super::{Rounding, finite_rows};
use crate::DpError;

/// The allowed rounding error of a Gram matrix computed in `f32`, relative to its trace.
pub const GRAM_ROUNDING: f64 = 1.0 / 65536.0;

/// The range of bounds on norms, whose squares are added up in `f32`.
///
/// A square below `2^-126` may be lost, so the lost part of `p` numbers has a norm of at most `2^-63 sqrt(p)`. For
/// `2^40` numbers, more than any record's gradient has, that is `2^-26` of the square of the least norm: less than
/// [`GRAM_ROUNDING`]. A norm above `2^64` is infinite in `f32`, and its record contributes nothing; the largest norm
/// lies well below.
pub const NORMS: RangeInclusive<f64> = 1e-9..=1e18;

/// Refuses a bound on a norm outside of [`NORMS`].
///
/// # Errors
///
/// [`DpError::OutOfRange`] if the bound is outside.
pub fn check_norm(name: &'static str, norm: f64) -> Result<(), DpError> {
    if NORMS.contains(&norm) {
        return Ok(());
    }
    let (least, most) = (NORMS.start(), NORMS.end());
    Err(DpError::OutOfRange {
        name,
        value: norm,
        bound: format!(
            "from {least:e} to {most:e}, as squares of other norms are lost in 32 bits: rescale what it bounds"
        ),
    })
}

/// The way to bound a record's Jacobian in spectral norm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JacobianClip {
    /// Clips each of the `d` rows to `L / sqrt(d)`, as Rodriguez-Vitores et al. (2025) do.
    Rows,
    /// Clips each singular value to `L`: the orthogonal projection, which keeps more of the gradient.
    Spectral,
}

impl JacobianClip {
    /// Maps the cotangent `c` of one record to `c'` with `||J^T c'||_2 <= L ||c||_2`.
    ///
    /// - `gram`: `G = J J^T`, `d x d` row-major;
    /// - `cotangent`: `c`, length `d`;
    /// - `bound`: `L`, one of [`NORMS`].
    ///
    /// Another bound, or a Gram matrix or cotangent that is not finite, gives the zero vector: the record then
    /// contributes nothing, which is inside every bound.
    pub fn apply(self, gram: &[f32], cotangent: &[f32], bound: f64) -> Vec<f64> {
        let d = cotangent.len();
        if !gram.iter().chain(cotangent).all(|x| x.is_finite()) || !NORMS.contains(&bound) {
            return vec![0.0; d];
        }
        match self {
            Self::Rows => {
                let limit = bound / (d as f64).sqrt();
                (0..d)
                    .map(|r| {
                        // The error of a sum of squares is relative to the sum itself.
                        let squared = f64::from(gram[r * d + r]).max(0.0);
                        let norm = (squared * (1.0 + GRAM_ROUNDING)).sqrt();
                        let scale = if norm > limit { limit / norm } else { 1.0 };
                        f64::from(cotangent[r]) * scale
                    })
                    .collect()
            }
            Self::Spectral => spectral(gram, cotangent, bound, GRAM_ROUNDING),
        }
    }
}

/// `f(G) c`, with every eigenvalue raised by `rounding` times the trace.
pub(super) fn spectral(gram: &[f32], cotangent: &[f32], bound: f64, rounding: f64) -> Vec<f64> {
    let d = cotangent.len();
    if !gram.iter().chain(cotangent).all(|x| x.is_finite()) {
        return vec![0.0; d];
    }
    // f32 sums leave G symmetric only to rounding.
    let matrix = DMatrix::from_fn(d, d, |r, s| {
        0.5 * (f64::from(gram[r * d + s]) + f64::from(gram[s * d + r]))
    });
    let trace = matrix.trace();
    let raised = rounding * trace;
    // If the trace is below the bound's square, so is every eigenvalue.
    if trace + raised <= bound * bound {
        return cotangent.iter().copied().map(f64::from).collect();
    }
    let eigen = SymmetricEigen::new(matrix);
    let mut result = vec![0.0f64; d];
    for (k, &value) in eigen.eigenvalues.iter().enumerate() {
        let singular = (value.max(0.0) + raised).sqrt();
        let scale = if singular > bound {
            bound / singular
        } else {
            1.0
        };
        let v = eigen.eigenvectors.column(k);
        let along: f64 = v
            .iter()
            .zip(cotangent)
            .map(|(v, &c)| v * f64::from(c))
            .sum();
        for (out, v) in result.iter_mut().zip(v.iter()) {
            *out += scale * along * v;
        }
    }
    result
}

/// Returns the weight `min(1, C / norm)` that clips a gradient of norm `sqrt(norm_squared)` to at most `C = bound`.
///
/// The weight is 0 if the squared norm is not finite or does not fit `f32`, where the weight would be off by more
/// than a rounding: such a record contributes nothing, and the number of such records is never released. It is also 0
/// for a bound outside of [`NORMS`].
pub fn norm_clip_weight(norm_squared: f64, bound: f64) -> f32 {
    let known = norm_squared <= f64::from(f32::MAX);
    if !known || !NORMS.contains(&bound) {
        return 0.0;
    }
    let norm = norm_squared.max(0.0).sqrt();
    if norm > bound {
        (bound / norm) as f32
    } else {
        1.0
    }
}

/// Returns [`norm_clip_weight`] of many records, `[n]`, on their device; `bound` is tightened by `rounding`.
pub fn norm_clip_weights(norm_squared: Tensor<1>, bound: f64, rounding: Rounding) -> Tensor<1> {
    if !NORMS.contains(&bound) {
        return norm_squared.zeros_like();
    }
    let n = norm_squared.dims()[0];
    let finite = finite_rows(norm_squared.clone().reshape([n, 1])).reshape([n]);
    let norm = norm_squared.clamp_min(0.0).sqrt() + f32::MIN_POSITIVE;
    let weight = norm.recip().mul_scalar(rounding.tighten(bound));
    weight.clamp_max(1.0).mask_fill(finite.bool_not(), 0.0)
}

#[cfg(test)]
mod tests {
    use nalgebra::DVector;

    use super::*;

    /// Jacobians of equal rows, of one row far above the others, and of ordinary ones, from far below the
    /// bound to far above it.
    fn jacobian(case: i32) -> DMatrix<f64> {
        let size = 10f64.powi(case % 7 - 2);
        DMatrix::from_fn(3, 5, |row, column| {
            let (row, column) = (row as i32, column as i32);
            let wave = |seed: i32| f64::from(31 * case + seed).sin();
            match case % 3 {
                0 => size * wave(3 * column),
                1 if row > 0 => wave(7 * row + 3 * column),
                _ => size * wave(7 * row + 3 * column),
            }
        })
    }

    #[test]
    fn a_clipped_cotangent_stays_within_the_bound() {
        let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
        let bound = 0.7;
        let mut largest = 0.0f64;
        for case in 0..84 {
            let jacobian = jacobian(case);
            let gram = &jacobian * jacobian.transpose();
            let gram: Vec<f32> = gram.iter().map(|&x| x as f32).collect();
            let wave = |i: i32| f64::from(case + 2 * i).cos() as f32;
            let cotangent: Vec<f32> = (0..3).map(wave).collect();
            let own: Vec<f64> = cotangent.iter().copied().map(f64::from).collect();
            let most = bound * norm(&own) * (1.0 + 1e-9);
            for mode in [JacobianClip::Rows, JacobianClip::Spectral] {
                let clipped = mode.apply(&gram, &cotangent, bound);
                let wide = DVector::from_column_slice(&clipped);
                let moved = (jacobian.transpose() * wide).norm();
                assert!(moved <= most, "{mode:?} {case}: {moved} of {most}");
                largest = largest.max(moved / most);
                if mode == JacobianClip::Spectral {
                    let scale = norm(&clipped) * jacobian.norm();
                    assert!(scale <= 256.0 * most, "{case}: {scale} of {most}");
                }
            }
        }
        assert!(largest > 0.9, "{largest}");
    }
}
