//! Where secret noise comes from.

use rand::rngs::SysRng;
use rand::{Rng, SeedableRng, TryRng};
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::DiscreteGaussian;
use super::discrete::discrete_laplace;

/// ChaCha20 streams of one key.
const NEXT_KEY: u64 = 0;
const DRAWS: u64 = 1;
const NOISE: u64 = 2;

/// A source of Gaussian and Laplace noise.
///
/// Secret by default: ChaCha20 keyed by the operating system. The noise is sampled on the host, so
/// that no backend's generator, whose seed is global and public, is ever trusted with it.
///
/// The key is a ratchet: [`NoiseSource::advance`] replaces it by one derived from it, and the old
/// key, with which released noise could be subtracted, is gone from memory. A key opens all noise that
/// comes after it and none before: one that a checkpoint keeps opens what leaves from then on, until it
/// is removed. Noise and other draws are separate streams of a key, so that the noise of a step does
/// not depend on how many other numbers the step drew.
///
/// What is released once gets discrete noise, which is exact. Gaussian noise of steps is `f64`, and not the continuous
/// noise of the theory: that of gradients is rounded to `f32` and added in `f32`, that of vectors is added in `f64`; see
/// `docs/privacy.md` for what that leaves open.
pub struct NoiseSource {
    key: [u8; 32],
    draws: ChaCha20Rng,
    noise: ChaCha20Rng,
    secret: bool,
}

/// A noise source between two releases, as a checkpoint keeps it. **Secret**: whoever reads it knows
/// the noise of everything released from then on.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoiseState {
    key: [u8; 32],
    secret: bool,
}

impl std::fmt::Debug for NoiseState {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("NoiseState")
            .field("secret", &self.secret)
            .finish_non_exhaustive()
    }
}

impl NoiseState {
    /// Whether the noise to come is secret.
    pub fn is_secret(&self) -> bool {
        self.secret
    }
}

fn stream(key: [u8; 32], number: u64) -> ChaCha20Rng {
    let mut rng = ChaCha20Rng::from_seed(key);
    rng.set_stream(number);
    rng
}

impl NoiseSource {
    fn keyed(key: [u8; 32], secret: bool) -> Self {
        Self {
            key,
            draws: stream(key, DRAWS),
            noise: stream(key, NOISE),
            secret,
        }
    }

    /// Noise from the operating system's generator.
    ///
    /// # Errors
    ///
    /// The operating system's error, as text, when it has no entropy to give.
    pub fn secret() -> Result<Self, String> {
        let mut key = [0u8; 32];
        SysRng
            .try_fill_bytes(&mut key)
            .map_err(|e| format!("the operating system gave no randomness: {e}"))?;
        Ok(Self::keyed(key, true))
    }

    /// Reproducible noise. **Not private**: whoever knows the seed can subtract the noise.
    pub fn insecure(seed: u64) -> Self {
        let mut key = [0u8; 32];
        ChaCha20Rng::seed_from_u64(seed).fill_bytes(&mut key);
        Self::keyed(key, false)
    }

    /// The source that [`NoiseSource::state`] describes.
    ///
    /// A release that is made again with the same noise must be the same release: resume from a state
    /// only with the data, the weights and the program that it was taken with. Anything else needs a
    /// fresh [`NoiseSource::secret`].
    pub fn resume(state: &NoiseState) -> Self {
        Self::keyed(state.key, state.secret)
    }

    /// What a checkpoint keeps: the key of everything after the last [`NoiseSource::advance`].
    pub fn state(&self) -> NoiseState {
        NoiseState {
            key: self.key,
            secret: self.secret,
        }
    }

    /// Moves to the next key and forgets the present one. The mechanism calls it after each release.
    pub fn advance(&mut self) {
        let mut key = [0u8; 32];
        stream(self.key, NEXT_KEY).fill_bytes(&mut key);
        *self = Self::keyed(key, self.secret);
    }

    /// Whether the noise is secret, so that a release is private at all.
    pub fn is_secret(&self) -> bool {
        self.secret
    }

    /// `count` independent standard Gaussian samples.
    pub fn standard_normal(&mut self, count: usize) -> Vec<f64> {
        (0..count)
            .map(|_| StandardNormal.sample(&mut self.noise))
            .collect()
    }

    /// `count` draws of a discrete Gaussian, exact where those above are rounded.
    pub fn discrete_gaussian(&mut self, law: &DiscreteGaussian, count: usize) -> Vec<i64> {
        (0..count).map(|_| law.draw(&mut self.noise)).collect()
    }

    /// `count` whole numbers with `P(k) ~ exp(-|k| / scale)`, `scale >= 1`, exact too.
    pub fn discrete_laplace(&mut self, scale: u64, count: usize) -> Vec<i64> {
        let mut draw = || match discrete_laplace(scale.max(1), &mut self.noise) {
            (true, size) => -(size as i64),
            (false, size) => size as i64,
        };
        (0..count).map(|_| draw()).collect()
    }

    /// The generator, for secret draws that are not noise, such as which records form a batch.
    pub fn rng(&mut self) -> &mut ChaCha20Rng {
        &mut self.draws
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_gives_the_same_noise_whatever_else_was_drawn() {
        let mut source = NoiseSource::insecure(5);
        source.advance();
        let state = source.state();
        let first = source.standard_normal(3);
        let mut again = NoiseSource::resume(&state);
        let _: u64 = again.rng().next_u64();
        assert_eq!(again.standard_normal(3), first);
    }

    #[test]
    fn the_key_moves_on_and_is_not_shown() {
        let mut source = NoiseSource::insecure(5);
        let before = source.state();
        let first = source.standard_normal(3);
        source.advance();
        assert_ne!(source.state(), before);
        assert_ne!(source.standard_normal(3), first);
        assert_eq!(format!("{before:?}"), "NoiseState { secret: false, .. }");
    }
}
