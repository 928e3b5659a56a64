//! Noisy projections after their release: they are public, and a target of particles.

use rayon::prelude::*;

use crate::cells::{quantile_cells, within_cell_variance, write_quantile_cells};
use crate::check::check_shape;
use crate::sort::check_rows;
use crate::{FlowTarget, Slices, SwdError, TargetQuantiles};

/// Released projections of rows on slices, with the noise of a mechanism: their use is post-processing.
///
/// Only the sorted values of each slice are kept, not which row a value came from. So the rows of a batch
/// that was sampled at random are as good as shuffled: amplification by sampling holds for a set of
/// records, and a noisy row's place in a batch in the order of its records would say more.
#[derive(Debug, Clone)]
pub struct NoisyProjections {
    slices: Slices,
    deviation: f64,
    rows: usize,
    sorted: Vec<f64>,
}

impl NoisyProjections {
    /// Takes a release of rows projected on these slices.
    ///
    /// - `released`: `[k, n]`, in the units of the rows;
    /// - `deviation`: the standard deviation `sigma` of the noise in it, 0 for none.
    ///
    /// # Errors
    /// A length that is no multiple of `k`, a value that is not finite, or a deviation that is negative or not
    /// finite.
    pub fn from_released(
        released: Vec<f64>,
        slices: Slices,
        deviation: f64,
    ) -> Result<Self, SwdError> {
        crate::check::check_bound("deviation of the noise", deviation)?;
        check_shape("released projections", released.len(), slices.count())?;
        let rows = released.len() / slices.count();
        check_rows(released.len(), rows)?;
        if let Some(place) = released.iter().position(|value| !value.is_finite()) {
            return Err(SwdError::NotFinite {
                what: "released projections",
                row: place / rows,
                index: place % rows,
                value: released[place],
            });
        }
        let mut sorted = released;
        sorted
            .par_chunks_mut(rows)
            .for_each(|row| row.sort_unstable_by(f64::total_cmp));
        Ok(Self {
            slices,
            deviation,
            rows,
            sorted,
        })
    }

    /// The number of private rows that were projected.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The standard deviation of the noise.
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// The slices of the release.
    pub fn slices(&self) -> &Slices {
        &self.slices
    }

    /// Computes the `n` quantile cells of the noisy values in each slice, for any `n`.
    ///
    /// # Errors
    /// `n` is zero.
    pub fn cells(&self, n: usize) -> Result<TargetQuantiles, SwdError> {
        let rows: Vec<(Vec<f64>, f64)> = self
            .sorted
            .par_chunks(self.rows)
            .map(|sorted| {
                let cells = quantile_cells(sorted, n)?;
                let within = within_cell_variance(sorted, &cells)?;
                Ok((cells, within))
            })
            .collect::<Result<_, SwdError>>()?;
        let within = rows.iter().map(|row| row.1).collect();
        let values = rows.into_iter().flat_map(|row| row.0).collect();
        TargetQuantiles::from_rows(n, values, within)
    }
}

impl FlowTarget for NoisyProjections {
    fn slices(&self) -> &Slices {
        &self.slices
    }

    fn deviation(&self) -> f64 {
        self.deviation
    }

    fn write_cells(&self, l: usize, cells: &mut [f32]) {
        let sorted = &self.sorted[l * self.rows..(l + 1) * self.rows];
        write_quantile_cells(sorted, cells);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_flow_sees_the_same_cells(
            values in prop::collection::vec(-2.0_f64..2.0, 1..60),
            k in 1_usize..4,
            n in 1_usize..60,
        ) {
            let rows = values.len().div_ceil(k);
            let values: Vec<f64> = values.iter().cycle().take(rows * k).copied().collect();
            let directions = vec![1.0; k];
            let slices = Slices::from_directions(1, &directions).unwrap();
            let noisy = NoisyProjections::from_released(values, slices, 0.5).unwrap();
            let cells = noisy.cells(n).unwrap();
            let mut found = vec![0.0; n];
            for l in 0..k {
                noisy.write_cells(l, &mut found);
                for (found, expected) in found.iter().zip(cells.row(l)) {
                    prop_assert!((f64::from(*found) - expected).abs() < 1e-6);
                }
            }
        }
    }

    /// Rows that change places with their noise leave nothing changed, to the last bit.
    #[test]
    fn the_order_of_rows_is_gone() {
        let slices = Slices::from_directions(1, &[1.0, 1.0]).unwrap();
        let rows = [[0.3, -0.7], [0.1, 0.2], [-0.4, 0.2], [0.9, -0.1]];
        let kept = |order: [usize; 4]| {
            let released = (0..2).flat_map(|l| order.map(|row| rows[row][l])).collect();
            let noisy = NoisyProjections::from_released(released, slices.clone(), 0.5).unwrap();
            format!("{noisy:?}")
        };
        assert_eq!(kept([0, 1, 2, 3]), kept([2, 0, 3, 1]));
    }

    #[test]
    fn bad_input_is_refused() {
        let slices = Slices::from_directions(1, &[1.0, 1.0]).unwrap();
        let take = |values: &[f64], deviation| {
            NoisyProjections::from_released(values.to_vec(), slices.clone(), deviation)
        };
        assert!(take(&[0.0; 4], 0.0).is_ok());
        assert!(take(&[0.0; 3], 0.0).is_err());
        assert!(take(&[], 0.0).is_err());
        assert!(take(&[0.0, f64::NAN], 0.0).is_err());
        assert!(take(&[0.0; 2], -1.0).is_err());
        assert!(take(&[0.0; 2], f64::NAN).is_err());
        assert!(take(&[0.0; 2], 0.0).unwrap().cells(0).is_err());
    }
}
