//! Entropic transport that is matched to the noise learns the law before the noise (Reshetova, Chen and Ozgur 2023,
//! arXiv 2306.09547, theorem 1); plain transport learns the noisy one.
//!
//! Samples are fixed by a seed. Each bound on what a sample may say is four and a half standard deviations, so a test
//! that draws its sample anew would fail in 7 of a million.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, Exp1, StandardNormal};
use swd::StandardGaussian;
use swd::sinkhorn::{Cost, Sinkhorn};

const DEVIATIONS: f64 = 4.5;

fn normal(count: usize, deviation: f64, rng: &mut ChaCha20Rng) -> Vec<f64> {
    let draw = |_| deviation * <StandardNormal as Distribution<f64>>::sample(&StandardNormal, rng);
    (0..count).map(draw).collect()
}

fn laplace(count: usize, scale: f64, rng: &mut ChaCha20Rng) -> Vec<f64> {
    // The difference of two exponential values.
    let mut one = || <Exp1 as Distribution<f64>>::sample(&Exp1, rng);
    (0..count).map(|_| scale * (one() - one())).collect()
}

fn singles(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&x| x as f32).collect()
}

/// A line of points that stand for the standard Gaussian: the means of cells of equal weight.
fn line(count: usize) -> Vec<f64> {
    let cells = StandardGaussian::new(1).and_then(|law| law.cells(count));
    cells.unwrap().row(0).to_vec()
}

/// Transport that is matched to noise of this size.
fn matched(cost: Cost, size: f64) -> Sinkhorn {
    Sinkhorn::denoising(cost, size).unwrap().tolerance(1e-6)
}

/// Records of these values and this noise.
fn noisy(clean: Vec<f64>, noise: Vec<f64>) -> Vec<f64> {
    clean
        .into_iter()
        .zip(noise)
        .map(|(x, noise)| x + noise)
        .collect()
}

/// The scale `a` at which the points `a z` are nearest to `y`: where the slope in `a` changes its sign.
fn nearest_scale(sinkhorn: &Sinkhorn, z: &[f64], y: &[f32]) -> f64 {
    let slope = |a: f64| {
        let x: Vec<f32> = z.iter().map(|z| (a * z) as f32).collect();
        let found = sinkhorn.solve(&x, y, 1).unwrap();
        assert!(found.converged());
        let parts = found.gradient().into_iter().zip(z);
        parts.map(|(g, z)| f64::from(g) * z).sum::<f64>()
    };
    let (mut low, mut high) = (0.02, 6.0);
    for _ in 0..16 {
        let middle = (low + high) / 2.0;
        if slope(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// As [`nearest_scale`] for transport that is hardly regularised, of fewer points: it takes many iterations.
fn plain_scale(cost: Cost, y: &[f32]) -> f64 {
    let mut sorted = y.to_vec();
    sorted.sort_by(f32::total_cmp);
    let few: Vec<f32> = sorted.iter().skip(7).step_by(15).copied().collect();
    let plain = Sinkhorn::new(cost, 0.1).unwrap().tolerance(1e-2);
    nearest_scale(&plain.iterations(5000), &line(100), &few)
}

#[test]
fn the_matched_loss_finds_the_clean_variance() {
    let (n, clean, sigma) = (1500, 1.0, 1.2);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let y = noisy(normal(n, clean, &mut rng), normal(n, sigma, &mut rng));
    let noisy = y.iter().map(|y| y * y).sum::<f64>() / n as f64;
    let (z, y) = (line(400), singles(&y));

    let matched = matched(Cost::SquaredEuclidean, sigma);
    let variance = nearest_scale(&matched, &z, &y).powi(2);
    // What the sample itself says: nothing but the cells of z lies between.
    let own = noisy - sigma * sigma;
    assert!((variance - own).abs() < 0.03, "{variance} {noisy}");
    let deviation = (clean + sigma * sigma) * (2.0 / n as f64).sqrt();
    let bound = DEVIATIONS * deviation + 0.03;
    assert!((variance - clean).abs() < bound, "{variance}");

    let variance = plain_scale(Cost::SquaredEuclidean, &y).powi(2);
    assert!((variance / noisy - 1.0).abs() < 0.15, "{variance} {noisy}");
}

/// `X = a Z` with Gaussian `Z`, Laplace noise, absolute costs: `E |X| = a sqrt(2 / pi)`.
#[test]
fn the_matched_loss_finds_the_clean_mean_deviation() {
    let (n, clean, scale) = (1500, 1.0, 0.8);
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let y = noisy(normal(n, clean, &mut rng), laplace(n, scale, &mut rng));
    let noisy = y.iter().map(|y| y.abs()).sum::<f64>() / n as f64;
    let (z, y) = (line(400), singles(&y));
    let mean = (2.0 / std::f64::consts::PI).sqrt();

    let matched = matched(Cost::Manhattan, scale);
    let found = nearest_scale(&matched, &z, &y) * mean;
    // The deviation of this estimate, over 60 samples: 0.032.
    assert!((found - clean * mean).abs() < DEVIATIONS * 0.033, "{found}");

    let found = plain_scale(Cost::Manhattan, &y) * mean;
    assert!((found / noisy - 1.0).abs() < 0.15, "{found} {noisy}");
    assert!(noisy > 1.3 * clean * mean);
}

/// A linear map of a plane, down the gradient of the matched loss, to records with noise.
#[test]
fn the_matched_loss_finds_the_clean_covariance() {
    let (n, m, sigma) = (1200, 600, 1.0);
    // Covariance [[1, 0.6], [0.6, 0.5]].
    let rows = [[1.0, 0.0], [0.6, 0.14_f64.sqrt()]];
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let clean = normal(2 * n, 1.0, &mut rng);
    let noise = normal(2 * n, sigma, &mut rng);
    let mapped = |z: &[f64], a: &[[f64; 2]; 2]| -> Vec<f64> {
        let point = |z: &[f64]| a.map(|row| row[0] * z[0] + row[1] * z[1]);
        z.chunks_exact(2).flat_map(point).collect()
    };
    let covariance = |points: &[f64]| {
        let mut sum = [0.0; 3];
        for p in points.chunks_exact(2) {
            sum[0] += p[0] * p[0];
            sum[1] += p[0] * p[1];
            sum[2] += p[1] * p[1];
        }
        sum.map(|s| 2.0 * s / points.len() as f64)
    };
    let y = noisy(mapped(&clean, &rows), noise);
    let noisy = covariance(&y);

    // Codes whose second moments are exactly those of the law: each with its three reflections.
    let codes = normal(m / 2, 1.0, &mut rng);
    let mut z: Vec<f64> = codes
        .chunks_exact(2)
        .flat_map(|c| [c[0], c[1], -c[1], c[0], -c[0], -c[1], c[1], -c[0]])
        .collect();
    let size = (covariance(&z)[0]).sqrt();
    z.iter_mut().for_each(|z| *z /= size);

    let matched = matched(Cost::SquaredEuclidean, sigma);
    let mut a = [[0.7, 0.0], [0.0, 0.7]];
    let y = singles(&y);
    for _ in 0..60 {
        let x = singles(&mapped(&z, &a));
        let found = matched.solve(&x, &y, 2).unwrap();
        assert!(found.converged());
        for (z, g) in z.chunks_exact(2).zip(found.gradient().chunks_exact(2)) {
            for (row, g) in a.iter_mut().zip(g) {
                let pairs = row.iter_mut().zip(z);
                pairs.for_each(|(a, z)| *a -= 0.5 * f64::from(*g) * z);
            }
        }
    }
    let found = covariance(&mapped(&z, &a));
    let truth = [1.0, 0.6, 0.5];
    // The variances of second moments of a Gaussian: s_ii s_jj + s_ij^2 over n.
    let [first, both, second] = [truth[0] + 1.0, truth[1], truth[2] + 1.0];
    let variances = [
        2.0 * first * first,
        first * second + both * both,
        2.0 * second * second,
    ];
    for place in 0..3 {
        let own = noisy[place] - [sigma * sigma, 0.0, sigma * sigma][place];
        assert!((found[place] - own).abs() < 0.06, "{found:?} {noisy:?}");
        let bound = DEVIATIONS * (variances[place] / n as f64).sqrt() + 0.06;
        assert!((found[place] - truth[place]).abs() < bound, "{found:?}");
    }
}
