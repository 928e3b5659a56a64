//! Private class moments: one release that gives each class its own latent Gaussian.
//!
//! For each class the sums of `(u, u u^T)` over all its records, `u` the latent projected onto the
//! ball of radius `M`, are released once. From them come a mean and a covariance, and samples with
//! labels.

use nalgebra::{DMatrix, DVector, SymmetricEigen};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use swd::UniformBall;

use crate::ModelError;

/// The smallest standard deviation of a class's latent Gaussian in any direction.
const DEVIATION_FLOOR: f64 = 0.02;

/// The L2 sensitivity of one class's sums under replacement of one record within the class:
/// `sqrt(2 M^2 + 2 M^4 + 1/2)` for `M^2 >= 1/2`, else `2 M`.
///
/// With `a = ||u||^2`, `b = ||v||^2`, `s = <u, v>` the squared change of `(u, u u^T)` is
/// `a + b - 2 s + a^2 + b^2 - 2 s^2`, which grows with `a` and `b` and, at `a = b = M^2`, is largest
/// at `s = -1/2` where that can be reached. Class sizes are public, so no count is released.
pub fn moment_sensitivity(radius: f64) -> f64 {
    let m2 = radius * radius;
    if m2 >= 0.5 {
        (2.0 * m2 + 2.0 * m2 * m2 + 0.5).sqrt()
    } else {
        2.0 * radius
    }
}

/// Scalars released for one class: `d` of the mean, `d (d + 1) / 2` of the second moment.
fn length(latent: usize) -> usize {
    latent + latent * (latent + 1) / 2
}

/// The sums of `(u, u u^T)` of one class, `u` projected onto the ball of radius `radius`.
///
/// - `latents`: `[n, d]` row-major.
///
/// The second moment is packed with off-diagonal entries times `sqrt 2`, so that the Euclidean
/// norm of the packed vector is the Frobenius norm. A latent that is not finite counts as the
/// origin.
pub fn class_moments(latents: &[f32], latent: usize, radius: f64) -> Vec<f64> {
    let mut sums = vec![0.0; length(latent)];
    for row in latents.chunks_exact(latent) {
        let norm = row
            .iter()
            .map(|&x| f64::from(x).powi(2))
            .sum::<f64>()
            .sqrt();
        if !norm.is_finite() {
            continue;
        }
        let scale = if norm > radius { radius / norm } else { 1.0 };
        let u: Vec<f64> = row.iter().map(|&x| f64::from(x) * scale).collect();
        let (first, second) = sums.split_at_mut(latent);
        for (sum, u) in first.iter_mut().zip(&u) {
            *sum += u;
        }
        let mut index = 0;
        for r in 0..latent {
            for s in 0..=r {
                let factor = if r == s {
                    1.0
                } else {
                    std::f64::consts::SQRT_2
                };
                second[index] += factor * u[r] * u[s];
                index += 1;
            }
        }
    }
    sums
}

/// The latents of one class.
#[derive(Debug, Clone)]
enum LatentDistribution {
    /// Mean, and a factor `A` with `A A^T` the covariance.
    Gaussian(DVector<f64>, DMatrix<f64>),
    /// Uniform in the unit ball, to which each class was matched.
    Prior(UniformBall),
}

/// A distribution in latent space for each class: a Gaussian from released sums, or the prior.
#[derive(Debug, Clone)]
pub struct ClassLatents {
    latent: usize,
    radius: f64,
    classes: Vec<Option<LatentDistribution>>,
}

impl ClassLatents {
    /// Means and covariances from noisy sums: post-processing.
    ///
    /// - `released`: the sums of [`class_moments`] for each class, one after the other, with noise;
    /// - `sizes`: the public class sizes; a class of size 0 gets no Gaussian.
    ///
    /// The covariance is projected onto those whose standard deviation is at least 0.02 and whose
    /// trace is at most `radius^2`.
    ///
    /// # Errors
    ///
    /// [`ModelError::Shape`] where the lengths differ.
    pub fn from_released(
        released: &[f64],
        sizes: &[usize],
        latent: usize,
        radius: f64,
    ) -> Result<Self, ModelError> {
        let each = length(latent);
        if released.len() != each * sizes.len() {
            return Err(ModelError::Shape {
                what: "released class moments",
                expected: each * sizes.len(),
                found: released.len(),
            });
        }
        let classes = released
            .chunks_exact(each)
            .zip(sizes)
            .map(|(sums, &size)| {
                (size > 0).then(|| {
                    let (mean, factor) = gaussian(sums, size as f64, latent, radius);
                    LatentDistribution::Gaussian(mean, factor)
                })
            })
            .collect();
        Ok(Self {
            latent,
            radius,
            classes,
        })
    }

    /// The prior for every class that has records: nothing private is needed.
    ///
    /// # Errors
    ///
    /// Passes on what [`UniformBall`] refuses.
    pub fn prior(sizes: &[usize], latent: usize, radius: f64) -> Result<Self, ModelError> {
        let mut classes = Vec::with_capacity(sizes.len());
        for &size in sizes {
            let distribution = LatentDistribution::Prior(UniformBall::new(latent)?);
            classes.push((size > 0).then_some(distribution));
        }
        Ok(Self {
            latent,
            radius,
            classes,
        })
    }

    /// `count` latents of one class, `[count, d]`, inside the ball of radius `M`.
    pub fn sample(&self, class: usize, count: usize, rng: &mut impl Rng) -> Vec<f32> {
        let (mean, factor) = match self.classes.get(class) {
            Some(Some(LatentDistribution::Gaussian(mean, factor))) => (mean, factor),
            Some(Some(LatentDistribution::Prior(ball))) => return ball.sample(count, rng),
            _ => return vec![0.0; count * self.latent],
        };
        let mut samples = Vec::with_capacity(count * self.latent);
        for _ in 0..count {
            let z = DVector::from_fn(self.latent, |_, _| StandardNormal.sample(rng));
            let mut x = mean + factor * z;
            let norm = x.norm();
            if norm > self.radius {
                x *= self.radius / norm;
            }
            samples.extend(x.iter().map(|&x| x as f32));
        }
        samples
    }

    /// Mean (`[d]`) and a factor `A` (`[d, d]`, column after column) with `A A^T` the covariance of one
    /// class, if it has a Gaussian: public, such as for bins around it.
    pub fn gaussian(&self, class: usize) -> Option<(&[f64], &[f64])> {
        match self.classes.get(class)?.as_ref()? {
            LatentDistribution::Gaussian(mean, factor) => {
                Some((mean.as_slice(), factor.as_slice()))
            }
            LatentDistribution::Prior(_) => None,
        }
    }

    /// The classes that have a Gaussian.
    pub fn present(&self) -> Vec<usize> {
        (0..self.classes.len())
            .filter(|&c| self.classes[c].is_some())
            .collect()
    }
}

/// Mean, and a factor `A` with `A A^T` the covariance.
fn gaussian(sums: &[f64], size: f64, latent: usize, radius: f64) -> (DVector<f64>, DMatrix<f64>) {
    let mut mean = DVector::from_fn(latent, |r, _| sums[r] / size);
    if mean.norm() > radius {
        mean *= radius / mean.norm();
    }
    let mut covariance = DMatrix::zeros(latent, latent);
    let mut index = latent;
    for r in 0..latent {
        for s in 0..=r {
            let factor = if r == s {
                1.0
            } else {
                std::f64::consts::SQRT_2
            };
            let value = sums[index] / (size * factor) - mean[r] * mean[s];
            covariance[(r, s)] = value;
            covariance[(s, r)] = value;
            index += 1;
        }
    }
    let eigen = SymmetricEigen::new(covariance);
    let mut factor = eigen.eigenvectors.clone();
    for (k, &value) in eigen.eigenvalues.iter().enumerate() {
        let deviation = value
            .clamp(DEVIATION_FLOOR * DEVIATION_FLOOR, radius * radius)
            .sqrt();
        for entry in factor.column_mut(k).iter_mut() {
            *entry *= deviation;
        }
    }
    (mean, factor)
}
