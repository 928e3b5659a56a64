//! The exponential moving average of the weights.
//!
//! A function of released weights alone, so it costs no privacy.

use burn::module::Module;

use crate::{ModelError, weights};

/// `e <- decay e + (1 - decay) w` after each step, with the bias of the start removed.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct Ema {
    decay: f64,
    steps: u64,
    average: Vec<f64>,
}

impl Ema {
    /// An average of the given decay in `[0, 1)`.
    ///
    /// # Errors
    ///
    /// [`ModelError::OutOfRange`] otherwise.
    pub fn new(decay: f64) -> Result<Self, ModelError> {
        if !(0.0..1.0).contains(&decay) {
            return Err(ModelError::OutOfRange {
                name: "ema",
                value: decay,
                bound: "at least 0 and below 1".into(),
            });
        }
        Ok(Self {
            decay,
            steps: 0,
            average: Vec::new(),
        })
    }

    /// Takes the weights of `module` into the average.
    pub fn update<M: Module>(&mut self, module: &M) {
        let current = weights::to_host(module);
        self.average.resize(current.len(), 0.0);
        for (e, w) in self.average.iter_mut().zip(current) {
            *e = self.decay * *e + (1.0 - self.decay) * f64::from(w);
        }
        self.steps += 1;
    }

    /// The steps taken in and the average, little-endian, for a checkpoint.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.steps.to_le_bytes().to_vec();
        bytes.extend(self.average.iter().flat_map(|e| e.to_le_bytes()));
        bytes
    }

    /// Takes the place of the average that [`Ema::to_bytes`] wrote.
    ///
    /// # Errors
    ///
    /// [`ModelError::Shape`] for bytes of another length than it writes.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), ModelError> {
        let (words, rest) = bytes.as_chunks::<8>();
        let Some((&steps, average)) = words.split_first().filter(|_| rest.is_empty()) else {
            return Err(ModelError::Shape {
                what: "bytes of an average",
                expected: bytes.len().next_multiple_of(8).max(8),
                found: bytes.len(),
            });
        };
        self.steps = u64::from_le_bytes(steps);
        self.average = average.iter().map(|&e| f64::from_le_bytes(e)).collect();
        Ok(())
    }

    /// `module` with the averaged weights; unchanged before the first update.
    ///
    /// # Errors
    ///
    /// [`ModelError::Shape`] for a module of another size.
    pub fn apply<M: Module>(&self, module: M) -> Result<M, ModelError> {
        if self.steps == 0 {
            return Ok(module);
        }
        let correction = 1.0 - self.decay.powf(self.steps as f64);
        let flat: Vec<f32> = self
            .average
            .iter()
            .map(|e| (e / correction) as f32)
            .collect();
        weights::from_host(module, &flat)
    }
}
