//! A mixture of Gaussians on the sphere of a latent space, from noisy moments.

use crate::products::systematic;
use private_queries::{Gaussians, Mixture, Moments};
use rand::Rng;

use super::Encoded;
use crate::{Releasing, SynthError};

/// The share of the budget (of `1/z^2`) for the moments of the groups, if their cells have moments too.
const MOMENTS_SHARE: f64 = 0.4;

/// The maximum number of values of a release: 400 MB.
const MOST_VALUES: usize = 50_000_000;

/// The names of the releases in the plan: the moments of the groups, and those of their cells.
const MOMENTS: &str = "moments";
const CELLS: &str = "cells";

/// Settings of a mixture of private latents in groups, one for each class.
#[derive(Debug, Clone, PartialEq)]
pub struct Mixing {
    groups: usize,
    dim: usize,
    cells: usize,
    most: usize,
    pooled: bool,
}

impl Mixing {
    /// Creates the settings for `groups` groups in `dim` dimensions, with `cells` Gaussians each.
    ///
    /// Neighbours may change the group of a record: the sizes of the groups are released too.
    pub fn new(groups: usize, dim: usize, cells: usize) -> Self {
        Self {
            groups,
            dim,
            cells,
            most: 1,
            pooled: false,
        }
    }

    /// Protects units, of which at most `most` records are used: neighbours replace one.
    #[must_use]
    pub fn of_units(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Sets whether all groups share one covariance, as frequencies of colour images do.
    #[must_use]
    pub fn pooled(self, pooled: bool) -> Self {
        Self { pooled, ..self }
    }

    /// Returns the names of the releases in the plan and their shares of the budget; cells have a release if there are several.
    pub fn releases(&self) -> Vec<(&'static str, f64)> {
        match self.cells {
            1 => vec![(MOMENTS, 1.0)],
            _ => vec![(MOMENTS, MOMENTS_SHARE), (CELLS, 1.0 - MOMENTS_SHARE)],
        }
    }

    /// Refuses a release with more values than memory can hold: sizes, means and covariances of all cells.
    ///
    /// # Errors
    /// Returns [`SynthError::TooManyValues`].
    pub fn check(&self) -> Result<(), SynthError> {
        let cells = self.groups.saturating_mul(self.cells);
        let each = self.dim.saturating_mul(self.dim.saturating_add(3)) / 2;
        let (found, most) = (cells.saturating_mul(each), MOST_VALUES);
        match found <= most {
            true => Ok(()),
            false => Err(SynthError::TooManyValues { found, most }),
        }
    }

    /// Returns the first query: one Gaussian per group.
    fn moments(&self) -> Moments {
        // Around one Gaussian per group, a small ball leaves less of the noise to second moments.
        let radius = if self.cells == 1 {
            1.0
        } else {
            Mixture::RADIUS
        };
        let moments = Moments::labelled(self.groups, self.dim, radius);
        let moments = moments.of_units(self.most).on_the_sphere();
        if self.pooled {
            moments.pooled()
        } else {
            moments
        }
    }

    /// Makes the releases.
    ///
    /// # Errors
    /// Returns the errors of [`Releasing::release`], and [`SynthError::Query`] for latents of other groups or dimensions.
    pub fn release<R: Releasing>(
        &self,
        latents: &Encoded,
        rng: &mut impl Rng,
        by: &mut R,
    ) -> Result<Mixed, R::Error> {
        let query = self.moments();
        let (gaussians, sizes) = by.release(MOMENTS, &query, || latents.measured(&query))?;
        let of_groups = Mixed {
            gaussians,
            sizes,
            each: 1,
            dim: self.dim,
        };
        if self.cells == 1 {
            return Ok(of_groups);
        }
        let query = Mixture::on_the_sphere(&of_groups.gaussians, self.groups, self.cells, rng)
            .of_units(self.most);
        let (gaussians, sizes) = by.release(CELLS, &query, || latents.measured(&query))?;
        // If the noise drowns all cells, the Gaussians of the groups are used.
        if gaussians.present().is_empty() {
            return Ok(of_groups);
        }
        Ok(Mixed {
            gaussians,
            sizes,
            each: self.cells,
            dim: self.dim,
        })
    }
}

/// A released mixture.
#[derive(Debug, Clone)]
pub struct Mixed {
    gaussians: Gaussians,
    /// The noisy number of records of each cell.
    sizes: Vec<f64>,
    /// The number of cells of each group.
    each: usize,
    dim: usize,
}

impl Mixed {
    /// Samples `total` latents on the sphere, `[total, dim]` in rows, and returns the group of each. Each cell gets its share,
    /// and at least one; cells that the noise drowns are skipped.
    pub fn sample(&self, total: usize, rng: &mut impl Rng) -> (Vec<f32>, Vec<usize>) {
        let present = match self.gaussians.present() {
            none if none.is_empty() => (0..self.sizes.len()).collect(),
            some => some,
        };
        let sizes: Vec<f64> = present.iter().map(|&cell| self.sizes[cell]).collect();
        let total = total.max(present.len());
        let (mut rows, mut groups) = (Vec::new(), Vec::new());
        for (&cell, n) in present.iter().zip(apportion(&sizes, total)) {
            rows.extend(self.gaussians.sample(cell, n, rng));
            groups.extend(std::iter::repeat_n(cell / self.each, n));
        }
        normalise(&mut rows, self.dim);
        (rows, groups)
    }
}

/// Divides exactly `total` samples in proportion to `sizes`, some of which may be negative; each gets at least one.
pub fn apportion(sizes: &[f64], total: usize) -> Vec<usize> {
    let sizes: Vec<f64> = sizes.iter().map(|size| size.max(0.0)).collect();
    let left = total.saturating_sub(sizes.len());
    let counts = systematic(&sizes, left, 0.5).into_iter();
    counts.map(|count| 1 + count).collect()
}

/// Scales rows of `d` values to norm 1, because a decoder is trained on the sphere.
pub fn normalise(rows: &mut [f32], d: usize) {
    for row in rows.chunks_exact_mut(d) {
        let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-12);
        row.iter_mut().for_each(|x| *x /= norm);
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::seeded;

    #[test]
    fn samples_are_shared_out_by_size_and_whole() {
        assert_eq!(apportion(&[300.0, -4.0, 100.0], 43), [31, 1, 11]);
        assert_eq!(apportion(&[0.0, 0.0], 10), [5, 5]);
        let rng = &mut seeded();
        for _ in 0..200 {
            let groups = rng.random_range(1..40_usize);
            let sizes: Vec<f64> = (0..groups)
                .map(|_| rng.random_range(-50.0..900.0))
                .collect();
            let total = groups + rng.random_range(0..5000_usize);
            let shared = apportion(&sizes, total);
            assert_eq!(shared.iter().sum::<usize>(), total);
            assert!(shared.iter().all(|&n| n >= 1));
        }
    }
}
