//! Adam with a state that can be saved and restored.
//!
//! The arithmetic is burn's [`Adam`]. The state here is a plain list, in the order in which burn visits the parameters. burn
//! loads its own record onto the default device: a GPU in every build that supports one, so it fails on a machine without a GPU.
//!
//! ```
//! use burn::{nn::LinearConfig, tensor::{Device, Tensor}};
//! use private_training::adam::ModuleAdam;
//!
//! let device = Device::flex().autodiff();
//! let module = LinearConfig::new(2, 1).init(&device);
//! let mut adam = ModuleAdam::default();
//! let loss = module.forward(Tensor::<2>::ones([4, 2], &device)).mean(); // of public records
//! let module = adam.descend(0.01, module, loss);
//! let restored = ModuleAdam::from_bytes(&adam.to_bytes(), &device)?;
//! assert_eq!(restored.to_bytes(), adam.to_bytes());
//! # Ok::<(), private_training::TrainingError>(())
//! ```

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::{Adam, AdamConfig, AdamState, AdaptiveMomentumState, GradientsParams, Optimizer};
use burn::tensor::{Device, Tensor, TensorData};

use crate::TrainingError;

/// Adam for all parameters of a module, with burn's defaults.
pub struct ModuleAdam {
    rule: Adam,
    states: Vec<Option<AdamState<1>>>,
}

impl Default for ModuleAdam {
    fn default() -> Self {
        Self {
            rule: AdamConfig::new().build(),
            states: Vec::new(),
        }
    }
}

struct Step<'a> {
    optimizer: &'a mut ModuleAdam,
    rate: f64,
    gradients: GradientsParams,
    next: usize,
}

impl ModuleMapper for Step<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let index = self.next;
        self.next += 1;
        if self.optimizer.states.len() <= index {
            self.optimizer.states.resize(index + 1, None);
        }
        let Some(gradient) = self.gradients.remove::<D>(param.id) else {
            return param;
        };
        let state = self.optimizer.states[index].take();
        param.map(|weights| {
            let shape = weights.dims();
            let length: usize = shape.iter().product();
            let (weights, state) = self.optimizer.rule.step(
                self.rate,
                weights.reshape([length]),
                gradient.reshape([length]),
                state,
            );
            self.optimizer.states[index] = state;
            weights.reshape(shape)
        })
    }
}

impl ModuleAdam {
    /// Sets the number that is added to the root of the second moment.
    #[must_use]
    pub fn with_epsilon(self, epsilon: f32) -> Self {
        let rule = AdamConfig::new().with_epsilon(epsilon).build();
        Self { rule, ..self }
    }

    /// Makes one step with learning rate `rate`; parameters without a gradient stay as they are.
    pub fn step<M: Module>(&mut self, rate: f64, module: M, gradients: GradientsParams) -> M {
        let tracked = module.devices().iter().any(Device::is_autodiff);
        let moved = module.valid().map(&mut Step {
            optimizer: self,
            rate,
            gradients,
            next: 0,
        });
        if tracked { moved.train() } else { moved }
    }

    /// Makes one step down a gradient that is known at the module's output: `cotangent` is as long as `output`, which the module
    /// computed on a device with autodiff.
    pub fn pull<M: Module>(
        &mut self,
        rate: f64,
        module: M,
        output: Tensor<2>,
        cotangent: Vec<f32>,
    ) -> M {
        let data = TensorData::new(cotangent, output.dims());
        let cotangent = Tensor::from_data(data, &output.device());
        self.descend(rate, module, (output * cotangent).sum())
    }

    /// Makes one step down `loss`, computed from the module's output on a device with autodiff.
    pub fn descend<M: Module>(&mut self, rate: f64, module: M, loss: Tensor<1>) -> M {
        let gradients = GradientsParams::from_grads(loss.backward(), &module);
        self.step(rate, module, gradients)
    }

    /// Refuses a state whose moments are not as long as the parameters of `module`.
    pub(crate) fn check<M: Module>(&self, module: &M) -> Result<(), TrainingError> {
        let mut lengths = Lengths(Vec::new());
        module.visit(&mut lengths);
        for (place, state) in self.states.iter().enumerate() {
            let Some(AdamState { momentum }) = state else {
                continue;
            };
            let expected = lengths.0.get(place).copied().unwrap_or(0);
            for moment in [&momentum.moment_1, &momentum.moment_2] {
                crate::error::same("moments of a parameter", expected, moment.dims()[0])?;
            }
        }
        Ok(())
    }

    /// Returns the state as bytes: for each parameter the number of steps and both moments with their lengths, all little-endian.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for state in &self.states {
            let Some(AdamState { momentum }) = state else {
                bytes.extend_from_slice(&0u64.to_le_bytes());
                continue;
            };
            bytes.extend_from_slice(&(momentum.time as u64).to_le_bytes());
            for moment in [&momentum.moment_1, &momentum.moment_2] {
                let values = moment.to_data();
                bytes.extend_from_slice(&(values.num_elements() as u64).to_le_bytes());
                bytes.extend(values.iter::<f32>().flat_map(f32::to_le_bytes));
            }
        }
        bytes
    }

    /// Reads the optimizer that [`ModuleAdam::to_bytes`] wrote, onto `device`.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Shape`] if the bytes end early.
    pub fn from_bytes(bytes: &[u8], device: &Device) -> Result<Self, TrainingError> {
        let mut reader = Reader { rest: bytes };
        let mut states = Vec::new();
        while !reader.rest.is_empty() {
            let time = reader.number()?;
            if time == 0 {
                states.push(None);
                continue;
            }
            let moments = [reader.vector()?, reader.vector()?].map(|values| {
                let length = values.len();
                Tensor::from_data(TensorData::new(values, [length]), device)
            });
            let [first, second] = moments;
            let momentum = AdaptiveMomentumState::new(time as usize, first, second);
            states.push(Some(AdamState::new(momentum)));
        }
        Ok(Self {
            states,
            ..Self::default()
        })
    }
}

/// The number of values of each parameter.
struct Lengths(Vec<usize>);

impl ModuleVisitor for Lengths {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.push(param.val().shape().num_elements());
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], TrainingError> {
        let found = self.rest.len();
        let (head, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(TrainingError::Shape {
                what: "bytes of an optimizer",
                expected: length,
                found,
            })?;
        self.rest = rest;
        Ok(head)
    }

    fn number(&mut self) -> Result<u64, TrainingError> {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(self.take(8)?);
        Ok(u64::from_le_bytes(bytes))
    }

    fn vector(&mut self) -> Result<Vec<f32>, TrainingError> {
        let length = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        let bytes = self.take(length.saturating_mul(4))?;
        let (values, _) = bytes.as_chunks::<4>();
        Ok(values.iter().map(|&b| f32::from_le_bytes(b)).collect())
    }
}
