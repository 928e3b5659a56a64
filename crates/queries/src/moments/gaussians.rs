//! One Gaussian per group: its estimate from noisy moments, and its samples.

use nalgebra::{DMatrix, DVector, SymmetricEigen};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::shrinkage::{denoised, shrunk_towards};

/// The smallest standard deviation of a group's Gaussian in any direction.
const DEVIATION_FLOOR: f64 = 0.02;

/// A mean, and a factor `A` with `A A^T` the covariance.
pub(super) type Gaussian = (DVector<f64>, DMatrix<f64>);

/// A Gaussian in latent space for each group, from released sums.
#[derive(Debug, Clone)]
pub struct Gaussians {
    latent: usize,
    radius: f64,
    groups: Vec<Option<Gaussian>>,
}

impl Gaussians {
    /// Creates the Gaussians of groups in a ball of radius `radius`; a group without records has `None`.
    pub(super) fn new(latent: usize, radius: f64, groups: Vec<Option<Gaussian>>) -> Self {
        Self {
            latent,
            radius,
            groups,
        }
    }

    /// Returns the dimension of latents.
    pub fn dim(&self) -> usize {
        self.latent
    }

    /// Samples `count` latents of one group, `[count, d]`, inside the ball of radius `M`.
    pub fn sample(&self, group: usize, count: usize, rng: &mut impl Rng) -> Vec<f32> {
        let Some(Some((mean, factor))) = self.groups.get(group) else {
            return vec![0.0; count * self.latent];
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

    /// Moves rows of another distribution, `[n, d]`, to the group's Gaussian, by the optimal affine map from the Gaussian of
    /// their moments: `m + A (x - m_0)` with `A = C_0^-1/2 (C_0^1/2 C C_0^1/2)^1/2 C_0^-1/2`. The rows stay unchanged if the
    /// group has no Gaussian.
    pub fn carry(&self, group: usize, rows: &mut [f32]) {
        let d = self.latent;
        let Some(Some((mean, factor))) = self.groups.get(group) else {
            return;
        };
        let n = (rows.len() / d).max(1) as f64;
        let x = DMatrix::from_iterator(d, rows.len() / d, rows.iter().map(|&x| f64::from(x)));
        let own = x.column_sum() / n;
        let centred = DMatrix::from_fn(d, x.ncols(), |i, j| x[(i, j)] - own[i]);
        let root = |matrix: DMatrix<f64>, power: f64| {
            let eigen = SymmetricEigen::new(matrix);
            let floor = DEVIATION_FLOOR * DEVIATION_FLOOR * 0.25;
            let values = eigen.eigenvalues.map(|value| value.max(floor).powf(power));
            &eigen.eigenvectors * DMatrix::from_diagonal(&values) * eigen.eigenvectors.transpose()
        };
        let covariance = &centred * centred.transpose() / n;
        let (half, inverse) = (root(covariance.clone(), 0.5), root(covariance, -0.5));
        let between = root_psd(&half * factor * factor.transpose() * &half);
        let carried = &inverse * between * &inverse * centred;
        for (row, column) in rows.chunks_exact_mut(d).zip(carried.column_iter()) {
            for ((x, moved), mean) in row.iter_mut().zip(column.iter()).zip(mean.iter()) {
                *x = (moved + mean) as f32;
            }
        }
    }

    /// Returns the mean (`[d]`) and a factor `A` (`[d, d]`, column after column) with `A A^T` the covariance of one group, if it
    /// has a Gaussian. Both are public and can place bins.
    pub fn gaussian(&self, group: usize) -> Option<(&[f64], &[f64])> {
        let (mean, factor) = self.groups.get(group)?.as_ref()?;
        Some((mean.as_slice(), factor.as_slice()))
    }

    /// Scales the latents by `factor`.
    pub(super) fn scaled(mut self, factor: f64) -> Self {
        self.radius *= factor;
        for (mean, root) in self.groups.iter_mut().flatten() {
            *mean *= factor;
            *root *= factor;
        }
        self
    }

    /// Returns the groups that have a Gaussian.
    pub fn present(&self) -> Vec<usize> {
        (0..self.groups.len())
            .filter(|&g| self.groups[g].is_some())
            .collect()
    }
}

/// Returns the root of a symmetric matrix that is positive semidefinite up to rounding.
fn root_psd(matrix: DMatrix<f64>) -> DMatrix<f64> {
    let eigen = SymmetricEigen::new((&matrix + matrix.transpose()) * 0.5);
    let values = eigen.eigenvalues.map(|value| value.max(0.0).sqrt());
    &eigen.eigenvectors * DMatrix::from_diagonal(&values) * eigen.eigenvectors.transpose()
}

/// Returns the mean and covariance of `size` records with these sums.
pub(super) fn central(sums: &[f64], size: f64, latent: usize) -> (DVector<f64>, DMatrix<f64>) {
    let mean = DVector::from_fn(latent, |r, _| sums[r] / size);
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
    (mean, covariance)
}

/// Estimates the Gaussian of each group with at least one record, from its sums and its size, by empirical Bayes in two stages.
///
/// The within-group covariance of all records has the least noise and is shrunk towards its diagonal; the covariance of each
/// group is shrunk towards it ([`shrunk_towards`]).
pub(super) fn pooled(
    groups: &[(&[f64], f64)],
    latent: usize,
    radius: f64,
    deviation: f64,
) -> Vec<Option<Gaussian>> {
    let noise = |size: f64| deviation / size / std::f64::consts::SQRT_2;
    let each: Vec<_> = groups
        .iter()
        .map(|&(sums, size)| (size >= 1.0).then(|| (central(sums, size, latent), size)))
        .collect();
    let total: f64 = each.iter().flatten().map(|(_, size)| size).sum();
    let count = each.iter().flatten().count() as f64;
    let mut within = DMatrix::zeros(latent, latent);
    for ((_, covariance), size) in each.iter().flatten() {
        within += covariance * (size / total.max(1.0));
    }
    let alone = DMatrix::from_diagonal(&within.diagonal().map(|value| value.max(0.0)));
    let shared = shrunk_towards(&alone, &within, noise(total) * count.sqrt(), total);
    let of_group = |((mut mean, covariance), size): ((DVector<f64>, DMatrix<f64>), f64)| {
        if mean.norm() > radius {
            mean *= radius / mean.norm();
        }
        let covariance = shrunk_towards(&shared, &covariance, noise(size), size);
        let eigen = SymmetricEigen::new(covariance);
        let roots = eigen.eigenvalues.map(|value| value.max(0.0).sqrt());
        (mean, eigen.eigenvectors * DMatrix::from_diagonal(&roots))
    };
    each.into_iter().map(|group| group.map(of_group)).collect()
}

/// Mean, and a factor `A` with `A A^T` the covariance.
pub(super) fn gaussian(
    sums: &[f64],
    size: f64,
    latent: usize,
    radius: f64,
    deviation: f64,
) -> Gaussian {
    let (mut mean, covariance) = central(sums, size, latent);
    if mean.norm() > radius {
        mean *= radius / mean.norm();
    }
    let eigen = SymmetricEigen::new(covariance);
    let off_diagonal = deviation / size / std::f64::consts::SQRT_2;
    let eigenvalues = denoised(eigen.eigenvalues.as_slice(), off_diagonal);
    let mut factor = eigen.eigenvectors;
    for (k, &value) in eigenvalues.iter().enumerate() {
        let deviation = value
            .clamp(DEVIATION_FLOOR * DEVIATION_FLOOR, radius * radius)
            .sqrt();
        for entry in factor.column_mut(k).iter_mut() {
            *entry *= deviation;
        }
    }
    (mean, factor)
}
