//! The uniform distribution on the unit sphere as a public prior: its exact cells, and samples.

use std::f64::consts::PI;

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::{SwdError, TargetQuantiles, UniformBall};

/// The uniform distribution on the unit sphere of `R^dim`.
///
/// Every projection of it has a density proportional to `(1 - t^2)^((d-3)/2)` on `[-1, 1]`, which is also the
/// density of a projection of the ball in `d - 2` dimensions (Archimedes).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UniformSphere {
    dim: usize,
}

impl UniformSphere {
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
    /// # Errors
    /// `n` is zero.
    pub fn cells(&self, n: usize) -> Result<TargetQuantiles, SwdError> {
        if self.dim > 2 {
            return UniformBall::new(self.dim - 2)?.cells(n);
        }
        TargetQuantiles::symmetric(n, 1.0 / self.dim as f64, |r| match self.dim {
            1 => -1.0,
            // On the circle the quantile function is -cos(pi u), and its antiderivative is a sine.
            _ => {
                let sine = |r: usize| (PI * r as f64 / n as f64).sin();
                (n as f64 / PI * (sine(r) - sine(r + 1))).clamp(-1.0, 0.0)
            }
        })
    }

    /// Draws `n` points, row by row, `[n, dim]`.
    pub fn sample(&self, n: usize, rng: &mut impl Rng) -> Vec<f32> {
        let mut points = Vec::with_capacity(n * self.dim);
        for _ in 0..n {
            let point: Vec<f64> = (0..self.dim).map(|_| StandardNormal.sample(rng)).collect();
            let norm = point.iter().map(|x| x * x).sum::<f64>().sqrt();
            points.extend(point.iter().map(|x| (x / norm) as f32));
        }
        points
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
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        for dim in 1..6 {
            let distribution = UniformSphere::new(dim).unwrap();
            let mut first = vec![0.0; dim];
            first[0] = 1.0;
            let slices = Slices::from_directions(dim, &first).unwrap();
            let sample =
                TargetQuantiles::of_sample(&distribution.sample(200_000, &mut rng), &slices, 5)
                    .unwrap();
            let exact = distribution.cells(5).unwrap();
            for (a, b) in exact.values().iter().zip(sample.values()) {
                // Standard errors are below 0.005: a false alarm is rarer than 1e-9.
                assert!((a - b).abs() < 0.03, "{dim}: {a} {b}");
            }
            let within =
                (exact.mean_within_cell_variance() - sample.mean_within_cell_variance()).abs();
            assert!(within < 0.02, "{dim}");
        }
    }
}
