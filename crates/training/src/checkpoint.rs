//! What a training resumes from.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::TrainingError;

/// A training between two steps, without its weights and its optimizer, of which burn keeps records. Nothing
/// in it is secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Steps made.
    pub step: u64,
    /// Releases in the ledger.
    pub releases: u64,
    /// Public randomness.
    pub public: Generator,
}

/// A ChaCha20 generator as a checkpoint keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generator {
    seed: [u8; 32],
    stream: u64,
    /// In words; as text, because it has more bits than a JSON number.
    position: String,
}

impl Generator {
    /// The state of `rng`.
    pub fn of(rng: &ChaCha20Rng) -> Self {
        Self {
            seed: rng.get_seed(),
            stream: rng.get_stream(),
            position: rng.get_word_pos().to_string(),
        }
    }

    /// The generator, where it stopped.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Checkpoint`] for a position that is no number.
    pub fn generator(&self) -> Result<ChaCha20Rng, TrainingError> {
        let position = self.position.parse();
        let position = position.map_err(|_| TrainingError::Checkpoint {
            position: self.position.clone(),
        })?;
        let mut rng = ChaCha20Rng::from_seed(self.seed);
        rng.set_stream(self.stream);
        rng.set_word_pos(position);
        Ok(rng)
    }
}
