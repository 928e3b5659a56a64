//! The ball or sphere that every private row is projected onto before anything is computed from it.

use crate::check::check_shape;
use crate::{Slices, SwdError};
use rayon::prelude::*;
use std::ops::RangeInclusive;

/// The radii that a [`NormBound`] accepts: they keep rows and their squares far from the least and the largest numbers of
/// `f32`, near which rounding is no longer relative.
pub const RADII: RangeInclusive<f64> = 1e-9..=1e18;

/// The region that rows must lie in: a ball around the origin, or its surface.
///
/// A sensitivity that rests on `|x| <= r` does not hold if the rows are merely assumed to be that short.
/// So the functions that state one take a region and put the rows into it themselves.
///
/// ```
/// use swd::NormBound;
///
/// let ball = NormBound::ball(1.0)?;
/// assert_eq!(ball.scale(&[3.0, 4.0]), Some(0.2));
/// assert_eq!(ball.scale(&[0.3, 0.4]), Some(1.0));
/// assert_eq!(ball.scale(&[f32::NAN, 0.0]), None);
/// # Ok::<(), swd::SwdError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NormBound {
    radius: f64,
    surface: bool,
}

impl NormBound {
    /// Returns the ball of this radius: longer rows are scaled down to it.
    ///
    /// # Errors
    /// A radius outside of [`RADII`].
    pub fn ball(radius: f64) -> Result<Self, SwdError> {
        Self::new(radius, false)
    }

    /// Returns the sphere of this radius: rows are scaled to it, except the origin, which stays.
    ///
    /// # Errors
    /// A radius outside of [`RADII`].
    pub fn sphere(radius: f64) -> Result<Self, SwdError> {
        Self::new(radius, true)
    }

    fn new(radius: f64, surface: bool) -> Result<Self, SwdError> {
        if !RADII.contains(&radius) {
            let (least, most) = (*RADII.start(), *RADII.end());
            return Err(SwdError::Radius {
                value: radius,
                least,
                most,
            });
        }
        Ok(Self { radius, surface })
    }

    /// The radius `r`: a row in the region is no longer than this, up to a relative 1e-15.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// Returns the factor that scales a row into the region, or `None` for a row that is not finite, which
    /// counts as the origin.
    pub fn scale(&self, row: &[f32]) -> Option<f64> {
        let squares: f64 = row.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
        let norm = squares.sqrt();
        if !norm.is_finite() {
            None
        } else if norm > self.radius || (self.surface && norm > 0.0) {
            Some(self.radius / norm)
        } else {
            Some(1.0)
        }
    }

    /// Puts rows of `dim` numbers into the region in place, such as public rows that are to be scored.
    pub fn restrict(&self, rows: &mut [f32], dim: usize) {
        for row in rows.chunks_exact_mut(dim) {
            let scale = self.scale(row);
            for x in row {
                *x = scale.map_or(0.0, |scale| (f64::from(*x) * scale) as f32);
            }
        }
    }

    /// Puts rows (`[n, d]`) into the region and projects them: `[k, n]`, one row of `n` a slice.
    ///
    /// The projections of a record depend on that record alone.
    ///
    /// # Errors
    /// No rows, or a length that is no multiple of `d`. A row that is not finite is no error, because an error
    /// would tell about a record: it counts as the origin.
    pub fn project(&self, rows: &[f32], slices: &Slices) -> Result<Vec<f64>, SwdError> {
        if let Some(signs) = &slices.signs {
            check_shape("private rows", rows.len(), slices.dim())?;
            return Ok(signs.project(rows, self, slices.count()));
        }
        let columns = self.columns(rows, slices.dim())?;
        let n = rows.len() / slices.dim();
        let mut projected = vec![0.0; slices.count() * n];
        projected
            .par_chunks_mut(n)
            .enumerate()
            .for_each(|(l, projected)| project_columns(&columns, slices.direction(l), projected));
        Ok(projected)
    }

    /// Puts rows into the region and stores them column after column, so that a projection runs along memory.
    ///
    /// # Errors
    /// Fails as [`NormBound::project`] does.
    pub(crate) fn columns(&self, rows: &[f32], d: usize) -> Result<Vec<f64>, SwdError> {
        check_shape("private rows", rows.len(), d)?;
        let n = rows.len() / d;
        let mut columns = vec![0.0; n * d];
        for (i, row) in rows.chunks_exact(d).enumerate() {
            if let Some(scale) = self.scale(row) {
                for (a, &x) in row.iter().enumerate() {
                    columns[a * n + i] = scale * f64::from(x);
                }
            }
        }
        Ok(columns)
    }
}

/// Stores rows of `d` numbers column after column, so that a projection runs along memory.
pub(crate) fn columns(rows: &[f32], d: usize) -> Vec<f32> {
    let n = rows.len() / d;
    let mut columns = vec![0.0; rows.len()];
    for (i, row) in rows.chunks_exact(d).enumerate() {
        for (a, &x) in row.iter().enumerate() {
            columns[a * n + i] = x;
        }
    }
    columns
}

/// Writes `projected[i] = <x_i, theta>` for rows stored by [`columns`] or [`NormBound::columns`].
pub(crate) fn project_columns<T: Copy + Into<f64>>(
    columns: &[T],
    direction: &[f64],
    projected: &mut [f64],
) {
    sum_columns::<_, false>(columns, direction, projected);
}

/// Adds `<x_i, theta>` to `projected[i]` for rows stored by [`columns`] or [`NormBound::columns`].
pub(crate) fn add_projection<T: Copy + Into<f64>>(
    columns: &[T],
    direction: &[f64],
    projected: &mut [f64],
) {
    sum_columns::<_, true>(columns, direction, projected);
}

/// Sums eight rows at a time, so that the sums stay in registers.
fn sum_columns<T: Copy + Into<f64>, const ADD: bool>(
    columns: &[T],
    direction: &[f64],
    projected: &mut [f64],
) {
    const LANES: usize = 8;
    let n = projected.len();
    let (blocks, rest) = projected.as_chunks_mut::<LANES>();
    let begun = blocks.len() * LANES;
    for (block, projected) in blocks.iter_mut().enumerate() {
        let mut sums = if ADD { *projected } else { [0.0; LANES] };
        for (column, &t) in columns.chunks_exact(n).zip(direction) {
            let column = &column[block * LANES..][..LANES];
            let entries = sums.iter_mut().zip(column);
            entries.for_each(|(p, &x)| *p += t * x.into());
        }
        *projected = sums;
    }
    for (i, projected) in (begun..).zip(rest) {
        let mut sum = if ADD { *projected } else { 0.0 };
        for (column, &t) in columns.chunks_exact(n).zip(direction) {
            sum += t * column[i].into();
        }
        *projected = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_put_into_the_region() {
        let slices = Slices::from_directions(2, &[1.0, 0.0, 0.0, 1.0]).unwrap();
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        let rows = [
            [3.0, 4.0],
            [0.3, 0.4],
            [0.0; 2],
            [nan, 1.0],
            [inf, 0.0],
            [3e38; 2],
            [1e-45, 0.0],
        ];
        let rows = rows.concat();
        let half = 2.0_f64.sqrt();
        let ball = NormBound::ball(2.0)
            .unwrap()
            .project(&rows, &slices)
            .unwrap();
        let sphere = NormBound::sphere(2.0).unwrap();
        let sphere = sphere.project(&rows, &slices).unwrap();
        let close = |found: &[f64], expected: [[f64; 7]; 2]| {
            for (found, expected) in found.iter().zip(expected.concat()) {
                assert!((found - expected).abs() < 1e-7, "{found} for {expected}");
            }
        };
        let (across, up) = (
            [1.2, 0.3, 0.0, 0.0, 0.0, half, 0.0],
            [1.6, 0.4, 0.0, 0.0, 0.0, half, 0.0],
        );
        close(&ball, [across, up]);
        let across = [1.2, 1.2, 0.0, 0.0, 0.0, half, 2.0];
        close(&sphere, [across, [1.6, 1.6, 0.0, 0.0, 0.0, half, 0.0]]);
    }

    #[test]
    fn bad_input_is_refused() {
        for radius in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(NormBound::ball(radius).is_err());
            assert!(NormBound::sphere(radius).is_err());
        }
        let slices = Slices::from_directions(2, &[1.0, 0.0]).unwrap();
        let ball = NormBound::ball(1.0).unwrap();
        assert!(ball.project(&[], &slices).is_err());
        assert!(ball.project(&[1.0], &slices).is_err());
    }
}
