//! The discrete Gaussian, drawn exactly: whole numbers, and no floating point on the way.

use rand::Rng;

use crate::DpError;

/// Largest parameter sigma, rounded up: what is multiplied below then fits.
const LARGEST_SCALE: u64 = 1 << 20;

/// Largest product of that and the denominator of the variance.
const LARGEST_PRODUCT: u64 = 1 << 31;

/// Proposals of this size and more are refused: 4096 scales and more from 0, so that whatever is drawn differs from
/// the exact law by less than `exp(-4096)` in total variation.
const LARGEST_DRAW: u128 = 1 << 32;

/// The law on whole numbers with `P(k) ~ exp(-k^2 / (2 sigma^2))`.
///
/// Added to every entry of a vector of whole numbers with L2 sensitivity `Delta`, it makes a release that is
/// `Delta^2 / (2 sigma^2)`-concentrated differentially private, as Gaussian noise of that `sigma` (Canonne, Kamath and
/// Steinke 2020, arXiv 2004.00010, theorem 14): [`Event::DiscreteGaussian`](crate::accounting::Event). Its variance is
/// at most `sigma^2` (corollary 9).
///
/// It is drawn by their algorithms 1 to 3, from uniform bits, by whole numbers alone: unlike noise in floating point,
/// its support does not depend on what it is added to. How long it takes is a random number, which depends on what is
/// drawn.
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
    /// `floor(sigma) + 1`, the scale of what is proposed.
    scale: u64,
}

impl DiscreteGaussian {
    /// The law with `sigma^2 = numerator / denominator`.
    ///
    /// # Errors
    ///
    /// [`DpError::OutOfRange`] for a variance of 0 or above about `2^40`, or a denominator too large for it.
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
            return Err(refuse("variance", variance, "above 0 and below 2^40"));
        }
        if denominator > LARGEST_PRODUCT / scale {
            let bound = format!("at most {}", LARGEST_PRODUCT / scale);
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

    /// The parameter `sigma^2`.
    pub fn variance_upper(&self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// One draw: a discrete Laplace number is kept with the probability that makes it Gaussian (algorithm 3).
    pub(super) fn draw(&self, generator: &mut impl Rng) -> i64 {
        let (p, q, t) = (
            u128::from(self.numerator),
            u128::from(self.denominator),
            u128::from(self.scale),
        );
        loop {
            let (negative, size) = discrete_laplace(self.scale, generator);
            if size >= LARGEST_DRAW {
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

/// A whole number, `P(k) ~ exp(-|k| / scale)`: its sign and its size (algorithm 2).
fn discrete_laplace(scale: u64, generator: &mut impl Rng) -> (bool, u128) {
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
        // There is one 0.
        if !(negative && size == 0) {
            return (negative, size);
        }
    }
}

/// True with probability `exp(-numerator / denominator)` (algorithm 1).
fn exponential_coin(numerator: u128, denominator: u128, generator: &mut impl Rng) -> bool {
    for _ in 0..numerator / denominator {
        if !small_exponential_coin(1, 1, generator) {
            return false;
        }
    }
    small_exponential_coin(numerator % denominator, denominator, generator)
}

/// The same for a fraction of at most 1: of coins with probability `fraction / k`, `k = 1, 2, ...`, the number that come
/// up before one does not is even with that probability.
fn small_exponential_coin(numerator: u128, denominator: u128, generator: &mut impl Rng) -> bool {
    let mut k = 1;
    while uniform_below(denominator * k, generator) < numerator {
        k += 1;
    }
    k % 2 == 1
}

/// A whole number below `bound >= 1`, each with the same probability: as many bits as it has, again where they are too
/// large.
fn uniform_below(bound: u128, generator: &mut impl Rng) -> u128 {
    let bits = u128::BITS - (bound - 1).leading_zeros();
    let mask = if bits == 0 {
        0
    } else {
        u128::MAX >> (u128::BITS - bits)
    };
    loop {
        let low = u128::from(generator.next_u64());
        let drawn = if bits > 64 {
            low | (u128::from(generator.next_u64()) << 64)
        } else {
            low
        };
        if drawn & mask < bound {
            return drawn & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;

    #[test]
    fn what_does_not_fit_is_refused() {
        for (numerator, denominator) in [
            (0, 1),
            (1, 0),
            (1 << 40, 1),
            (u64::MAX, 1),
            (1, 1 << 32),
            (1 << 30, 1 << 30),
        ] {
            let law = DiscreteGaussian::new(numerator, denominator);
            assert_eq!(
                law.is_err(),
                (numerator, denominator) != (1 << 30, 1 << 30),
                "{numerator} {denominator}"
            );
        }
    }

    /// All that is multiplied fits at the largest of everything; a panic here would be an overflow.
    #[test]
    fn the_largest_variances_can_be_drawn() {
        let mut generator = ChaCha20Rng::seed_from_u64(1);
        for (numerator, denominator) in [
            ((1 << 40) - 1, 1),
            (((1 << 40) - 1) * 2048, 2048),
            ((1 << 31) - 1, 1 << 31),
            (1, 1 << 31),
        ] {
            let law = DiscreteGaussian::new(numerator, denominator).unwrap();
            let (p, q, t) = (
                u128::from(numerator),
                u128::from(denominator),
                u128::from(law.scale),
            );
            let largest = ((LARGEST_DRAW - 1) * t * q).checked_pow(2);
            assert!(largest.is_some() && (2 * p * q * t * t).checked_mul(1 << 20).is_some());
            for _ in 0..20 {
                assert!(
                    (law.draw(&mut generator) as f64).abs()
                        < 40.0 * law.variance_upper().sqrt() + 1.0
                );
            }
        }
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
            assert!(
                seen.iter()
                    .all(|n| (f64::from(*n) - mean).abs() < 7.0 * mean.sqrt()),
                "{seen:?}"
            );
        }
        assert!(uniform_below(u128::MAX, &mut generator) > u128::MAX >> 64);
    }
}
