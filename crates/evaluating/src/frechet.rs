//! The Frechet distance between two sets of features.
//!
//! `FD(1, 2) = ||m1 - m2||^2 + tr S1 + tr S2 - 2 tr((S1^1/2 S2 S1^1/2)^1/2)`: the squared
//! 2-Wasserstein distance between Gaussians of the means `m` and covariances `S` of the two sets.
//! The features come from a small classifier of digits, so the distance compares runs of this project with each other,
//! but with no published figure: the FID (Heusel et al., 2017) takes its features from an Inception network.
//!
//! The root is that of a symmetric matrix, computed from its eigenvalues in `f64`. It exists for covariances of any
//! rank, so there may be fewer records than features.

use nalgebra::{DMatrix, DMatrixView, DVector, SymmetricEigen};

use super::EvaluateError;
use super::error::{check_count, check_records};

/// Records that are centred and multiplied together.
const BLOCK: usize = 512;

/// The mean and the covariance of a set of features.
#[derive(Clone, PartialEq)]
pub struct Moments {
    mean: DVector<f64>,
    covariance: DMatrix<f64>,
}

impl std::fmt::Debug for Moments {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Moments");
        shown.field("features", &self.mean.len());
        shown.finish_non_exhaustive()
    }
}

impl Moments {
    /// Returns the moments of `features`, `[n, d]` row by row, with the unbiased covariance (divisor `n - 1`).
    ///
    /// # Errors
    ///
    /// [`EvaluateError::Shape`], [`EvaluateError::NotFinite`], or [`EvaluateError::TooFew`] for
    /// fewer than two records.
    pub fn of(features: &[f32], d: usize) -> Result<Self, EvaluateError> {
        let n = check_records("features", features, d)?;
        check_count("records of features", n, 2)?;
        let mut mean = DVector::zeros(d);
        for record in features.chunks_exact(d) {
            for (m, &x) in mean.iter_mut().zip(record) {
                *m += f64::from(x);
            }
        }
        mean /= n as f64;
        let mut covariance = DMatrix::zeros(d, d);
        for block in features.chunks(BLOCK * d) {
            // One column a record: the layout of the slice.
            let centred = DMatrix::from_iterator(
                d,
                block.len() / d,
                block
                    .chunks_exact(d)
                    .flat_map(|record| record.iter().zip(mean.iter()))
                    .map(|(&x, m)| f64::from(x) - m),
            );
            covariance.gemm(1.0, &centred, &centred.transpose(), 1.0);
        }
        covariance /= (n - 1) as f64;
        Ok(Self { mean, covariance })
    }

    /// Returns the moments with a known `mean`, `[d]`, and a symmetric `covariance`, `[d, d]`.
    ///
    /// # Errors
    ///
    /// [`EvaluateError::Shape`] if the sizes do not fit.
    pub fn new(mean: &[f64], covariance: &[f64]) -> Result<Self, EvaluateError> {
        let d = mean.len();
        if d == 0 || covariance.len() != d * d {
            return Err(EvaluateError::Shape {
                what: "covariance",
                expected: format!("{d} x {d} values, at least one"),
                found: covariance.len(),
            });
        }
        Ok(Self {
            mean: DVector::from_column_slice(mean),
            covariance: DMatrixView::from_slice(covariance, d, d).into_owned(),
        })
    }

    /// Returns the number of features, `d`.
    pub fn features(&self) -> usize {
        self.mean.len()
    }

    /// Returns the Frechet distance to `other`, in squared units of the features; at least 0.
    ///
    /// # Errors
    ///
    /// [`EvaluateError::Shape`] if the numbers of features differ.
    pub fn frechet_distance(&self, other: &Self) -> Result<f64, EvaluateError> {
        if self.features() != other.features() {
            return Err(EvaluateError::Shape {
                what: "features of the second set",
                expected: self.features().to_string(),
                found: other.features(),
            });
        }
        let root = square_root(&self.covariance);
        let middle = &root * &other.covariance * &root;
        let cross: f64 = symmetric(&middle)
            .symmetric_eigenvalues()
            .iter()
            .map(|e| e.max(0.0).sqrt())
            .sum();
        let shift = (&self.mean - &other.mean).norm_squared();
        let spread = self.covariance.trace() + other.covariance.trace() - 2.0 * cross;
        Ok((shift + spread).max(0.0))
    }
}

/// Returns the Frechet distance between the features of two sets, `[n, d]` and `[m, d]` row by row.
///
/// # Errors
///
/// As [`Moments::of`].
pub fn frechet_distance(a: &[f32], b: &[f32], d: usize) -> Result<f64, EvaluateError> {
    Moments::of(a, d)?.frechet_distance(&Moments::of(b, d)?)
}

/// Makes a matrix symmetric, which rounding in a product leaves only nearly so.
fn symmetric(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    (matrix + matrix.transpose()) * 0.5
}

/// Returns the symmetric root of a positive semi-definite matrix; negative eigenvalues come from rounding.
fn square_root(matrix: &DMatrix<f64>) -> DMatrix<f64> {
    let eigen = SymmetricEigen::new(symmetric(matrix));
    let mut scaled = eigen.eigenvectors.clone();
    for (mut column, e) in scaled.column_iter_mut().zip(eigen.eigenvalues.iter()) {
        column *= e.max(0.0).sqrt();
    }
    scaled * eigen.eigenvectors.transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;
    use rand_distr::{Distribution, StandardNormal};

    fn gaussian(n: usize, d: usize, seed: u64) -> Vec<f32> {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        (0..n * d)
            .map(|_| StandardNormal.sample(&mut rng))
            .collect()
    }

    fn near(a: f64, b: f64, relative: f64) {
        let off = relative * a.abs().max(b.abs()).max(1.0);
        assert!((a - b).abs() <= off, "{a} and {b}");
    }

    /// Through `tr((S1 S2)^1/2) = ||A B^T||_* / sqrt((n - 1)(m - 1))` for centred records `A`, `B`:
    /// no square root of a covariance.
    fn by_singular_values(a: &[f32], b: &[f32], d: usize) -> f64 {
        let centred = |x: &[f32]| {
            let m = DMatrix::from_row_iterator(x.len() / d, d, x.iter().map(|&v| f64::from(v)));
            let mean = m.row_mean();
            let centred = DMatrix::from_fn(m.nrows(), d, |i, j| m[(i, j)] - mean[j]);
            (centred / ((m.nrows() - 1) as f64).sqrt(), mean)
        };
        let ((a, mean_a), (b, mean_b)) = (centred(a), centred(b));
        let cross = (&a * b.transpose()).singular_values().sum();
        (mean_a - mean_b).norm_squared() + a.norm_squared() + b.norm_squared() - 2.0 * cross
    }

    #[test]
    fn equal_covariances_leave_the_squared_distance_of_the_means() {
        let covariance = [2.0, 0.5, 0.5, 1.0];
        let a = Moments::new(&[1.0, 2.0], &covariance).unwrap();
        let b = Moments::new(&[4.0, -2.0], &covariance).unwrap();
        near(a.frechet_distance(&b).unwrap(), 25.0, 1e-12);
        // Fewer records than features, shifted as a whole.
        let x = gaussian(5, 12, 1);
        let y: Vec<f32> = x.iter().map(|v| v + 0.5).collect();
        near(frechet_distance(&x, &y, 12).unwrap(), 12.0 * 0.25, 1e-6);
    }

    #[test]
    fn diagonal_covariances_compare_deviations() {
        let (a, b) = ([4.0, 9.0, 0.0], [1.0, 0.0, 0.25]);
        let of = |values: [f64; 3]| {
            let covariance = DMatrix::from_diagonal(&DVector::from_column_slice(&values));
            Moments::new(&[0.0; 3], covariance.as_slice()).unwrap()
        };
        let distance = of(a).frechet_distance(&of(b)).unwrap();
        // sum (sqrt(a) - sqrt(b))^2
        near(distance, 1.0 + 9.0 + 0.25, 1e-12);
    }

    #[test]
    fn bad_input_is_refused() {
        let few = Moments::of(&[1.0, 2.0], 2);
        assert!(matches!(few, Err(EvaluateError::TooFew { found: 1, .. })));
        assert!(Moments::of(&[1.0, 2.0, 3.0], 2).is_err());
        assert!(Moments::of(&[], 0).is_err());
        let nan = Moments::of(&[0.0, 1.0, f32::NAN, 1.0], 2);
        assert!(matches!(nan, Err(EvaluateError::NotFinite { .. })));
        assert!(Moments::new(&[0.0], &[1.0, 2.0]).is_err());
        let one = Moments::new(&[0.0], &[1.0]).unwrap();
        let two = Moments::new(&[0.0; 2], &[1.0, 0.0, 0.0, 1.0]).unwrap();
        assert!(one.frechet_distance(&two).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn agrees_with_singular_values_at_any_rank(
            n in 2_usize..30, m in 2_usize..30, d in 1_usize..20, seed in 0_u64..1000,
        ) {
            let (a, b) = (gaussian(n, d, seed), gaussian(m, d, seed + 1000));
            let distance = frechet_distance(&a, &b, d).unwrap();
            near(distance, by_singular_values(&a, &b, d).max(0.0), 1e-6);
        }

    }
}
