//! Targets of particles: quantile cells in each slice, however they are kept.

use crate::cells::write_quantile_cells;
use crate::check::check_shape;
use crate::{Slices, SwdError, TargetQuantiles};

/// A public distribution on every slice, given by its quantile cells for any number of particles.
pub trait FlowTarget: Sync {
    /// The slices of the target.
    fn slices(&self) -> &Slices;

    /// The standard deviation of the noise that smooths the distribution on each slice, 0 for none. The
    /// particles' projections get the same noise.
    fn deviation(&self) -> f64;

    /// Overwrites `cells` with the cells of slice `l`, in increasing order:
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

/// Quantile cells that were computed before, for one number of particles.
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

    /// Computes the cells in each slice of a public sample, `[m, d]`, for `n` particles.
    ///
    /// # Errors
    /// Fails as [`TargetQuantiles::of_sample`] does.
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

    /// Writes the cells of the cells if the number of particles is not that of the cells: the spread
    /// inside each cell is lost.
    fn write_cells(&self, l: usize, cells: &mut [f32]) {
        write_quantile_cells(self.cells.row(l), cells);
    }
}
