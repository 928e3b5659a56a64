//! Private class moments: one release that gives each class its own latent Gaussian.
//!
//! For each class the sums of `(u, u u^T)` over all its records, `u` the latent projected onto the
//! ball of radius `M`, are released once. From them come a mean and a covariance, and samples with
//! labels.

use nalgebra::{DMatrix, DVector, SymmetricEigen};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::cells::Cell;
use super::shrinkage::denoised;
use private_training::TrainingError;

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

/// What a record counts in [`labelled_moments`]: `1/2` for `M^2 >= 1/2`, else `M sqrt(1 - M^2)`.
///
/// As large as leaves the sensitivity what it is within a class: its square is that of a change of label,
/// `2 (w^2 + M^2 + M^4)`.
fn count_weight(radius: f64) -> f64 {
    let m2 = radius * radius;
    (0.5 * moment_sensitivity(radius).powi(2) - m2 - m2 * m2).sqrt()
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

/// The sums of `(w, u, u u^T)` of each class, where the neighbour of a record may have another label: class after
/// class, with `w` so small that the sizes of the classes cost nothing.
///
/// - `classes`: the latents of each class, `[n, d]` row-major, of which a class may have none.
///
/// # Formal guarantee
/// For any two data sets that differ in one record, its class included, the results are at most
/// [`moment_sensitivity`] apart. Within a class the count does not change, and the rest moves by no more. Between
/// classes the sums of one lose `(w, u, u u^T)` and those of the other gain `(w, v, v v^T)`, so the squared change is at
/// most `2 (w^2 + M^2 + M^4)`; that is the same for `w = 1/2` (`M^2 >= 1/2`), or `w^2 = M^2 - M^4`.
pub fn labelled_moments(classes: &[Vec<f32>], latent: usize, radius: f64) -> Vec<f64> {
    let weight = count_weight(radius);
    let of_class = |latents: &Vec<f32>| {
        let mut sums = vec![weight * (latents.len() / latent) as f64];
        sums.extend(class_moments(latents, latent, radius));
        sums
    };
    classes.iter().flat_map(of_class).collect()
}

/// A mean, and a factor `A` with `A A^T` the covariance.
type Gaussian = (DVector<f64>, DMatrix<f64>);

/// A Gaussian in latent space for each class, from released sums.
#[derive(Debug, Clone)]
pub struct ClassLatents {
    latent: usize,
    radius: f64,
    classes: Vec<Option<Gaussian>>,
}

impl ClassLatents {
    /// Means and covariances from noisy sums: post-processing.
    ///
    /// - `released`: the sums of [`class_moments`] for each class, one after the other, with noise;
    /// - `sizes`: the public class sizes; a class of size 0 gets no Gaussian;
    /// - `deviation`: the standard deviation of the noise that is taken out of the eigenvalues of the covariances
    ///   ([`super::denoised`]); 0 to leave them as they are.
    ///
    /// The covariance is projected onto those whose standard deviation is at least 0.02 and whose
    /// trace is at most `radius^2`.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Shape`] where the lengths differ.
    pub fn from_released(
        released: &[f64],
        sizes: &[usize],
        latent: usize,
        radius: f64,
        deviation: f64,
    ) -> Result<Self, TrainingError> {
        let each = length(latent);
        check_released(released, each * sizes.len())?;
        let classes = released
            .chunks_exact(each)
            .zip(sizes)
            .map(|(sums, &size)| {
                (size > 0).then(|| gaussian(sums, size as f64, latent, radius, deviation))
            })
            .collect();
        Ok(Self {
            latent,
            radius,
            classes,
        })
    }

    /// As [`ClassLatents::from_released`], of the sums of [`labelled_moments`], with the number of records of each
    /// class as they tell it; a class that tells of less than one gets no Gaussian.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Shape`] where the lengths differ.
    pub fn from_labelled(
        released: &[f64],
        classes: usize,
        latent: usize,
        radius: f64,
        deviation: f64,
    ) -> Result<(Self, Vec<f64>), TrainingError> {
        let each = 1 + length(latent);
        check_released(released, each * classes)?;
        let size = |sums: &[f64]| sums[0] / count_weight(radius);
        let sizes: Vec<f64> = released.chunks_exact(each).map(size).collect();
        let of_class = |(sums, &size): (&[f64], &f64)| {
            (size >= 1.0).then(|| gaussian(&sums[1..], size, latent, radius, deviation))
        };
        let classes = released.chunks_exact(each).zip(&sizes).map(of_class);
        let latents = Self {
            latent,
            radius,
            classes: classes.collect(),
        };
        Ok((latents, sizes))
    }

    /// As [`ClassLatents::from_labelled`], of the sums of [`labelled_moments`] of [`Cell::local`] rows in [`Cell::BALL`]: a
    /// Gaussian for each cell, shrunk towards what was known of it by as much as noise and number of records say.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Shape`] where the lengths differ.
    pub fn from_cells(
        released: &[f64],
        cells: &[Cell],
        latent: usize,
        radius: f64,
        deviation: f64,
    ) -> Result<(Self, Vec<f64>), TrainingError> {
        let each = 1 + length(latent);
        check_released(released, each * cells.len())?;
        let size = |sums: &[f64]| sums[0] / count_weight(Cell::BALL);
        let sizes: Vec<f64> = released.chunks_exact(each).map(size).collect();
        let of_cell = |((sums, &size), cell): ((&[f64], &f64), &Cell)| {
            (size >= 1.0).then(|| {
                let (mean, covariance) = central(&sums[1..], size, latent);
                cell.signal(&mean, &covariance, size, deviation)
            })
        };
        let classes = released.chunks_exact(each).zip(&sizes).zip(cells);
        let latents = Self {
            latent,
            radius,
            classes: classes.map(of_cell).collect(),
        };
        Ok((latents, sizes))
    }

    /// `count` latents of one class, `[count, d]`, inside the ball of radius `M`.
    pub fn sample(&self, class: usize, count: usize, rng: &mut impl Rng) -> Vec<f32> {
        let Some(Some((mean, factor))) = self.classes.get(class) else {
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

    /// Rows of another distribution, `[n, d]`, carried to the class's Gaussian by the affine map that transports the
    /// Gaussian of their own moments there at the least squared distance: `m + A (x - m_0)` with
    /// `A = C_0^-1/2 (C_0^1/2 C C_0^1/2)^1/2 C_0^-1/2`. As they are where the class has no Gaussian.
    pub fn carry(&self, class: usize, rows: &mut [f32]) {
        let d = self.latent;
        let Some(Some((mean, factor))) = self.classes.get(class) else {
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

    /// Mean (`[d]`) and a factor `A` (`[d, d]`, column after column) with `A A^T` the covariance of one
    /// class, if it has a Gaussian: public, such as for bins around it.
    pub fn gaussian(&self, class: usize) -> Option<(&[f64], &[f64])> {
        let (mean, factor) = self.classes.get(class)?.as_ref()?;
        Some((mean.as_slice(), factor.as_slice()))
    }

    /// The same latents times `factor`.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Self {
        self.radius *= factor;
        for (mean, root) in self.classes.iter_mut().flatten() {
            *mean *= factor;
            *root *= factor;
        }
        self
    }

    /// The classes that have a Gaussian.
    pub fn present(&self) -> Vec<usize> {
        (0..self.classes.len())
            .filter(|&c| self.classes[c].is_some())
            .collect()
    }
}

/// The root of a matrix that is symmetric and not negative up to rounding.
fn root_psd(matrix: DMatrix<f64>) -> DMatrix<f64> {
    let eigen = SymmetricEigen::new((&matrix + matrix.transpose()) * 0.5);
    let values = eigen.eigenvalues.map(|value| value.max(0.0).sqrt());
    &eigen.eigenvectors * DMatrix::from_diagonal(&values) * eigen.eigenvectors.transpose()
}

fn check_released(released: &[f64], expected: usize) -> Result<(), TrainingError> {
    if released.len() == expected {
        return Ok(());
    }
    Err(TrainingError::Shape {
        what: "released class moments",
        expected,
        found: released.len(),
    })
}

/// Mean and covariance of `size` records with these sums.
fn central(sums: &[f64], size: f64, latent: usize) -> (DVector<f64>, DMatrix<f64>) {
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

/// Mean, and a factor `A` with `A A^T` the covariance.
fn gaussian(sums: &[f64], size: f64, latent: usize, radius: f64, deviation: f64) -> Gaussian {
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

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::*;

    fn apart(a: &[f64], b: &[f64]) -> f64 {
        let pairs = a.iter().zip(b);
        pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    /// Brute force over neighbours with labels, of any length and not finite; opposite records of other classes attain it.
    #[test]
    fn labels_and_counts_cost_moments_nothing() {
        let rng = &mut ChaCha20Rng::seed_from_u64(1);
        for radius in [0.3, 0.5, 1.0, 1.5] {
            let declared = moment_sensitivity(radius);
            let mut largest = [0.0_f64; 2];
            for _ in 0..4000 {
                let d = rng.random_range(1..4_usize);
                let mut draw = |class: Option<usize>| {
                    let length = [0.0, 0.2, 1.0, 1e3, f32::NAN][rng.random_range(0..5)];
                    let row: Vec<f32> = (0..d)
                        .map(|_| length * rng.random_range(-2.0..2.0))
                        .collect();
                    (row, class.unwrap_or(rng.random_range(0..3)))
                };
                let others: Vec<_> = (0..3).map(|_| draw(None)).collect();
                let one = draw(None);
                let same = rng.random::<bool>();
                let mut draw = |class: usize| {
                    let sign = if rng.random() { -0.5 } else { 1.0 };
                    let row: Vec<f32> = one
                        .0
                        .iter()
                        .map(|x| sign * x + rng.random_range(-1.0..1.0))
                        .collect();
                    (row, class)
                };
                let two = draw(if same { one.1 } else { (one.1 + 1) % 3 });
                let sums = |last: &(Vec<f32>, usize)| {
                    let mut classes = vec![Vec::new(); 3];
                    for (row, class) in others.iter().chain([last]) {
                        classes[*class].extend_from_slice(row);
                    }
                    labelled_moments(&classes, d, radius)
                };
                let moved = apart(&sums(&one), &sums(&two));
                assert!(
                    moved <= declared * (1.0 + 1e-6),
                    "{radius}: {moved} of {declared}"
                );
                largest[usize::from(same)] = largest[usize::from(same)].max(moved);
            }
            assert!(
                largest.iter().all(|most| *most > 0.9 * declared),
                "{radius} {largest:?}"
            );
        }
        assert!((moment_sensitivity(1.0) - 4.5_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn sizes_come_back_out_of_labelled_moments() {
        let rows = |n: usize| {
            (0..n)
                .flat_map(|i| [0.1 * i as f32, 0.2])
                .collect::<Vec<f32>>()
        };
        let classes = [rows(5), Vec::new(), rows(3)];
        let released = labelled_moments(&classes, 2, 1.0);
        let (latents, sizes) = ClassLatents::from_labelled(&released, 3, 2, 1.0, 0.0).unwrap();
        assert_eq!(sizes, [5.0, 0.0, 3.0]);
        assert_eq!(latents.present(), [0, 2]);
        let public: Vec<f64> = [0, 2]
            .iter()
            .flat_map(|&c: &usize| class_moments(&classes[c], 2, 1.0))
            .collect();
        let with_sizes = ClassLatents::from_released(&public, &[5, 3], 2, 1.0, 0.0).unwrap();
        assert_eq!(latents.gaussian(2), with_sizes.gaussian(1));
        assert!(ClassLatents::from_labelled(&released[1..], 3, 2, 1.0, 0.0).is_err());
    }

    #[test]
    fn carried_rows_have_the_moments_of_the_class() {
        let rng = &mut ChaCha20Rng::seed_from_u64(3);
        let mut draw = |n: usize, at: f32, spread: f32| -> Vec<f32> {
            (0..n)
                .flat_map(|_| [at, -at, 0.0].map(|at| at + spread * rng.random_range(-0.5..0.5)))
                .collect()
        };
        let (target, mut rows) = (draw(500, 0.2, 0.6), draw(400, -0.1, 0.9));
        let latents = |rows: &[f32]| {
            let sums = class_moments(rows, 3, 2.0);
            ClassLatents::from_released(&sums, &[rows.len() / 3], 3, 2.0, 0.0).unwrap()
        };
        let wanted = latents(&target);
        wanted.carry(0, &mut rows);
        let found = latents(&rows);
        let covariance = |latents: &ClassLatents| {
            let (mean, factor) = latents.gaussian(0).unwrap();
            let factor = DMatrix::from_column_slice(3, 3, factor);
            (
                mean.to_vec(),
                (&factor * factor.transpose()).as_slice().to_vec(),
            )
        };
        let ((a, b), (c, d)) = (covariance(&wanted), covariance(&found));
        assert!(
            apart(&a, &c) < 1e-5 && apart(&b, &d) < 1e-5,
            "{a:?} {c:?} {b:?} {d:?}"
        );
        let before = rows.clone();
        wanted.carry(1, &mut rows);
        assert_eq!(rows, before);
    }
}
