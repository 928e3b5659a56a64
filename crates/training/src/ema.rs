//! The exponential moving average of the weights.
//!
//! It is a function of released weights alone, so it costs no privacy.
//!
//! ```
//! use burn::nn::LinearConfig;
//! use private_training::ema::Ema;
//!
//! let module = LinearConfig::new(2, 1).init(&burn::tensor::Device::flex());
//! let mut average = Ema::new(0.99)?;
//! average.update(&module); // after each step
//! assert!(Ema::new(1.0).is_err());
//! # Ok::<(), private_training::TrainingError>(())
//! ```

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Device, Tensor, TensorData};

use crate::{TrainingError, weights};

/// The average `e <- decay e + (1 - decay) w` after each step, in `f32` on the weights' device; the bias of the start is removed.
#[derive(Debug, Clone)]
pub struct Ema {
    decay: f64,
    steps: u64,
    average: Average,
}

#[derive(Debug, Clone)]
enum Average {
    /// The average of each parameter, flat, in the order in which burn visits them.
    Placed(Vec<Tensor<1>>),
    /// The average of all parameters in turn, read from a checkpoint and not yet on a device.
    Read(Vec<f32>),
}

impl Ema {
    /// Creates an average with this decay in `[0, 1)`.
    ///
    /// # Errors
    ///
    /// [`TrainingError::OutOfRange`] for another decay.
    pub fn new(decay: f64) -> Result<Self, TrainingError> {
        if !(0.0..1.0).contains(&decay) {
            return Err(TrainingError::OutOfRange {
                name: "decay of an average",
                value: decay,
                bound: "at least 0 and below 1".into(),
            });
        }
        Ok(Self {
            decay,
            steps: 0,
            average: Average::Placed(Vec::new()),
        })
    }

    /// Adds the weights of `module` to the average.
    pub fn update<M: Module>(&mut self, module: &M) {
        let mut taking = Taking {
            before: &self.average,
            decay: self.decay,
            read: 0,
            after: Vec::new(),
        };
        module.visit(&mut taking);
        self.average = Average::Placed(taking.after);
        self.steps += 1;
    }

    /// Returns the number of steps and the average as bytes, little-endian, for a checkpoint.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.steps.to_le_bytes().to_vec();
        match &self.average {
            Average::Read(values) => bytes.extend(values.iter().flat_map(|e| e.to_le_bytes())),
            Average::Placed(parts) => {
                for part in parts {
                    bytes.extend(part.to_data().iter::<f32>().flat_map(f32::to_le_bytes));
                }
            }
        }
        bytes
    }

    /// Restores the average that [`Ema::to_bytes`] wrote.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Shape`] for bytes of a length that it does not write.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), TrainingError> {
        let refused = || TrainingError::Shape {
            what: "bytes of an average",
            expected: bytes.len().next_multiple_of(4).max(8),
            found: bytes.len(),
        };
        let (&steps, rest) = bytes.split_first_chunk::<8>().ok_or_else(refused)?;
        let (words, rest) = rest.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(refused());
        }
        self.steps = u64::from_le_bytes(steps);
        self.average = Average::Read(words.iter().map(|&e| f32::from_le_bytes(e)).collect());
        Ok(())
    }

    /// Returns `module` with the averaged weights; unchanged before the first update.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Shape`] for a module of another size.
    pub fn apply<M: Module>(&self, module: M) -> Result<M, TrainingError> {
        if self.steps == 0 {
            return Ok(module);
        }
        let averaged = match &self.average {
            Average::Read(values) => weights::from_host(module, values)?,
            Average::Placed(parts) => {
                let found = module.num_params();
                let expected = parts.iter().map(|part| part.dims()[0]).sum();
                if found != expected {
                    return Err(TrainingError::Shape {
                        what: "weights of a module",
                        expected,
                        found,
                    });
                }
                module.map(&mut Placing(parts.iter()))
            }
        };
        // The division is the same for both, so that a resumed run has the same weights to the last bit.
        let correction = 1.0 - self.decay.powf(self.steps as f64);
        Ok(averaged.map(&mut Unbiased(correction)))
    }
}

struct Taking<'a> {
    before: &'a Average,
    decay: f64,
    /// The number of values of [`Average::Read`] that are taken so far.
    read: usize,
    after: Vec<Tensor<1>>,
}

impl Taking<'_> {
    /// The next parameter's average so far, or 0 before the first update.
    fn so_far(&mut self, length: usize, device: &Device) -> Tensor<1> {
        match self.before {
            Average::Placed(parts) => parts.get(self.after.len()).cloned(),
            Average::Read(values) => {
                let here = self.read..self.read + length;
                self.read = here.end;
                values
                    .get(here)
                    .map(|here| Tensor::from_data(TensorData::new(here.to_vec(), [length]), device))
            }
        }
        .unwrap_or_else(|| Tensor::zeros([length], device))
    }
}

impl ModuleVisitor for Taking<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let weights = param.val().detach();
        let length = weights.shape().num_elements();
        let before = self.so_far(length, &weights.device());
        let new = weights.reshape([length]).mul_scalar(1.0 - self.decay);
        self.after.push(before.mul_scalar(self.decay) + new);
    }
}

struct Placing<'a>(std::slice::Iter<'a, Tensor<1>>);

impl ModuleMapper for Placing<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(part) = self.0.next() else {
            return param;
        };
        param.map(|old| part.clone().reshape(old.dims()))
    }
}

struct Unbiased(f64);

impl ModuleMapper for Unbiased {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|average| average.div_scalar(self.0))
    }
}

#[cfg(test)]
mod tests {
    use burn::nn::LinearConfig;

    use super::*;

    /// As where a run is killed after its last checkpoint: nothing is taken in before it is applied.
    #[test]
    fn an_average_that_was_read_back_is_the_same_to_the_last_bit() {
        let device = Device::flex();
        let linear = || LinearConfig::new(50, 20).init(&device);
        let (mut live, mut read) = (Ema::new(0.9).unwrap(), Ema::new(0.9).unwrap());
        for _ in 0..7 {
            live.update(&linear());
        }
        read.restore(&live.to_bytes()).unwrap();
        let of = |ema: &Ema, module| weights::to_host(&ema.apply(module).unwrap());
        let module = linear();
        assert_eq!(of(&live, module.clone()), of(&read, module));
    }
}
