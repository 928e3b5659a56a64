//! The law of every kind of noise, as [`NoiseSource`] draws it.
//!
//! Each test would fail for a random seed with a probability of at most [`FALSE_ALARM`]; all seeds are fixed.

use dp_audit::kolmogorov_smirnov;
use dp_core::accounting::binomial;
use dp_core::accounting::normal::upper_tail;
use dp_core::mechanism::{DiscreteGaussian, NoiseSource};

const FALSE_ALARM: f64 = 1e-6;

/// Samples of each test.
const SAMPLES: usize = 1_000_000;

fn laplace_upper_tail(x: f64) -> f64 {
    let far = 0.5 * (-x.abs()).exp();
    if x > 0.0 { far } else { 1.0 - far }
}

/// How many of so many events of probability `rate` chance allows, but for `alarm` on either side.
fn plausible(count: u64, trials: u64, rate: f64, alarm: f64) -> bool {
    binomial::upper_tail(count, trials, rate) > alarm
        && binomial::lower_tail(count, trials, rate) > alarm
}

/// The whole law by Kolmogorov and Smirnov, which sees nothing of the tails; then these by counts.
fn check(name: &str, samples: &[f64], tail: fn(f64) -> f64, thresholds: &[f64]) {
    let found = kolmogorov_smirnov(samples, |x| 1.0 - tail(x));
    assert!(found.p_value_upper > 0.5 * FALSE_ALARM, "{name}: {found:?}");
    let alarm = 0.5 * FALSE_ALARM / (4 * thresholds.len()) as f64;
    for threshold in thresholds {
        for sign in [1.0, -1.0] {
            let count = samples.iter().filter(|x| sign * **x > *threshold).count() as u64;
            let (trials, rate) = (samples.len() as u64, tail(*threshold));
            println!("{name}: {count} beyond {}", sign * threshold);
            assert!(plausible(count, trials, rate, alarm));
        }
    }
}

#[test]
fn gaussian_noise_is_gaussian_in_its_middle_and_in_its_tails() {
    let samples = NoiseSource::insecure(1).standard_normal(SAMPLES);
    let tails = [1.0, 2.0, 3.0, 4.0, 4.5, 5.0];
    check("gaussian", &samples, upper_tail, &tails);
}

#[test]
fn laplace_noise_is_laplace_in_its_middle_and_in_its_tails() {
    let draws = NoiseSource::insecure(2).discrete_laplace(1 << 24, SAMPLES);
    let scale = f64::powi(2.0, 24);
    let samples: Vec<f64> = draws.iter().map(|k| *k as f64 / scale).collect();
    check(
        "laplace",
        &samples,
        laplace_upper_tail,
        &[1.0, 3.0, 6.0, 9.0, 12.0],
    );
}

/// Sums of neighbours, over every other sample and over two keys: a dependence would change their variance.
#[test]
fn samples_do_not_depend_on_each_other() {
    let mut source = NoiseSource::insecure(3);
    let first = source.standard_normal(SAMPLES);
    source.advance();
    let second = source.standard_normal(SAMPLES);
    let half = 0.5_f64.sqrt();
    let pairs = || first.chunks_exact(2).map(|pair| (pair[0], pair[1]));
    let keys = first.iter().zip(&second);
    for (name, samples) in [
        ("neighbours", pairs().map(|(a, b)| half * (a + b)).collect()),
        (
            "differences",
            pairs().map(|(a, b)| half * (a - b)).collect(),
        ),
        (
            "keys",
            keys.map(|(a, b)| half * (a + b)).collect::<Vec<f64>>(),
        ),
    ] {
        check(name, &samples, upper_tail, &[2.0, 3.0, 4.0]);
    }
}

/// The checks themselves: noise of 1 % too little, and noise that is cut off, are found.
#[test]
fn noise_of_another_law_is_found() {
    let samples = NoiseSource::insecure(4).standard_normal(SAMPLES);
    let less: Vec<f64> = samples.iter().map(|x| 0.99 * x).collect();
    assert!(kolmogorov_smirnov(&less, |x| 1.0 - upper_tail(x)).p_value_upper < FALSE_ALARM);
    let cut = samples.iter().filter(|x| **x > 3.5 && **x < 3.6).count() as u64;
    let rate = upper_tail(4.0);
    assert!(!plausible(cut, SAMPLES as u64, rate, FALSE_ALARM));
}

/// `P(k)` of the discrete Gaussian, for `k` from `-reach` to `reach`, by its definition.
fn mass(sigma2: f64, reach: i64) -> Vec<f64> {
    let density = |k: i64| (-0.5 * (k * k) as f64 / sigma2).exp();
    let far = reach.max((40.0 * sigma2.sqrt()) as i64 + 10);
    let all: f64 = (-far..=far).map(density).sum();
    (-reach..=reach).map(|k| density(k) / all).collect()
}

/// Chi-square of the numbers that are expected often enough, and the rest as one; its tail by the bound of Laurent and
/// Massart 2000: `P(X > d + 2 sqrt(d x) + 2 x) <= exp(-x)`. That the statistic has this law is a limit: cells of at
/// least a hundred make it a good one.
#[test]
fn the_discrete_gaussian_has_its_probabilities() {
    for (numerator, denominator) in [(1, 10), (1, 2), (1, 1), (7, 3), (100, 1), (12_345, 7)] {
        let law = DiscreteGaussian::new(numerator, denominator).unwrap();
        let sigma2 = numerator as f64 / denominator as f64;
        let draws = NoiseSource::insecure(5).discrete_gaussian(&law, SAMPLES / 4);
        let n = draws.len() as f64;
        let reach = (6.0 * sigma2.sqrt()) as i64 + 2;
        let mut counts = vec![0.0; 2 * reach as usize + 1];
        let mut beyond = 0.0;
        for draw in &draws {
            match counts.get_mut((draw + reach) as usize) {
                Some(count) if *draw >= -reach => *count += 1.0,
                _ => beyond += 1.0,
            }
        }
        let (mut statistic, mut cells, mut left) = (0.0, 0.0, n);
        for (count, mass) in counts.iter().zip(mass(sigma2, reach)) {
            let expected = n * mass;
            if expected >= 100.0 {
                statistic += (count - expected).powi(2) / expected;
                cells += 1.0;
                left -= expected;
            } else {
                beyond += count;
            }
        }
        if left >= 100.0 {
            statistic += (beyond - left).powi(2) / left;
            cells += 1.0;
        } else {
            // Too rare for chi-square, so by itself.
            let rate = (left / n).max(1e-12);
            let plausible = plausible(beyond as u64, draws.len() as u64, rate, FALSE_ALARM / 10.0);
            assert!(plausible, "{beyond} of {left}");
        }
        let (d, x) = (cells - 1.0, -(FALSE_ALARM / 12.0).ln());
        let bound = d + 2.0 * (d * x).sqrt() + 2.0 * x;
        assert!(statistic < bound, "sigma^2 {sigma2}: {statistic}, {d}");
    }
}

/// Not above sigma squared (Canonne, Kamath and Steinke 2020, corollary 9), and from sigma 1 on nearly that.
#[test]
fn the_variance_of_the_discrete_gaussian_is_at_most_its_parameter() {
    for (numerator, denominator) in [(1, 4), (1, 1), (9, 1), (1_000_003, 1), ((1 << 40) - 1, 1)] {
        let law = DiscreteGaussian::new(numerator, denominator).unwrap();
        let draws = NoiseSource::insecure(6).discrete_gaussian(&law, SAMPLES / 8);
        let n = draws.len() as f64;
        let mean = draws.iter().map(|k| *k as f64).sum::<f64>() / n;
        let variance = draws.iter().map(|k| (*k as f64).powi(2)).sum::<f64>() / n;
        let sigma2 = numerator as f64 / denominator as f64;
        // 6 deviations of the mean of squares, and of the mean: a false alarm of 1e-8.
        let (ratio, off) = (variance / sigma2, 6.0 * (2.0 / n).sqrt());
        assert!(ratio < 1.0 + off, "{variance} {sigma2}");
        let least = if sigma2 >= 1.0 {
            (1.0 - off) * (1.0 - 1e-6)
        } else {
            0.0
        };
        assert!(ratio > least, "{variance} {sigma2}");
        assert!(mean.abs() < 6.0 * (sigma2 / n).sqrt(), "{mean} {sigma2}");
    }
}

/// The continuous test for a law that is nearly continuous.
#[test]
fn with_much_noise_the_discrete_gaussian_is_nearly_gaussian() {
    let law = DiscreteGaussian::new(1 << 38, 1).unwrap();
    let draws = NoiseSource::insecure(7).discrete_gaussian(&law, SAMPLES / 8);
    let sigma = f64::powi(2.0, 19);
    let samples: Vec<f64> = draws.iter().map(|k| *k as f64 / sigma).collect();
    check("discrete", &samples, upper_tail, &[1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn discrete_noise_goes_with_the_key() {
    let law = DiscreteGaussian::new(1_000, 1).unwrap();
    let mut source = NoiseSource::insecure(8);
    let state = source.state();
    let first = source.discrete_gaussian(&law, 10);
    let mut resumed = NoiseSource::resume(&state);
    assert_eq!(resumed.discrete_gaussian(&law, 10), first);
    source.advance();
    assert_ne!(source.discrete_gaussian(&law, 10), first);
}
