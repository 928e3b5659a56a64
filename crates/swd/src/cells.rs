//! Quantile cells: the values that the ranks of a sample are transported to.
//!
//! The cell of rank `r = 1..n` is the mean of the target's quantile function over the `r`-th of `n`
//! equal parts, `q_r = n * integral over ((r-1)/n, r/n] of G^-1`. Then
//! `W_2^2(u, v) = (1/n) sum_r (u_(r) - q_r)^2 + within`. Here `within` is the mean variance of the target
//! inside its cells: it is part of the distance, but not of its gradient, because it does not depend on `u`.

use burn::tensor::{Device, Tensor, TensorData};
use rayon::prelude::*;

use crate::breakpoints::overlaps;
use crate::check::{check_bound, check_points};
use crate::region::{columns, project_columns};
use crate::sort::{Sorter, check_rows};
use crate::{Slices, SwdError};

/// Returns the `n` quantile cells of the `m` values of a sorted sample, for any `n` and `m`.
///
/// `q_r = n * integral over ((r-1)/n, r/n] of G^-1`, in the units of the values. For `n = m` they are the
/// values themselves. The cells never decrease, rounding included: the sensitivity rests on that.
///
/// ```
/// use swd::cells::quantile_cells;
///
/// // Two cells of three values: the middle one is shared.
/// assert_eq!(quantile_cells(&[0.0, 3.0, 9.0], 2)?, [1.0, 7.0]);
/// assert_eq!(quantile_cells(&[0.0, 3.0, 9.0], 3)?, [0.0, 3.0, 9.0]);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// No values, `n = 0`, a value that is not finite, or values that decrease.
///
/// Source: Rodriguez-Vitores et al. 2025, arXiv 2502.01701, proposition 3.2 (`q_r = n sum_j R_rj v_(j)`).
pub fn quantile_cells(sorted: &[f64], n: usize) -> Result<Vec<f64>, SwdError> {
    check_sorted("sorted sample", sorted, sorted.len())?;
    check_rows(n, n)?;
    if n == 0 {
        return Err(SwdError::Empty {
            what: "number of cells",
        });
    }
    let mut cells = vec![0.0; n];
    fill_quantile_cells(sorted, &mut cells);
    Ok(cells)
}

/// Writes the [`quantile_cells`] of a checked, sorted sample to `cells`, which holds zeros.
fn fill_quantile_cells(sorted: &[f64], cells: &mut [f64]) {
    let m = sorted.len();
    if m == cells.len() {
        return cells.copy_from_slice(sorted);
    }
    for o in overlaps(cells.len(), m) {
        cells[o.i] += o.weight as f64 / m as f64 * sorted[o.j];
    }
    make_monotone(cells);
}

/// Writes the [`quantile_cells`] of a checked, sorted sample in `f32`: at least one cell and one value.
pub(crate) fn write_quantile_cells(sorted: &[f64], cells: &mut [f32]) {
    if sorted.len() == cells.len() {
        let entries = cells.iter_mut().zip(sorted);
        return entries.for_each(|(q, &value)| *q = value as f32);
    }
    if sorted.len() < cells.len() {
        return write_wide_cells(sorted, cells);
    }
    // A cell is complete once the next one begins.
    let (mut current, mut sum) = (0, 0.0);
    for o in overlaps(cells.len(), sorted.len()) {
        if o.i != current {
            cells[current] = sum as f32;
            (current, sum) = (o.i, 0.0);
        }
        sum += o.weight as f64 / sorted.len() as f64 * sorted[o.j];
    }
    cells[current] = sum as f32;
}

/// Does the work of [`write_quantile_cells`] for fewer values than cells: most cells lie inside one value.
fn write_wide_cells(sorted: &[f64], cells: &mut [f32]) {
    let (m, n) = (sorted.len(), cells.len());
    // Masses are in units of 1/(nm): a value has n of them, a cell m. Both counts are below 2^32.
    for (j, &value) in sorted.iter().enumerate() {
        let (mut first, begun) = ((j * n) / m, (j * n) % m);
        let (last, over) = (((j + 1) * n) / m, ((j + 1) * n) % m);
        if begun > 0 {
            // The rest of a cell that the previous value has begun.
            cells[first] += ((m - begun) as f64 / m as f64 * value) as f32;
            first += 1;
        }
        cells[first..last].fill(value as f32);
        if over > 0 {
            cells[last] = (over as f64 / m as f64 * value) as f32;
        }
    }
}

/// Returns the mean squared distance of a sorted sample to its own cells.
///
/// `within = sum_rj R_rj (v_(j) - q_r)^2`, in squared units of the values. It is the part of
/// `W_2^2(u, v)` that the residuals `u_(r) - q_r` lack, and zero for `n = m`.
///
/// # Errors
/// Fails as [`quantile_cells`] does. `cells` must be its result for the same sample.
///
/// Source: Rodriguez-Vitores et al. 2025, arXiv 2502.01701, proposition 3.1.
pub fn within_cell_variance(sorted: &[f64], cells: &[f64]) -> Result<f64, SwdError> {
    check_sorted("sorted sample", sorted, sorted.len())?;
    check_sorted("cells", cells, cells.len())?;
    Ok(variance_of_sorted(sorted, cells))
}

/// Computes the [`within_cell_variance`] of checked values.
fn variance_of_sorted(sorted: &[f64], cells: &[f64]) -> f64 {
    let (n, m) = (cells.len(), sorted.len());
    if n == m && sorted == cells {
        return 0.0;
    }
    let sum: f64 = overlaps(n, m)
        .map(|o| o.weight as f64 * (sorted[o.j] - cells[o.i]).powi(2))
        .sum();
    sum / (n as f64 * m as f64)
}

/// The quantile cells of a target in all slices: `n` cells each, or one row of `n` that all slices share.
///
/// ```
/// use swd::{TargetQuantiles, Slices, UniformBall};
///
/// // Four public points, for two records, in the direction of each axis.
/// let axes = Slices::from_directions(2, &[1.0, 0.0, 0.0, 1.0])?;
/// let points = [0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 3.0, 0.0];
/// let cells = TargetQuantiles::of_sample(&points, &axes, 2)?;
/// assert_eq!(cells.row(0), [0.5, 2.5]);
/// assert_eq!(cells.row(1), [0.0, 0.0]);
///
/// // Of a distribution that is the same in all directions: one row, without any sample.
/// let ball = UniformBall::new(2)?.cells(600)?;
/// assert_eq!((ball.n(), ball.rows()), (600, 1));
/// # Ok::<(), swd::SwdError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TargetQuantiles {
    n: usize,
    values: Vec<f64>,
    within: Vec<f64>,
}

impl TargetQuantiles {
    /// Takes one row of cells for all slices, with its within-cell variance.
    ///
    /// # Errors
    /// No cells, values that decrease or are not finite, or a variance that is negative or not finite.
    pub fn shared(values: Vec<f64>, within: f64) -> Result<Self, SwdError> {
        Self::from_rows(values.len(), values, vec![within])
    }

    /// Takes rows of `n` cells, one row a slice (or one for all), with the within-cell variance of
    /// each row.
    ///
    /// # Errors
    /// No cells, lengths that do not fit, values that decrease along a row or are not finite, or a
    /// variance that is negative or not finite.
    pub fn from_rows(n: usize, values: Vec<f64>, within: Vec<f64>) -> Result<Self, SwdError> {
        check_rows(values.len(), n)?;
        check_sorted("cells", &values, n)?;
        if within.len() != values.len() / n {
            return Err(SwdError::Length {
                what: "within-cell variances",
                found: within.len(),
                expected: values.len() / n,
            });
        }
        for &value in &within {
            check_bound("within-cell variance", value)?;
        }
        Ok(Self { n, values, within })
    }

    /// Builds one row of `n` cells for all slices, of a distribution that is symmetric around 0 with this second
    /// moment. `lower` gives the cells below the median in turn and the others mirror them, so the mean is
    /// exactly 0. The within-cell variance is the second moment less the mean square of the cells.
    ///
    /// # Errors
    /// `n` is zero.
    pub(crate) fn symmetric(
        n: usize,
        second_moment: f64,
        lower: impl FnMut(usize) -> f64,
    ) -> Result<Self, SwdError> {
        let mut values: Vec<f64> = (0..n / 2).map(lower).collect();
        make_monotone(&mut values);
        values.resize(n - n / 2, 0.0);
        for r in (0..n / 2).rev() {
            values.push(-values[r]);
        }
        let squares: f64 = values.iter().map(|q| q * q).sum();
        let within = second_moment - squares / n.max(1) as f64;
        Self::shared(values, within.max(0.0))
    }

    /// Computes the `n` cells of a sample in each slice: it projects, sorts and averages.
    ///
    /// `points` holds the sample row by row, `m x d`. The cells are in units of the points.
    ///
    /// # Errors
    /// No points, a length that is no multiple of `d`, a coordinate that is not finite, or `n = 0`.
    pub fn of_sample(points: &[f32], slices: &Slices, n: usize) -> Result<Self, SwdError> {
        let d = slices.dim();
        check_points("sample", points, d)?;
        let m = points.len() / d;
        check_rows(m * slices.count(), m)?;
        if n == 0 {
            return Err(SwdError::Empty {
                what: "number of cells",
            });
        }
        check_rows(n * slices.count(), n)?;
        let columns = columns(points, d);
        let mut values = vec![0.0; slices.count() * n];
        let mut within = vec![0.0; slices.count()];
        values
            .par_chunks_mut(n)
            .zip(&mut within)
            .enumerate()
            .for_each(|(l, (cells, within))| {
                *within = write_cells_in_slice(&columns, m, slices.direction(l), cells);
            });
        // Finite and sorted already: the points are finite, the directions have norm at most 1.
        Ok(Self { n, values, within })
    }

    /// The number of cells in a row.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The number of rows: the number of slices, or 1 if all slices share a row.
    pub fn rows(&self) -> usize {
        self.within.len()
    }

    /// The cells of slice `l`, for `l` below the number of slices.
    pub fn row(&self, l: usize) -> &[f64] {
        let l = if self.rows() == 1 { 0 } else { l };
        &self.values[l * self.n..(l + 1) * self.n]
    }

    /// All cells, row after row.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The within-cell variance, averaged over the rows.
    pub fn mean_within_cell_variance(&self) -> f64 {
        self.within.iter().sum::<f64>() / self.rows() as f64
    }

    /// Returns the cells as a constant tensor of shape `[k, n]`, or `[1, n]` if all slices share a row.
    pub fn tensor(&self, device: &Device) -> Tensor<2> {
        let values = self.values.iter().map(|&q| q as f32).collect();
        let data = TensorData::new::<f32, _>(values, [self.rows(), self.n]);
        Tensor::from_data(data, &device.clone().without_autodiff())
    }

    /// Refuses cells that do not fit `count` slices.
    pub(crate) fn check_slices(&self, count: usize) -> Result<(), SwdError> {
        if self.rows() == 1 || self.rows() == count {
            return Ok(());
        }
        Err(SwdError::Length {
            what: "rows of cells",
            found: self.rows(),
            expected: count,
        })
    }
}

/// Writes the cells of `m` points, stored column after column, along one direction and returns their within-cell variance.
pub(crate) fn write_cells_in_slice(
    columns: &[f32],
    m: usize,
    direction: &[f64],
    cells: &mut [f64],
) -> f64 {
    Sorter::here(|sorter| {
        let sorted = sorter.sorted_values(m, |row| project_columns(columns, direction, row));
        if m == cells.len() {
            cells.copy_from_slice(sorted);
            return 0.0;
        }
        cells.fill(0.0);
        fill_quantile_cells(sorted, cells);
        variance_of_sorted(sorted, cells)
    })
}

/// Raises each value to its predecessor if rounding put it below.
pub(crate) fn make_monotone(cells: &mut [f64]) {
    for r in 1..cells.len() {
        cells[r] = cells[r].max(cells[r - 1]);
    }
}

/// Checks that rows of `n` values are there, finite and do not decrease.
fn check_sorted(what: &'static str, values: &[f64], n: usize) -> Result<(), SwdError> {
    if values.is_empty() {
        return Err(SwdError::Empty { what });
    }
    check_rows(values.len(), n)?;
    for (row, values) in values.chunks(n).enumerate() {
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            return Err(SwdError::NotFinite {
                what,
                row,
                index,
                value: values[index],
            });
        }
        if let Some(index) = values.windows(2).position(|pair| pair[0] > pair[1]) {
            let index = index + 1;
            return Err(SwdError::NotSorted { what, row, index });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(max: usize) -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(prop_oneof![-2.0..2.0, Just(0.5), Just(-1.0)], 1..max).prop_map(
            |mut values| {
                values.sort_by(f64::total_cmp);
                values
            },
        )
    }

    /// Cells from prefix sums, interpolated at `i/n` and differenced.
    fn quantile_cells_reference(sorted: &[f64], n: usize) -> Vec<f64> {
        let m = sorted.len();
        let integral = |i: usize| {
            let whole = i * m / n;
            let sum: f64 = sorted[..whole].iter().sum();
            let part = (i * m) as f64 / n as f64 - whole as f64;
            (sum + part * sorted.get(whole).unwrap_or(&0.0)) / m as f64
        };
        let cell = |r| n as f64 * (integral(r + 1) - integral(r));
        (0..n).map(cell).collect()
    }

    proptest! {
        #[test]
        fn cells_match_the_interpolated_prefix_sums(v in sorted(40), n in 1_usize..40) {
            let cells = quantile_cells(&v, n).unwrap();
            for (cell, expected) in cells.iter().zip(quantile_cells_reference(&v, n)) {
                prop_assert!((cell - expected).abs() < 1e-12);
            }
            prop_assert!(cells.windows(2).all(|pair| pair[0] <= pair[1]));
            if n == v.len() {
                prop_assert_eq!(cells, v);
            }
        }

    }

    #[test]
    fn bad_input_is_refused() {
        assert!(quantile_cells(&[], 3).is_err());
        assert!(quantile_cells(&[1.0], 0).is_err());
        assert!(quantile_cells(&[1.0, 0.0], 2).is_err());
        assert!(quantile_cells(&[f64::NAN], 2).is_err());
        assert!(TargetQuantiles::from_rows(2, vec![0.0, 1.0, 2.0, 1.0], vec![0.0; 2]).is_err());
        assert!(TargetQuantiles::from_rows(2, vec![0.0, 1.0], vec![0.0; 2]).is_err());
        assert!(TargetQuantiles::from_rows(0, vec![], vec![]).is_err());
        assert!(TargetQuantiles::shared(vec![0.0], -1.0).is_err());
    }
}
