//! Estimates covariances from noisy ones: post-processing.

use nalgebra::{DMatrix, SymmetricEigen};

/// The smallest eigenvalue that is distinguished from zero, as a share of the largest.
const NARROW: f64 = 1e-4;
/// A lower bound for the largest eigenvalue, used if nothing is known.
const SMALLEST: f64 = 1e-9;
/// The least variance along a direction, as a share of the known variance.
const LEAST: f64 = 0.02;

/// Estimates the eigenvalues of a symmetric matrix from a noisy one, along the eigenvectors of the noisy one:
/// `l_i - 2 s^2 sum_j (l_i - l_j) / ((l_i - l_j)^2 + eta^2)`.
///
/// - `noisy`: the `d` eigenvalues of the noisy matrix;
/// - `deviation`: `s`, that of the noise of an off-diagonal entry; it is `sqrt 2 s` on the diagonal.
///
/// The noise alone has eigenvalues on a semicircle up to `2 s sqrt d`, and spreads those of the matrix apart. The sum is `d`
/// times the real part of the resolvent's trace at distance `eta` from the axis, which measures this spread. A single eigenvalue
/// above the semicircle becomes `sqrt(l^2 - 4 s^2 d)`: the value of the matrix along the noisy eigenvector, which is less than
/// the eigenvalue `(l + sqrt(l^2 - 4 s^2 d)) / 2` that caused it. With noise alone all eigenvalues come together.
/// The result may be negative. Source: Bun, Allez, Bouchaud and Potters 2016, Rotational invariant estimator for general
/// noisy matrices (arXiv 1502.06736), section 4.
pub(super) fn denoised(noisy: &[f64], deviation: f64) -> Vec<f64> {
    if deviation <= 0.0 {
        return noisy.to_vec();
    }
    // Somewhat more than the mean distance between `d` eigenvalues on a semicircle.
    let eta = 4.0 * deviation / (noisy.len() as f64).sqrt();
    let pull = |a: f64| -> f64 {
        let apart = noisy.iter().map(|b| a - b);
        apart.map(|x| x / (x * x + eta * eta)).sum()
    };
    let shrunk = noisy
        .iter()
        .map(|&a| a - 2.0 * deviation * deviation * pull(a));
    shrunk.collect()
}

/// Estimates a covariance from a noisy one and a known one.
///
/// - `noisy`: `C`, symmetric, `[d, d]`, of some records; `known`: `W`, the earlier estimate;
/// - `deviation`: `s`, that of the noise of an off-diagonal entry; it is `sqrt 2 s` on the diagonal;
/// - `records`: `n`, the number of records of `C`, which gives its sampling error.
///
/// In the coordinates in which `W` is the identity, with `l_i` its eigenvalues, entry `(i, j)` of the difference
/// `D = W^-1/2 C W^-1/2 - I` has an error of variance `v_ij = (1 + [i = j]) (s^2 / (l_i l_j) + 1/n)`. The differences are assumed
/// normal with one variance `t`, estimated by the mean of `D_ij^2 - v_ij` with weights `1/v_ij^2`, or 0 if that is negative.
/// Each entry is multiplied by `t / (t + v_ij)`, so noisy directions stay as they were known: an empirical Bayes estimate
/// (Efron and Morris 1973) in a known basis. No variance falls below a fiftieth of the known one.
pub(super) fn shrunk_towards(
    known: &DMatrix<f64>,
    noisy: &DMatrix<f64>,
    deviation: f64,
    records: f64,
) -> DMatrix<f64> {
    let d = known.nrows();
    let eigen = SymmetricEigen::new(known.clone());
    let least = NARROW * eigen.eigenvalues.max().max(SMALLEST);
    let values = eigen.eigenvalues.map(|value| value.max(least));
    let scaled = |power: f64| {
        &eigen.eigenvectors * DMatrix::from_diagonal(&values.map(|value| value.powf(power)))
    };
    let (inverse, root) = (scaled(-0.5), scaled(0.5));
    let difference = inverse.transpose() * noisy * &inverse - DMatrix::identity(d, d);
    let variance = DMatrix::from_fn(d, d, |i, j| {
        let noise = deviation * deviation / (values[i] * values[j]) + 1.0 / records;
        noise * if i == j { 2.0 } else { 1.0 }
    });
    let pairs = || difference.iter().zip(variance.iter());
    let weights: f64 = variance.iter().map(|v| 1.0 / (v * v)).sum();
    let spread: f64 = pairs().map(|(x, v)| (x * x - v) / (v * v)).sum();
    let spread = (spread / weights).max(0.0);
    let signal = difference.zip_map(&variance, |x, v| x * spread / (spread + v));
    let signal = SymmetricEigen::new(signal + DMatrix::identity(d, d));
    let turned = root * &signal.eigenvectors;
    let values = signal.eigenvalues.map(|value| value.max(LEAST));
    &turned * DMatrix::from_diagonal(&values) * turned.transpose()
}

#[cfg(test)]
mod tests {
    use nalgebra::DVector;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;
    use rand_distr::{Distribution, StandardNormal};

    use super::*;

    fn symmetric_noise(d: usize, rng: &mut ChaCha20Rng) -> DMatrix<f64> {
        let free = DMatrix::from_fn(d, d, |_, _| StandardNormal.sample(rng));
        let sum: DMatrix<f64> = &free + free.transpose();
        sum / std::f64::consts::SQRT_2
    }

    /// Fixed seeds: a spike above the semicircle, noise alone, and a decaying spectrum such as that of latents, whose
    /// squared error falls by a third at least.
    #[test]
    fn eigenvalues_lose_what_the_noise_gave_them() {
        let (d, rng) = (32, &mut ChaCha20Rng::seed_from_u64(2));
        assert_eq!(denoised(&[1.0, 2.0], 0.0), [1.0, 2.0]);
        let noise = symmetric_noise(d, rng);
        let edge = 2.0 * (d as f64).sqrt();
        let error = |truth: &DMatrix<f64>, deviation: f64| {
            let noisy = truth + &noise * deviation;
            let eigen = SymmetricEigen::new(noisy.clone());
            let values = DVector::from_vec(denoised(eigen.eigenvalues.as_slice(), deviation));
            let back = &eigen.eigenvectors
                * DMatrix::from_diagonal(&values)
                * eigen.eigenvectors.transpose();
            [(noisy - truth).norm(), (back - truth).norm()]
        };
        let [before, after] = error(&DMatrix::zeros(d, d), 1.0);
        assert!(after < 0.45 * before, "{before} {after}");
        let decaying =
            DMatrix::from_diagonal(&DVector::from_fn(d, |i, _| edge * 0.8_f64.powi(i as i32)));
        let [before, after] = error(&decaying, 0.5);
        assert!(after < 0.82 * before, "{before} {after}");
        let mut spiked = DMatrix::zeros(d, d);
        spiked[(0, 0)] = 2.0 * edge;
        let eigen = SymmetricEigen::new(spiked + &noise);
        let largest = eigen.eigenvalues.max();
        let found = denoised(eigen.eigenvalues.as_slice(), 1.0);
        let found = found.into_iter().fold(0.0, f64::max);
        let formula = (largest * largest - edge * edge).sqrt();
        assert!((found / formula - 1.0).abs() < 0.02, "{found} {formula}");
    }

    /// Fixed seed: nothing is learned from noise alone, all from many records without any, and in between the error is
    /// below that of what was known and that of what was heard.
    #[test]
    fn a_covariance_is_heard_as_far_as_its_noise_lets_it() {
        let (d, rng) = (24, &mut ChaCha20Rng::seed_from_u64(4));
        let known = DMatrix::from_diagonal(&DVector::from_fn(d, |i, _| 0.7_f64.powi(i as i32)));
        let root = known.map(f64::sqrt);
        let other = symmetric_noise(d, rng) * 0.06 + DMatrix::identity(d, d);
        let truth = &root * other * &root;
        let error = |found: &DMatrix<f64>| (found - &truth).norm();
        assert!(error(&shrunk_towards(&known, &truth, 0.0, 1e9)) < 1e-3 * truth.norm());
        for (deviation, records) in [(0.02, 1e9), (0.005, 1e9), (0.0, 40.0), (0.01, 60.0)] {
            let chance = &root * symmetric_noise(d, rng) * &root / f64::sqrt(records);
            let noisy = &truth + symmetric_noise(d, rng) * deviation + chance;
            let found = shrunk_towards(&known, &noisy, deviation, records);
            let best = error(&known).min(error(&noisy));
            assert!(error(&found) < best, "{} {best}", error(&found));
        }
        let heard = shrunk_towards(&known, &(&known + symmetric_noise(d, rng)), 1.0, 1e9);
        assert!((heard - &known).norm() < 0.2 * known.norm());
    }

    #[test]
    fn the_result_is_a_covariance_whatever_was_heard() {
        let (d, rng) = (9, &mut ChaCha20Rng::seed_from_u64(5));
        for known in [DMatrix::zeros(d, d), DMatrix::identity(d, d) * 0.1] {
            let noisy = symmetric_noise(d, rng) * 10.0;
            let found = shrunk_towards(&known, &noisy, 0.1, 1.0);
            let least = SymmetricEigen::new(found).eigenvalues.min();
            assert!(least.is_finite() && least > -1e-9, "{least}");
        }
    }
}
