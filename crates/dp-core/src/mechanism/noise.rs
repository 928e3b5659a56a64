//! The source of secret noise.

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
/// Secret by default: ChaCha20 with a key from the operating system. The host samples the noise, because the seed of
/// a backend's generator is global and public.
///
/// The key is a ratchet. [`NoiseSource::advance`] derives the next key and overwrites the old one, with which
/// released noise could be subtracted, its generators and the noise made here. It does not overwrite copies in the
/// processor's registers, the stack, a gradient's tensors or the system's swap. A key opens all later noise and no
/// earlier noise: a checkpoint's key opens every release from then on, until it is removed. If the noise of steps is
/// correlated, the keys of the last steps, for their noise alone, are kept as long as later steps use that noise, and
/// a checkpoint opens these steps too. Noise and other draws are separate streams of a key, so that the noise of a
/// step does not depend on the step's other draws.
///
/// One-off releases get discrete noise, which is exact. Gaussian noise of steps is `f64` and not the continuous noise
/// of the theory: noise of gradients is rounded to `f32` and added in `f32`, noise of vectors is added in `f64`.
/// `docs/privacy.md` says what that leaves open.
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
        // Without it a compiler would leave out a write that nobody reads.
        std::hint::black_box(&self.0);
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        self.erase();
    }
}

/// The state of a noise source between two releases, for a checkpoint. **Secret**: whoever reads it knows the noise
/// of all later releases, and of the last steps if the noise of steps is correlated.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoiseState {
    key: Key,
    secret: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chain: Option<Chain>,
}

/// Steps of one mechanism that the next step continues.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Chain {
    /// The kind of mechanism and its batches.
    mechanism: String,
    /// Tells the mechanism from others of the same kind, in the ledger too.
    #[serde(default)]
    name: String,
    /// The last of the steps.
    step: u64,
    /// The keys of the noise of these steps that the next step's noise is correlated with, from the last step back.
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

    /// Creates a source with a key from the operating system's generator.
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

    /// Creates a reproducible source. **Not private**: whoever knows the seed can subtract the noise.
    pub fn insecure(seed: u64) -> Self {
        Self::keyed(
            Key::from(Generator(ChaCha20Rng::seed_from_u64(seed))),
            false,
        )
    }

    /// Restores the source that [`NoiseSource::state`] describes.
    ///
    /// A second release with the same noise must be the same release: resume from a state only with the data, the
    /// weights and the program that it was taken with. Use a fresh [`NoiseSource::secret`] for anything else.
    pub fn resume(state: &NoiseState) -> Self {
        Self {
            chain: state.chain.clone(),
            ..Self::keyed(state.key.clone(), state.secret)
        }
    }

    /// Returns the state for a checkpoint: the key of everything after the last [`NoiseSource::advance`], and the
    /// keys of the noise of the last steps if later steps use it.
    pub fn state(&self) -> NoiseState {
        NoiseState {
            key: self.key.clone(),
            secret: self.secret,
            chain: self.chain.clone(),
        }
    }

    /// Moves to the next key and overwrites the present one. The releaser calls it after each release.
    pub fn advance(&mut self) {
        *self = Self {
            chain: self.chain.take(),
            ..Self::keyed(self.derived(NEXT_KEY), self.secret)
        };
    }

    /// Tells whether `step` is the last step of this mechanism with noise from here, so that the next step continues it.
    pub(super) fn goes_on(&self, mechanism: &str, step: u64) -> bool {
        let chain = self.chain.as_ref();
        chain.is_some_and(|chain| chain.mechanism == mechanism && chain.step == step)
    }

    /// Begins another mechanism, whose noise is independent of that of earlier steps.
    pub(super) fn begin(&mut self) {
        self.chain = None;
    }

    /// Returns `count` numbers of `sum_j inverse_j z_{t - j}` for the next step `t` of a mechanism, with independent standard
    /// Gaussian `z` of this step and of those it continues. They stay the same until [`NoiseSource::advance_from`].
    ///
    /// The `z` of earlier steps are sampled anew from their keys: only the keys are kept.
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

    /// The name of the next step's mechanism: that of the mechanism it continues, or a new one, derived from the key
    /// that the mechanism begins with. It does not reveal the key.
    pub(super) fn name(&self, goes_on: bool) -> String {
        match &self.chain {
            // A chain that an earlier program kept has no name yet.
            Some(chain) if goes_on && !chain.name.is_empty() => chain.name.clone(),
            _ => {
                let bytes = &self.derived(NAME).0.0[..16];
                bytes.iter().map(|byte| format!("{byte:02x}")).collect()
            }
        }
    }

    /// Advances as [`NoiseSource::advance`] after a step of the mechanism `name` whose noise the next `later` steps use.
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

    /// The key of the next step's noise, which opens nothing else.
    fn step_key(&self) -> Key {
        self.derived(STEPS)
    }

    fn derived(&self, number: u64) -> Key {
        Key::from(Generator::new(&self.key, number))
    }

    /// Whether the noise is secret. Without a secret no release is private.
    pub fn is_secret(&self) -> bool {
        self.secret
    }

    /// Draws `count` independent standard Gaussian numbers.
    pub fn standard_normal(&mut self, count: usize) -> Vec<f64> {
        (0..count)
            .map(|_| StandardNormal.sample(&mut self.noise.0))
            .collect()
    }

    /// Draws `count` discrete Gaussian numbers, exactly, while those of [`NoiseSource::standard_normal`] are rounded.
    pub fn discrete_gaussian(&mut self, law: &DiscreteGaussian, count: usize) -> Vec<i64> {
        (0..count).map(|_| law.draw(&mut self.noise.0)).collect()
    }

    /// Draws `count` whole numbers with `P(k) ~ exp(-|k| / scale)`, `scale >= 1`, exactly.
    pub fn discrete_laplace(&mut self, scale: u64, count: usize) -> Vec<i64> {
        let mut draw = || match discrete_laplace(scale.max(1), &mut self.noise.0) {
            (true, size) => -(size as i64),
            (false, size) => size as i64,
        };
        (0..count).map(|_| draw()).collect()
    }

    /// The generator for secret draws other than noise, such as the records of a batch.
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
