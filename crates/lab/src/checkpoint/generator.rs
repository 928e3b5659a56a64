//! Generators between two steps.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::diagnostic::Failure;

/// A ChaCha20 generator as a checkpoint keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratorState {
    seed: [u8; 32],
    stream: u64,
    /// In words; as text, because it has more bits than a JSON number.
    position: String,
}

impl GeneratorState {
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
    /// [`Failure::BadInput`] for a position that is no number.
    pub fn generator(&self) -> Result<ChaCha20Rng, Failure> {
        let position = self.position.parse().map_err(|e| {
            Failure::input(
                format!("generator position {:?}: {e}", self.position),
                "the checkpoint is damaged",
            )
        })?;
        let mut rng = ChaCha20Rng::from_seed(self.seed);
        rng.set_stream(self.stream);
        rng.set_word_pos(position);
        Ok(rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn a_generator_goes_on_where_it_stopped() {
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        rng.set_stream(3);
        let _ = (rng.next_u32(), rng.next_u64());
        let text = serde_json::to_string(&GeneratorState::of(&rng)).unwrap();
        let state: GeneratorState = serde_json::from_str(&text).unwrap();
        assert_eq!(state.generator().unwrap().next_u64(), rng.next_u64());
    }
}
