//! Components of a roughly known distribution: the place of each, and its Gaussian after one more release.

use nalgebra::{DMatrix, DVector, SymmetricEigen};

use super::shrinkage::shrunk_towards;

/// The radius of a component, in root mean square distances from its centre: about four rows out of five are within.
const RADIUS: f64 = 1.25;
/// The radius of the ball of local rows. Second moments suffer most from noise: relative to their size, they have a quarter
/// less of it in a ball of radius 2 than in one of radius 1, and first moments half as much again.
const BALL: f64 = 2.0;
/// The least radius, for a component with hardly a row.
const LEAST: f64 = 0.01;

/// A component as it is known before its private records are measured.
#[derive(Debug, Clone)]
pub(super) struct Component {
    centre: DVector<f64>,
    covariance: DMatrix<f64>,
    radius: f64,
}

impl Component {
    /// The radius of the ball onto which local rows are projected before their moments are computed.
    pub(super) const BALL: f64 = BALL;

    /// Creates the component of public or released `rows`, `[n, d]`.
    pub(super) fn of(rows: &[f32], latent: usize) -> Self {
        let count = rows.len() / latent;
        let n = count.max(1) as f64;
        let rows = DMatrix::from_iterator(latent, count, rows.iter().map(|&x| f64::from(x)));
        let centre = rows.column_sum() / n;
        let mut apart = rows;
        for mut row in apart.column_iter_mut() {
            row -= &centre;
        }
        let mut covariance = &apart * apart.transpose() / n;
        // Few rows do not determine the variance of some directions, so it is shrunk towards the mean variance.
        let even = covariance.trace() / latent as f64;
        let few = latent as f64 / (latent as f64 + n);
        covariance *= 1.0 - few;
        for i in 0..latent {
            covariance[(i, i)] += few * even;
        }
        Self {
            radius: (RADIUS * covariance.trace().sqrt()).max(LEAST) / BALL,
            centre,
            covariance,
        }
    }

    /// Returns the centre.
    pub(super) fn centre(&self) -> &[f64] {
        self.centre.as_slice()
    }

    /// Returns a row in the component's coordinates, `2 (u - c) / r`, with `c` the centre and `r` 1.25 times the root mean square
    /// distance from it. So its moments need the noise of a ball of radius [`Component::BALL`], for any size of the component.
    pub(super) fn local<'a>(&'a self, row: &'a [f32]) -> impl Iterator<Item = f32> + 'a {
        let pairs = row.iter().zip(self.centre.iter());
        pairs.map(|(&u, &c)| ((f64::from(u) - c) / self.radius) as f32)
    }

    /// Returns the mean, and a factor `A` with `A A^T` the covariance, of the rows in the component.
    ///
    /// - `mean`, `covariance`: those of `size` local rows, from sums with noise of `deviation`.
    pub(super) fn signal(
        &self,
        mean: &DVector<f64>,
        covariance: &DMatrix<f64>,
        size: f64,
        deviation: f64,
    ) -> (DVector<f64>, DMatrix<f64>) {
        let (d, r) = (mean.len() as f64, self.radius);
        // The expected squared length of the mean from noise and chance alone (James and Stein 1961).
        let spread = self.covariance.trace() / (r * r);
        let by_noise = d * (deviation / size).powi(2) + spread / size;
        let heard = (1.0 - by_noise / mean.norm_squared().max(f64::MIN_POSITIVE)).max(0.0);
        let noise = deviation / size / std::f64::consts::SQRT_2 * r * r;
        let covariance = shrunk_towards(&self.covariance, &(covariance * (r * r)), noise, size);
        let eigen = SymmetricEigen::new(covariance);
        let roots = eigen.eigenvalues.map(|value| value.max(0.0).sqrt());
        let factor = eigen.eigenvectors * DMatrix::from_diagonal(&roots);
        (&self.centre + mean * (heard * r), factor)
    }
}
