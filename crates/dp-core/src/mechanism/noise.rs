//! Where secret noise comes from.

use rand::rngs::SysRng;
use rand::{SeedableRng, TryRng};
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

/// A source of standard Gaussian noise.
///
/// Secret by default: ChaCha20 keyed by the operating system. The noise is drawn on the host, so
/// that no backend's generator, whose seed is global and public, is ever trusted with it.
///
/// The samples are `f64` rounded to `f32` when they are added. Floating-point noise is not the
/// continuous Gaussian of the theory; see `docs/privacy.md` for what that leaves open.
pub struct NoiseSource {
    rng: ChaCha20Rng,
    secret: bool,
}

impl NoiseSource {
    /// Noise from the operating system's generator.
    ///
    /// # Errors
    ///
    /// The operating system's error, as text, when it has no entropy to give.
    pub fn secret() -> Result<Self, String> {
        let mut seed = [0u8; 32];
        SysRng
            .try_fill_bytes(&mut seed)
            .map_err(|e| format!("the operating system gave no randomness: {e}"))?;
        Ok(Self {
            rng: ChaCha20Rng::from_seed(seed),
            secret: true,
        })
    }

    /// Reproducible noise. **Not private**: whoever knows the seed can subtract the noise.
    pub fn insecure(seed: u64) -> Self {
        Self {
            rng: ChaCha20Rng::seed_from_u64(seed),
            secret: false,
        }
    }

    /// Whether the noise is secret, so that a release is private at all.
    pub fn is_secret(&self) -> bool {
        self.secret
    }

    /// `count` independent standard Gaussian samples.
    pub fn standard_normal(&mut self, count: usize) -> Vec<f64> {
        (0..count)
            .map(|_| StandardNormal.sample(&mut self.rng))
            .collect()
    }

    /// The generator, for secret draws that are not Gaussian, such as which records form a batch.
    pub fn rng(&mut self) -> &mut ChaCha20Rng {
        &mut self.rng
    }
}
