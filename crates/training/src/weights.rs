//! All weights of a module as one flat vector on the host.
//!
//! ```
//! use burn::nn::LinearConfig;
//! use private_training::weights::{from_host, to_host};
//!
//! let module = LinearConfig::new(2, 1).init(&burn::tensor::Device::flex());
//! let module = from_host(module, &[1.0, 2.0, 3.0])?;
//! assert_eq!(to_host(&module), [1.0, 2.0, 3.0]);
//! # Ok::<(), private_training::TrainingError>(())
//! ```

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Tensor, TensorData};

use crate::TrainingError;

struct Collect(Vec<f32>);

impl ModuleVisitor for Collect {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.extend(param.val().into_data().iter::<f32>());
    }
}

struct Overwrite<'a>(&'a [f32]);

impl ModuleMapper for Overwrite<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|old| {
            let shape = old.dims();
            let (here, rest) = self.0.split_at(shape.iter().product());
            self.0 = rest;
            Tensor::from_data(TensorData::new(here.to_vec(), shape), &old.device())
        })
    }
}

/// Returns the weights of `module` in the order in which burn visits them.
pub fn to_host<M: Module>(module: &M) -> Vec<f32> {
    let mut collect = Collect(Vec::new());
    module.visit(&mut collect);
    collect.0
}

/// Replaces the weights of `module` by `flat`, in the order of [`to_host`].
///
/// # Errors
///
/// [`TrainingError::Shape`] if the number of weights differs.
pub fn from_host<M: Module>(module: M, flat: &[f32]) -> Result<M, TrainingError> {
    let expected = module.num_params();
    if expected != flat.len() {
        return Err(TrainingError::Shape {
            what: "weights of a module",
            expected,
            found: flat.len(),
        });
    }
    Ok(module.map(&mut Overwrite(flat)))
}
