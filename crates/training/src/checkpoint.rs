//! The state that a training resumes from.

use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use crate::TrainingError;

/// A training between two steps. Nothing in it is secret: private noise and batches come anew from the operating system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The number of steps made.
    pub step: u64,
    /// The number of releases in the ledger.
    pub releases: u64,
    /// The generator of public randomness.
    pub public: RngState,
    /// The generator of batches, in a training without privacy.
    pub batches: Option<RngState>,
    /// The adaptive clipping norms of the next step.
    #[serde(default, with = "bits")]
    pub max_grad_norms: Vec<f64>,
    /// The weights, in the order in which burn visits them.
    #[serde(skip)]
    pub weights: Vec<f32>,
    /// The state of the optimizer.
    #[serde(skip)]
    pub optimizer: Vec<u8>,
    /// The average of the weights; empty without one.
    #[serde(skip)]
    pub average: Vec<u8>,
}

/// Stores numbers as bits, which JSON may not read back exactly: the same noise on a repeated step with another clipping norm
/// would release their difference.
mod bits {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
        let bits: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
        bits.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
        let bits = Vec::<u64>::deserialize(from)?;
        Ok(bits.into_iter().map(f64::from_bits).collect())
    }
}

impl Checkpoint {
    /// Returns the checkpoint as bytes: the lengths of four parts, little-endian, then the parts.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Checkpoint`] if JSON cannot hold its state.
    pub fn to_bytes(&self) -> Result<Vec<u8>, TrainingError> {
        let state = serde_json::to_vec(self).map_err(TrainingError::checkpoint)?;
        let weights: Vec<u8> = self.weights.iter().flat_map(|w| w.to_le_bytes()).collect();
        let parts = [&state, &weights, &self.optimizer, &self.average];
        let lengths = parts
            .iter()
            .flat_map(|part| (part.len() as u64).to_le_bytes());
        let mut bytes: Vec<u8> = lengths.collect();
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        Ok(bytes)
    }

    /// Reads a checkpoint that [`Checkpoint::to_bytes`] wrote.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Checkpoint`] for bytes that end early, or that it did not write.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TrainingError> {
        let short = || TrainingError::checkpoint("it ends early");
        let (lengths, mut rest) = bytes.split_first_chunk::<32>().ok_or_else(short)?;
        let (lengths, _) = lengths.as_chunks::<8>();
        let mut parts = [&[][..]; 4];
        for (part, length) in parts.iter_mut().zip(lengths) {
            let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
            (*part, rest) = rest.split_at_checked(length).ok_or_else(short)?;
        }
        let [state, weights, optimizer, average] = parts;
        let state: Self = serde_json::from_slice(state).map_err(TrainingError::checkpoint)?;
        let (words, odd) = weights.as_chunks::<4>();
        if !odd.is_empty() || !rest.is_empty() {
            return Err(TrainingError::checkpoint("its parts do not fill it"));
        }
        Ok(Self {
            weights: words.iter().map(|&word| f32::from_le_bytes(word)).collect(),
            optimizer: optimizer.to_vec(),
            average: average.to_vec(),
            ..state
        })
    }
}

/// The state of a ChaCha20 generator of random numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RngState {
    seed: [u8; 32],
    stream: u64,
    /// The position in words, as text, because it has more bits than a JSON number.
    position: String,
}

impl RngState {
    /// Takes the state of `rng`.
    pub fn from_rng(rng: &ChaCha20Rng) -> Self {
        Self {
            seed: rng.get_seed(),
            stream: rng.get_stream(),
            position: rng.get_word_pos().to_string(),
        }
    }

    /// Returns the generator at this state.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Checkpoint`] if the position is no number.
    pub fn generator(&self) -> Result<ChaCha20Rng, TrainingError> {
        let position = self.position.parse().map_err(|e| {
            TrainingError::checkpoint(format!("generator position {:?}: {e}", self.position))
        })?;
        let mut rng = ChaCha20Rng::from_seed(self.seed);
        rng.set_stream(self.stream);
        rng.set_word_pos(position);
        Ok(rng)
    }
}

#[cfg(test)]
mod tests {
    use rand::Rng;

    use super::*;

    #[test]
    fn a_checkpoint_is_read_back_and_nothing_else_is() {
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        rng.set_stream(3);
        let _ = (rng.next_u32(), rng.next_u64());
        let checkpoint = Checkpoint {
            step: 7,
            releases: 9,
            public: RngState::from_rng(&rng),
            batches: None,
            weights: vec![1.0, f32::NAN.copysign(-1.0), -0.5],
            optimizer: vec![3, 4],
            average: Vec::new(),
            max_grad_norms: vec![151.075_415_566_522_05],
        };
        let bytes = checkpoint.to_bytes().unwrap();
        let read = Checkpoint::from_bytes(&bytes).unwrap();
        assert_eq!(read.to_bytes().unwrap(), bytes);
        assert_eq!(read.max_grad_norms, checkpoint.max_grad_norms);
        assert_eq!(read.public.generator().unwrap().next_u64(), rng.next_u64());
        for length in 0..bytes.len() {
            let cut = Checkpoint::from_bytes(&bytes[..length]);
            assert!(cut.is_err(), "{length}");
        }
        assert!(Checkpoint::from_bytes(&[bytes, vec![0]].concat()).is_err());
    }
}
