//! The discrete Gaussian on the whole numbers, sampled exactly without floating point.

use rand::Rng;
use zeroize::Zeroizing;

use super::NoiseSource;
use super::gaussian::check_finite;
use crate::DpError;

/// The largest parameter sigma, rounded up, for which the products below fit.
const LARGEST_SCALE: u64 = 1 << 25;

/// The largest products of sigma and of its square with the denominator of the variance.
const LARGEST_PRODUCTS: [u64; 2] = [1 << 31, 1 << 51];

/// Proposals that are this many scales from 0 are rejected. The samples then differ from the exact law by less than
/// `exp(-4096)` in total variation.
const LARGEST_DRAW: u128 = 1 << 12;

/// The number of grid steps in a sigma, or in a scale of Laplace noise, of a release.
pub(super) const FINE: u64 = 1 << 24;

/// The discrete Gaussian distribution on the whole numbers, `P(k) ~ exp(-k^2 / (2 sigma^2))`.
///
/// Added to every entry of a vector of whole numbers with L2 sensitivity `Delta`, it makes a release that is
/// `Delta^2 / (2 sigma^2)`-concentrated differentially private, like Gaussian noise of that `sigma` (Canonne, Kamath
/// and Steinke 2020, arXiv 2004.00010, theorem 14): [`Event::DiscreteGaussian`](crate::accounting::Event). Its
/// variance is at most `sigma^2` (corollary 9).
///
/// Their algorithms 1 to 3 sample it from uniform bits with whole numbers alone. Unlike that of noise in floating
/// point, its support does not depend on the value it is added to. The running time is random and depends on the
/// sample.
///
/// ```
/// use dp_core::mechanism::{DiscreteGaussian, NoiseSource};
///
/// // How many records of each kind there are; to replace one moves two of the numbers by 1.
/// let counts = [120_i64, 33, 0];
/// let law = DiscreteGaussian::new(50, 1)?;
/// let noise = NoiseSource::secret()?.discrete_gaussian(&law, counts.len());
/// let noisy: Vec<i64> = counts.iter().zip(noise).map(|(count, noise)| count + noise).collect();
/// # assert_eq!(noisy.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiscreteGaussian {
    numerator: u64,
    denominator: u64,
    /// `floor(sigma) + 1`, the scale of the proposals.
    scale: u64,
}

impl DiscreteGaussian {
    /// Builds the law with `sigma^2 = numerator / denominator`.
    ///
    /// # Errors
    ///
    /// [`DpError::OutOfRange`] if the variance is 0 or above about `2^50`, or the denominator is too large for it.
    pub fn new(numerator: u64, denominator: u64) -> Result<Self, DpError> {
        let refuse = |name, value, bound: &str| DpError::OutOfRange {
            name,
            value,
            bound: bound.into(),
        };
        if denominator == 0 {
            return Err(refuse("denominator of the variance", 0.0, "at least 1"));
        }
        let scale = (numerator / denominator).isqrt() + 1;
        if numerator == 0 || scale > LARGEST_SCALE {
            let variance = numerator as f64 / denominator as f64;
            return Err(refuse("variance", variance, "above 0 and below 2^50"));
        }
        let [product, with_square] = LARGEST_PRODUCTS;
        let largest = (product / scale).min(with_square / (scale * scale));
        if denominator > largest {
            let bound = format!("at most {largest}");
            return Err(refuse(
                "denominator of the variance",
                denominator as f64,
                &bound,
            ));
        }
        Ok(Self {
            numerator,
            denominator,
            scale,
        })
    }

    /// Draws once: a discrete Laplace number is kept with the probability that makes it Gaussian (algorithm 3).
    pub(super) fn draw(&self, generator: &mut impl Rng) -> i64 {
        let (p, q, t) = (
            u128::from(self.numerator),
            u128::from(self.denominator),
            u128::from(self.scale),
        );
        loop {
            let (negative, size) = discrete_laplace(self.scale, generator);
            if size >= LARGEST_DRAW * t {
                continue;
            }
            // (size - sigma^2 / t)^2 / (2 sigma^2), as a fraction; below 2^126 over below 2^104.
            let apart = (size * t * q).abs_diff(p);
            if exponential_coin(apart * apart, 2 * p * q * t * t, generator) {
                let size = size as i64;
                return if negative { -size } else { size };
            }
        }
    }
}

/// Returns `values` with discrete Gaussian noise on a grid of [`FINE`] steps to its sigma, and this sigma in units of the values.
///
/// # Formal guarantee
///
/// The output is no easier to tell from a neighbour's than under continuous Gaussian noise of `noise_multiplier` times
/// the sensitivity: at every epsilon its delta is at most that of `Event::Gaussian` plus `10^-43`; if the multiplier
/// is below 1/12, at every epsilon at which that delta is at most `1 - 10^-8`. No floating point lies between the
/// rounded values and their sums with the noise, so the support of the output is the same for all values.
///
/// *Proof.* Values are rounded to the grid of step `g = sigma / 2^24`, which moves two data sets apart by at most
/// `2 g sqrt(n)` (half a step and what the division rounds, together below a step for each coordinate and data set); that
/// is added to the sensitivity. Call `s = 2^24`. On whole numbers, Gaussian noise that is rounded has at `k` the
/// probability `exp(-k^2 / 2 s^2) R(k) / (s sqrt(2 pi))` with `R(k) = E exp(-(k u + u^2 / 2) / s^2)`, `u` uniform on
/// `[-1/2, 1/2]`, and so `exp(-1 / 24 s^2) <= R(k) <= exp(k^2 / 24 s^4)`. The discrete law has it without `R`, up to a
/// factor of less than `1 + exp(-s^2)`. An output whose distance to both means is at most `s sqrt(3 n + 1000)`, as all but
/// `10^-43` are, is as likely under one law as under the other up to a factor between `exp(-e)` and `exp(e)`,
/// `e = (n + 250) / (6 s^2)`. Rounded Gaussian noise on whole numbers is Gaussian noise, looked at less closely. So the
/// discrete one has at `epsilon` at most `exp(e)` times the delta of Gaussian noise at `epsilon - 2 e`. With
/// `mu = 1 / noise_multiplier` and `a = mu / 2 - epsilon / mu`, delta grows by `phi(a)` for each unit of `mu`, and by less
/// than `1.26 phi(a)` for each unit that epsilon falls by. It is at most `Phi(a)`, which is below `1.26 phi(a)` where `a`
/// is negative, and at most `phi(a) / phi(6)` up to `a = 6`; there it is above `1 - 10^-8`, and `a` is at most `mu / 2`.
/// So `mu` smaller by `e (2.6 + 1 / phi(min(mu / 2, 6)))` makes up for all of it. The noise is larger by that, and by a
/// part in 10^5 for what this computation in `f64` rounds.
pub(crate) fn noisy_vector(
    values: &[f64],
    noise_multiplier: f64,
    sensitivity: f64,
    noise: &mut NoiseSource,
) -> Result<(Vec<f64>, f64), DpError> {
    check_finite(values)?;
    let sigma = fine_deviation(values.len(), noise_multiplier, sensitivity)?;
    Ok((noisy_of_deviation(values, sigma, noise)?, sigma))
}

/// Returns `values` with discrete Gaussian noise of a [`fine_deviation`], which may be that of more values.
pub(super) fn noisy_of_deviation(
    values: &[f64],
    sigma: f64,
    noise: &mut NoiseSource,
) -> Result<Vec<f64>, DpError> {
    let law = DiscreteGaussian::new(FINE * FINE, 1)?;
    let noise = Zeroizing::new(noise.discrete_gaussian(&law, values.len()));
    add_on_grid(values, sigma / FINE as f64, &noise)
}

/// Rounds the values to a grid of this step and adds noise, which is counted in steps.
///
/// Each value moves by less than a step: its quotient is below 2^52, so the division rounds it by at most half a
/// step, and so does rounding to a whole number.
pub(super) fn add_on_grid(values: &[f64], step: f64, noise: &[i64]) -> Result<Vec<f64>, DpError> {
    let bound = f64::powi(2.0, 52) * step;
    if values.iter().any(|value| value.abs() >= bound) {
        return Err(DpError::BeyondGrid { bound });
    }
    let noisy = values.iter().zip(noise).map(|(value, noise)| {
        let whole = (value / step).round() as i64;
        (whole + noise) as f64 * step
    });
    Ok(noisy.collect())
}

/// The sigma of [`noisy_vector`] for this many values, in their units.
pub(crate) fn fine_deviation(
    count: usize,
    noise_multiplier: f64,
    sensitivity: f64,
) -> Result<f64, DpError> {
    let (n, s) = (count as f64, FINE as f64);
    let multiplier = noise_multiplier * larger(n, s, noise_multiplier);
    // sigma = multiplier (sensitivity + 2 sqrt(n) sigma / s)
    let rounding = 2.0 * multiplier * n.sqrt() / s;
    if rounding >= 0.5 {
        return Err(DpError::OutOfRange {
            name: "noise multiplier of a release",
            value: noise_multiplier,
            bound: format!("below {:e} for {count} values", 0.25 * s / n.sqrt()),
        });
    }
    Ok(multiplier * sensitivity / (1.0 - rounding))
}

/// The factor on the noise multiplier if the noise of `n` values is discrete, with `s` steps to its sigma.
fn larger(n: f64, s: f64, noise_multiplier: f64) -> f64 {
    let largest = (0.5 / noise_multiplier).clamp(3.0, 6.0);
    let density = (-0.5 * largest * largest).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let apart = (n + 250.0) / (6.0 * s * s);
    let smaller = apart * (2.6 + 1.0 / density) * noise_multiplier;
    if smaller < 0.5 {
        (1.0 + 1e-5) / (1.0 - smaller)
    } else {
        f64::INFINITY
    }
}

/// Draws the sign and the size of a whole number with `P(k) ~ exp(-|k| / scale)` (algorithm 2).
pub(super) fn discrete_laplace(scale: u64, generator: &mut impl Rng) -> (bool, u128) {
    let scale = u128::from(scale);
    loop {
        let rest = uniform_below(scale, generator);
        if !exponential_coin(rest, scale, generator) {
            continue;
        }
        let mut times = 0_u128;
        while exponential_coin(1, 1, generator) {
            times += 1;
        }
        let size = rest + scale * times;
        let negative = uniform_below(2, generator) == 1;
        // Zero has one sign only.
        if !(negative && size == 0) {
            return (negative, size);
        }
    }
}

/// Is true with probability `exp(-numerator / denominator)` (algorithm 1).
fn exponential_coin(numerator: u128, denominator: u128, generator: &mut impl Rng) -> bool {
    for _ in 0..numerator / denominator {
        if !small_exponential_coin(1, 1, generator) {
            return false;
        }
    }
    small_exponential_coin(numerator % denominator, denominator, generator)
}

/// Does so for a fraction of at most 1. Coins come up with probability `fraction / k`, `k = 1, 2, ...`: the number that
/// come up before the first that does not is even with that probability.
fn small_exponential_coin(numerator: u128, denominator: u128, generator: &mut impl Rng) -> bool {
    let mut k = 1;
    while uniform_below(denominator * k, generator) < numerator {
        k += 1;
    }
    k % 2 == 1
}

/// Draws a whole number below `bound >= 1` uniformly: it takes as many bits as the bound has, and draws again if they
/// are too large.
fn uniform_below(bound: u128, generator: &mut impl Rng) -> u128 {
    let bits = u128::BITS - (bound - 1).leading_zeros();
    let mask = if bits == 0 {
        0
    } else {
        u128::MAX >> (u128::BITS - bits)
    };
    loop {
        let low = u128::from(generator.next_u64());
        let sampled = if bits > 64 {
            low | (u128::from(generator.next_u64()) << 64)
        } else {
            low
        };
        if sampled & mask < bound {
            return sampled & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use dp_accountant::accounting::normal::gaussian_delta;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(DiscreteGaussian::new(1 << 30, 1 << 30).is_ok());
        for (numerator, denominator) in [(0, 1), (1, 0), (1 << 50, 1), (u64::MAX, 1), (1, 1 << 32)]
        {
            let law = DiscreteGaussian::new(numerator, denominator);
            assert!(law.is_err(), "{numerator} {denominator}");
        }
    }

    /// All that is multiplied fits at the largest of everything; a panic here would be an overflow.
    #[test]
    fn the_largest_variances_can_be_drawn() {
        let mut generator = ChaCha20Rng::seed_from_u64(1);
        for (numerator, denominator) in [
            ((1 << 50) - 1, 1),
            (((1 << 50) - 1) * 2, 2),
            ((1 << 40) - 1, 1),
            (((1 << 40) - 1) * 2048, 2048),
            ((1 << 31) - 1, 1 << 31),
            (1, 1 << 31),
        ] {
            let law = DiscreteGaussian::new(numerator, denominator).unwrap();
            let [p, q, t] = [numerator, denominator, law.scale].map(u128::from);
            let largest = ((LARGEST_DRAW * t - 1) * t * q).checked_pow(2);
            assert!(largest.is_some() && (2 * p * q * t * t).checked_mul(1 << 20).is_some());
            for _ in 0..20 {
                let sigma = (numerator as f64 / denominator as f64).sqrt();
                assert!((law.draw(&mut generator) as f64).abs() < 40.0 * sigma + 1.0);
            }
        }
    }

    /// Delta of one whole number of this sensitivity (Canonne, Kamath and Steinke 2020, theorem 7).
    fn exact_delta(sigma: f64, sensitivity: f64, epsilon: f64) -> f64 {
        let density = |k: i64| (-0.5 * (k as f64 / sigma).powi(2)).exp();
        let reach = (40.0 * sigma) as i64;
        let all: f64 = (-reach..=reach).map(density).sum();
        let tail = |x: f64| {
            let first = (x.floor() as i64 + 1).max(-reach);
            (first..=reach).rev().map(density).sum::<f64>() / all
        };
        let (middle, half) = (epsilon * sigma * sigma / sensitivity, 0.5 * sensitivity);
        tail(middle - half) - epsilon.exp() * tail(middle + half)
    }

    /// The proof in small: with fewer steps to sigma the noise has to be larger by more, and that is enough.
    #[test]
    fn on_a_fine_grid_delta_is_at_most_that_of_the_gaussian() {
        for s in [64.0, 1000.0] {
            for sensitivity in [1.0_f64, 7.0, 30.0, 200.0, 700.0] {
                let z = s / sensitivity;
                let claimed = (1..100).fold(z, |claimed, _| z / larger(1.0, s, claimed));
                for epsilon in [0.0, 0.01, 0.3, 1.0, 4.0, 10.0, 40.0] {
                    let exact = exact_delta(s, sensitivity, epsilon);
                    let gaussian = gaussian_delta(1.0 / claimed, epsilon);
                    assert!(exact <= gaussian + 1e-15, "{s} {sensitivity} {epsilon}");
                }
            }
        }
    }

    #[test]
    fn what_is_released_lies_on_the_grid_with_its_noise() {
        let values: Vec<f64> = (0..4_000).map(|i| f64::from(i) * 0.37 - 500.0).collect();
        let (noisy, sigma) =
            noisy_vector(&values, 3.0, 2.0, &mut NoiseSource::insecure(3)).unwrap();
        assert!((6.0..6.0 * 1.0005).contains(&sigma), "{sigma}");
        let step = sigma / FINE as f64;
        assert!(noisy.iter().all(|x| (x / step).round() * step == *x));
        let squares = noisy.iter().zip(&values).map(|(a, b)| (a - b).powi(2));
        let ratio = squares.sum::<f64>() / sigma.powi(2) / 4_000.0;
        // 6 deviations: a false alarm of 2e-9.
        assert!((ratio - 1.0).abs() < 6.0 * (2.0_f64 / 4_000.0).sqrt());
        let mut source = NoiseSource::insecure(3);
        for refused in [f64::NAN, f64::INFINITY, 6.0 * f64::powi(2.0, 28) * 1.01] {
            assert!(noisy_vector(&[refused], 3.0, 2.0, &mut source).is_err());
        }
        assert!(noisy_vector(&[0.0], 1e8, 2.0, &mut source).is_err());
    }

    #[test]
    fn a_refusal_tells_the_bound_and_no_value() {
        let mut source = NoiseSource::insecure(3);
        // Both have a grid to about 1.6e9.
        let too_large = 7_654_321_987_f64;
        for values in [[1.0, too_large], [-too_large, 2.0]] {
            for refused in [
                noisy_vector(&values, 3.0, 2.0, &mut source),
                crate::mechanism::laplace::noisy_vector(&values, 3.0, 2.0, &mut source),
            ] {
                let error = refused.unwrap_err();
                for message in [error.to_string(), format!("{error:?}")] {
                    let quoted = ["7654321987", "7.654"].iter().any(|x| message.contains(x));
                    assert!(!quoted, "{message}");
                }
                let DpError::BeyondGrid { bound } = error else {
                    panic!("{error}");
                };
                assert!(error.to_string().contains(&format!("{bound:e}")), "{error}");
            }
        }
        // How many are not finite is a function of the values too.
        let error = noisy_vector(&[f64::NAN; 7], 3.0, 2.0, &mut source).unwrap_err();
        assert!(error.to_string().contains("some of 7"), "{error}");
    }

    #[test]
    fn every_number_below_a_bound_is_drawn_and_no_other() {
        let mut generator = ChaCha20Rng::seed_from_u64(2);
        for bound in [1, 2, 3, 7, 8] {
            let mut seen = vec![0; bound];
            for _ in 0..2_000 {
                seen[uniform_below(bound as u128, &mut generator) as usize] += 1;
            }
            // 7 deviations: a false alarm of less than 1e-10.
            let mean = 2_000.0 / bound as f64;
            let near = |n: &i32| (f64::from(*n) - mean).abs() < 7.0 * mean.sqrt();
            assert!(seen.iter().all(near), "{seen:?}");
        }
        assert!(uniform_below(u128::MAX, &mut generator) > u128::MAX >> 64);
    }
}
