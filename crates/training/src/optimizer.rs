//! The optimizers that move the weights along a released gradient.

use burn::module::Module;
use burn::optim::{GradientsParams, ModuleOptimizer, SgdConfig};
use burn::tensor::Device;

use crate::TrainingError;
use crate::adam::ModuleAdam;

/// An optimizer: Adam with burn's defaults, or any of burn's.
///
/// A [`crate::Checkpoint`] holds the state of [`Optimizer::adam`]; [`Optimizer::sgd`] has none. Other optimizers start anew when
/// a training resumes, because burn loads their records onto the default device.
pub struct Optimizer(Kind);

enum Kind {
    Adam(ModuleAdam),
    Burn(ModuleOptimizer),
}

impl Optimizer {
    /// Creates Adam (Kingma and Ba 2015, arXiv 1412.6980) with burn's defaults.
    pub fn adam() -> Self {
        Self(Kind::Adam(ModuleAdam::default()))
    }

    /// Creates gradient descent without momentum.
    pub fn sgd() -> Self {
        SgdConfig::new().init().into()
    }

    /// Returns the module after a step.
    pub(crate) fn step<M: Module>(&mut self, rate: f64, module: M, by: GradientsParams) -> M {
        let tracked = module.devices().iter().any(Device::is_autodiff);
        match &mut self.0 {
            Kind::Adam(adam) => adam.step(rate, module, by),
            // burn's optimizers take only modules that autodiff tracks.
            Kind::Burn(optimizer) if tracked => optimizer.step(rate, module, by),
            Kind::Burn(optimizer) => optimizer.step(rate, module.train(), by).valid(),
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match &self.0 {
            Kind::Adam(adam) => adam.to_bytes(),
            Kind::Burn(_) => Vec::new(),
        }
    }

    /// Returns the optimizer with the state that [`Optimizer::to_bytes`] wrote for `module`, or `None` if it keeps no state.
    pub(crate) fn restored<M: Module>(
        &self,
        bytes: &[u8],
        module: &M,
        device: &Device,
    ) -> Result<Option<Self>, TrainingError> {
        match &self.0 {
            Kind::Adam(_) => {
                let adam = ModuleAdam::from_bytes(bytes, device)?;
                adam.check(module)?;
                Ok(Some(Self(Kind::Adam(adam))))
            }
            Kind::Burn(_) if bytes.is_empty() => Ok(None),
            Kind::Burn(_) => Err(TrainingError::checkpoint("it is of a training by Adam")),
        }
    }
}

impl<O: Into<ModuleOptimizer>> From<O> for Optimizer {
    fn from(optimizer: O) -> Self {
        Self(Kind::Burn(optimizer.into()))
    }
}

/// The learning rate of each step.
pub struct Schedule(Box<dyn Fn(u64) -> f64 + Send>);

impl Schedule {
    /// Creates a schedule with learning rate `rate(t)` for the step after `t` steps; it continues when a training resumes.
    pub fn new(rate: impl Fn(u64) -> f64 + Send + 'static) -> Self {
        Self(Box::new(rate))
    }

    pub(crate) fn after(&self, steps: u64) -> f64 {
        self.0(steps)
    }
}

impl From<f64> for Schedule {
    fn from(rate: f64) -> Self {
        Self::new(move |_| rate)
    }
}

/// Returns the factor of a cosine decay from 1 to `floor` after `step` of `steps`:
/// `floor + (1 - floor) (1 + cos(pi step / steps)) / 2` (Loshchilov and Hutter 2017, arXiv 1608.03983, equation 5).
///
/// ```
/// assert_eq!(private_training::cosine(0, 10, 0.1), 1.0);
/// assert!((private_training::cosine(10, 10, 0.1) - 0.1).abs() < 1e-12);
/// ```
pub fn cosine(step: u64, steps: u64, floor: f64) -> f64 {
    let phase = std::f64::consts::PI * step as f64 / steps as f64;
    floor + (1.0 - floor) * 0.5 * (1.0 + phase.cos())
}
