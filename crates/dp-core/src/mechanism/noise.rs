//! Where secret noise comes from.

use rand::rngs::SysRng;
use rand::{Rng, SeedableRng, TryRng};
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use super::DiscreteGaussian;
use super::discrete::discrete_laplace;

/// ChaCha20 streams of one key.
const NEXT_KEY: u64 = 0;
const DRAWS: u64 = 1;
const NOISE: u64 = 2;
const STEPS: u64 = 3;
const NAME: u64 = 5;

/// A source of Gaussian and Laplace noise.
///
/// Secret by default: ChaCha20 keyed by the operating system. The noise is sampled on the host, so
/// that no backend's generator, whose seed is global and public, is ever trusted with it.
///
/// The key is a ratchet: [`NoiseSource::advance`] replaces it by one derived from it, and overwrites the old
/// key, with which released noise could be subtracted, its generators and the noise that was made here. What the
/// processor's registers and stack, a gradient's tensors or the system's swap keep of them until it is used again is not
/// overwritten. A key opens all noise that comes after it and none before: one that a checkpoint keeps opens what leaves from then on, until it
/// is removed. Where the noise of steps is correlated, the keys of the last steps, of their noise alone, are kept as long as
/// later steps have a part of it: a checkpoint opens these steps too. Noise and other draws are separate streams of a key, so that the noise of a step does
/// not depend on how many other numbers the step drew.
///
/// What is released once gets discrete noise, which is exact. Gaussian noise of steps is `f64`, and not the continuous
/// noise of the theory: that of gradients is rounded to `f32` and added in `f32`, that of vectors is added in `f64`; see
/// `docs/privacy.md` for what that leaves open.
pub struct NoiseSource {
    key: Key,
    draws: Box<Generator>,
    noise: Box<Generator>,
    secret: bool,
    chain: Option<Chain>,
}

/// Bytes that are overwritten when they are dropped.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Bytes([u8; 32]);

impl Drop for Bytes {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// A key, in one place of memory.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Key(Box<Bytes>);

impl Key {
    fn from(mut generator: Generator) -> Self {
        let mut key = Self::default();
        generator.0.fill_bytes(&mut key.0.0);
        key
    }
}

/// One stream of a key, which is overwritten when it is dropped.
pub(super) struct Generator(pub(super) ChaCha20Rng);

impl Generator {
    /// The first stream of a key that opens nothing else.
    pub(super) fn of(key: &Key) -> Self {
        Self::new(key, 0)
    }

    fn new(key: &Key, number: u64) -> Self {
        let mut generator = Self(ChaCha20Rng::from_seed(key.0.0));
        generator.0.set_stream(number);
        generator
    }

    fn erase(&mut self) {
        self.0 = ChaCha20Rng::from_seed([0; 32]);
        // Or a compiler would leave out what nobody reads.
        std::hint::black_box(&self.0);
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        self.erase();
    }
}

/// A noise source between two releases, as a checkpoint keeps it. **Secret**: whoever reads it knows
/// the noise of everything released from then on, and of the last steps where that of steps is correlated.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoiseState {
    key: Key,
    secret: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chain: Option<Chain>,
}

/// Steps of one mechanism that the next step goes on from.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Chain {
    /// Which mechanism, and on which batches.
    mechanism: String,
    /// What tells it from others of the same kind, in the ledger too.
    #[serde(default)]
    name: String,
    /// The last of the steps.
    step: u64,
    /// Keys of their noise, from the last step back, where that of the next step is correlated with it.
    keys: Vec<Key>,
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

impl NoiseSource {
    fn keyed(key: Key, secret: bool) -> Self {
        Self {
            draws: Box::new(Generator::new(&key, DRAWS)),
            noise: Box::new(Generator::new(&key, NOISE)),
            key,
            secret,
            chain: None,
        }
    }

    /// Noise from the operating system's generator.
    ///
    /// # Errors
    ///
    /// The operating system's error, as text, when it has no entropy to give.
    pub fn secret() -> Result<Self, String> {
        let mut key = Key::default();
        SysRng
            .try_fill_bytes(&mut key.0.0)
            .map_err(|e| format!("the operating system gave no randomness: {e}"))?;
        Ok(Self::keyed(key, true))
    }

    /// Reproducible noise. **Not private**: whoever knows the seed can subtract the noise.
    pub fn insecure(seed: u64) -> Self {
        Self::keyed(
            Key::from(Generator(ChaCha20Rng::seed_from_u64(seed))),
            false,
        )
    }

    /// The source that [`NoiseSource::state`] describes.
    ///
    /// A release that is made again with the same noise must be the same release: resume from a state
    /// only with the data, the weights and the program that it was taken with. Anything else needs a
    /// fresh [`NoiseSource::secret`].
    pub fn resume(state: &NoiseState) -> Self {
        Self {
            chain: state.chain.clone(),
            ..Self::keyed(state.key.clone(), state.secret)
        }
    }

    /// What a checkpoint keeps: the key of everything after the last [`NoiseSource::advance`], and those of the noise of the
    /// last steps where later ones have a part of it.
    pub fn state(&self) -> NoiseState {
        NoiseState {
            key: self.key.clone(),
            secret: self.secret,
            chain: self.chain.clone(),
        }
    }

    /// Moves to the next key and overwrites the present one. The mechanism calls it after each release.
    pub fn advance(&mut self) {
        *self = Self {
            chain: self.chain.take(),
            ..Self::keyed(self.derived(NEXT_KEY), self.secret)
        };
    }

    /// Whether the last step of this mechanism that it made noise for is `step`, so that the next one goes on from it.
    pub(super) fn goes_on(&self, mechanism: &str, step: u64) -> bool {
        let chain = self.chain.as_ref();
        chain.is_some_and(|chain| chain.mechanism == mechanism && chain.step == step)
    }

    /// Begins another mechanism, whose noise has nothing to do with that of steps before.
    pub(super) fn begin(&mut self) {
        self.chain = None;
    }

    /// `sum_j inverse_j z_{t - j}` for the next step `t` of a mechanism, `count` numbers, of independent standard Gaussian
    /// `z` of it and of the steps that it goes on from; the same until [`NoiseSource::advance_from`].
    ///
    /// The `z` of steps before are sampled anew from their keys, so that what is kept does not grow with their number.
    pub(super) fn correlated_normal(&self, inverse: &[f64], count: usize) -> Vec<f64> {
        let before = self.chain.iter().flat_map(|chain| &chain.keys);
        let keys = std::iter::once(self.step_key()).chain(before.cloned());
        let mut sums = vec![0.0; count];
        for (part, key) in inverse.iter().zip(keys) {
            let mut noise = Generator::of(&key);
            for sum in &mut sums {
                let z: f64 = StandardNormal.sample(&mut noise.0);
                *sum += part * z;
            }
        }
        sums
    }

    /// The name of the mechanism of the next step: of the one that it goes on from, or of a new one, whose name is that of the
    /// key that it begins with, and does not tell the key.
    pub(super) fn name(&self, goes_on: bool) -> String {
        match &self.chain {
            // One that an earlier program kept has none yet.
            Some(chain) if goes_on && !chain.name.is_empty() => chain.name.clone(),
            _ => {
                let bytes = &self.derived(NAME).0.0[..16];
                bytes.iter().map(|byte| format!("{byte:02x}")).collect()
            }
        }
    }

    /// As [`NoiseSource::advance`] after a step of a mechanism of this name, whose noise has a part in that of `later` steps.
    pub(super) fn advance_from(
        &mut self,
        mechanism: String,
        name: String,
        step: u64,
        later: usize,
    ) {
        let last = self.step_key();
        let before = self.chain.take().map_or(Vec::new(), |chain| chain.keys);
        let keys = std::iter::once(last).chain(before).take(later).collect();
        self.advance();
        self.chain = Some(Chain {
            mechanism,
            name,
            step,
            keys,
        });
    }

    /// The key of the noise of the next step, which opens nothing else.
    fn step_key(&self) -> Key {
        self.derived(STEPS)
    }

    fn derived(&self, number: u64) -> Key {
        Key::from(Generator::new(&self.key, number))
    }

    /// Whether the noise is secret, so that a release is private at all.
    pub fn is_secret(&self) -> bool {
        self.secret
    }

    /// `count` independent standard Gaussian samples.
    pub fn standard_normal(&mut self, count: usize) -> Vec<f64> {
        (0..count)
            .map(|_| StandardNormal.sample(&mut self.noise.0))
            .collect()
    }

    /// `count` draws of a discrete Gaussian, exact where those above are rounded.
    pub fn discrete_gaussian(&mut self, law: &DiscreteGaussian, count: usize) -> Vec<i64> {
        (0..count).map(|_| law.draw(&mut self.noise.0)).collect()
    }

    /// `count` whole numbers with `P(k) ~ exp(-|k| / scale)`, `scale >= 1`, exact too.
    pub fn discrete_laplace(&mut self, scale: u64, count: usize) -> Vec<i64> {
        let mut draw = || match discrete_laplace(scale.max(1), &mut self.noise.0) {
            (true, size) => -(size as i64),
            (false, size) => size as i64,
        };
        (0..count).map(|_| draw()).collect()
    }

    /// The generator, for secret draws that are not noise, such as which records form a batch.
    pub fn rng(&mut self) -> &mut ChaCha20Rng {
        &mut self.draws.0
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

    /// Of what was dropped nothing may be read: so that it is overwritten is asked of the types, and how of what is not.
    #[test]
    fn keys_and_generators_are_overwritten() {
        use std::mem::needs_drop;
        assert!(needs_drop::<Bytes>() && needs_drop::<Generator>());
        let mut source = NoiseSource::insecure(5);
        assert_ne!(source.noise.0.get_seed(), [0; 32]);
        source.noise.erase();
        assert_eq!(source.noise.0.get_seed(), [0; 32]);
        source.key.0.0.zeroize();
        assert_eq!(source.key.0.0, [0; 32]);
    }

    /// Against independent noise of the same keys, whatever else is released between steps, and through a state.
    #[test]
    fn correlated_noise_is_the_sum_that_it_says() {
        let inverse = [1.0, -0.5, -0.125];
        let noise = |inverse: &[f64], stops: bool| {
            let mut source = NoiseSource::insecure(5);
            let mut made = |step| {
                // Other noise of the same key, sampled and not released: it moves nothing.
                let _ = source.standard_normal(3);
                let sum = source.correlated_normal(inverse, 4);
                assert_eq!(sum[..2], source.correlated_normal(inverse, 2));
                assert_ne!(sum[..3], source.standard_normal(3));
                let name = source.name(source.goes_on("a mechanism", step - 1));
                source.advance_from("a mechanism".into(), name, step, inverse.len() - 1);
                assert!(source.goes_on("a mechanism", step));
                assert!(!source.goes_on("another", step) && !source.goes_on("a mechanism", 0));
                let state = source.state();
                let kept = state.chain.as_ref().map_or(0, |chain| chain.keys.len());
                assert_eq!(kept, (step as usize).min(inverse.len() - 1));
                source.advance();
                if stops {
                    source = NoiseSource::resume(&source.state());
                }
                sum
            };
            (1..=6).map(&mut made).collect::<Vec<_>>()
        };
        let (z, correlated) = (noise(&[1.0], false), noise(&inverse, false));
        assert_eq!(correlated, noise(&inverse, true));
        for (t, sums) in correlated.iter().enumerate() {
            for (i, &sum) in sums.iter().enumerate() {
                let before = inverse.iter().take(t + 1).enumerate();
                let expected: f64 = before.map(|(j, d)| d * z[t - j][i]).sum();
                assert!((sum - expected).abs() < 1e-12, "{sum} {expected}");
            }
        }
        // A mechanism that begins has noise of its own.
        let mut source = NoiseSource::insecure(5);
        let name = source.name(false);
        source.advance_from("a mechanism".into(), name.clone(), 1, 2);
        assert_eq!(source.name(true), name);
        assert_ne!(source.name(false), name);
        if let Some(chain) = &mut source.chain {
            chain.name.clear();
        }
        assert_eq!(source.name(true), source.name(false));
        source.begin();
        assert!(!source.goes_on("a mechanism", 1));
        let alone = source.correlated_normal(&[1.0], 4);
        assert_eq!(source.correlated_normal(&inverse, 4), alone);
    }
}
