//! What particles are transported to: cells in each slice, however they are kept.

use crate::cells::write_quantile_cells;
use crate::check::check_shape;
use crate::{Slices, SwdError, TargetQuantiles};

/// A public distribution on every slice, given by the quantile cells that it has for any number of particles.
pub trait FlowTarget: Sync {
    /// The slices.
    fn slices(&self) -> &Slices;

    /// The standard deviation of the noise that smooths the distribution on each slice, 0 for none: the
    /// particles' projections get the same.
    fn deviation(&self) -> f64;

    /// The cells of slice `l`, one for each entry, which they overwrite in increasing order:
    /// `q_r = n * integral over ((r-1)/n, r/n] of G_l^-1` for `n = cells.len()`.
    fn write_cells(&self, l: usize, cells: &mut [f32]);
}

impl<T: FlowTarget + ?Sized> FlowTarget for Box<T> {
    fn slices(&self) -> &Slices {
        (**self).slices()
    }

    fn deviation(&self) -> f64 {
        (**self).deviation()
    }

    fn write_cells(&self, l: usize, cells: &mut [f32]) {
        (**self).write_cells(l, cells);
    }
}

/// Cells that were computed before, for one number of particles.
#[derive(Debug, Clone)]
pub struct StoredCells {
    slices: Slices,
    cells: TargetQuantiles,
}

impl StoredCells {
    /// Takes cells, one row a slice (or one for all), for flows of `cells.n()` particles.
    ///
    /// # Errors
    /// Rows that do not fit the slices.
    pub fn new(slices: Slices, cells: TargetQuantiles) -> Result<Self, SwdError> {
        cells.check_slices(slices.count())?;
        Ok(Self { slices, cells })
    }

    /// The cells in each slice of a public sample, `[m, d]`, for `n` particles.
    ///
    /// # Errors
    /// As [`TargetQuantiles::of_sample`].
    pub fn of_sample(points: &[f32], slices: Slices, n: usize) -> Result<Self, SwdError> {
        check_shape("sample", points.len(), slices.dim())?;
        let cells = TargetQuantiles::of_sample(points, &slices, n)?;
        Self::new(slices, cells)
    }
}

impl FlowTarget for StoredCells {
    fn slices(&self) -> &Slices {
        &self.slices
    }

    fn deviation(&self) -> f64 {
        0.0
    }

    /// For another number of particles than that of the cells, the cells of the cells: the spread
    /// inside each is lost.
    fn write_cells(&self, l: usize, cells: &mut [f32]) {
        write_quantile_cells(self.cells.row(l), cells);
    }
}
