//! The standard Gaussian distribution as a public prior: its exact cells, and samples.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::normal::{density, upper_quantile};
use crate::{SwdError, TargetQuantiles};

/// The distribution `N(0, I)` of `R^dim`, every projection of which is `N(0, 1)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StandardGaussian {
    dim: usize,
}

impl StandardGaussian {
    /// Returns the distribution in dimension `dim`.
    ///
    /// # Errors
    /// `dim` is zero.
    pub fn new(dim: usize) -> Result<Self, SwdError> {
        if dim == 0 {
            return Err(SwdError::Empty { what: "dimension" });
        }
        Ok(Self { dim })
    }

    /// The dimension `d`.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the `n` exact quantile cells of the projected distribution, the same for every slice.
    ///
    /// `q_r = n (phi(x_(r-1)) - phi(x_r))` with `x_r` the `r/n` quantile and `phi` the density.
    ///
    /// # Errors
    /// `n` is zero.
    pub fn cells(&self, n: usize) -> Result<TargetQuantiles, SwdError> {
        let mut before = 0.0;
        TargetQuantiles::symmetric(n, 1.0, |r| {
            let after = density(upper_quantile((r + 1) as f64 / n as f64));
            let cell = n as f64 * (before - after);
            before = after;
            cell.min(0.0)
        })
    }

    /// Draws `n` points, row by row, `[n, dim]`.
    pub fn sample(&self, n: usize, rng: &mut impl Rng) -> Vec<f32> {
        (0..n * self.dim)
            .map(|_| StandardNormal.sample(rng))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::Slices;

    #[test]
    fn cells_are_those_of_a_large_sample() {
        let distribution = StandardGaussian::new(1).unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        let slices = Slices::from_directions(1, &[1.0]).unwrap();
        let sample =
            TargetQuantiles::of_sample(&distribution.sample(400_000, &mut rng), &slices, 7)
                .unwrap();
        let exact = distribution.cells(7).unwrap();
        for (a, b) in exact.values().iter().zip(sample.values()) {
            // Standard errors are below 0.005: a false alarm is rarer than 1e-9.
            assert!((a - b).abs() < 0.03, "{a} {b}");
        }
        assert!(
            (exact.mean_within_cell_variance() - sample.mean_within_cell_variance()).abs() < 0.02
        );
        assert_eq!(exact.values()[3], 0.0);
    }
}
