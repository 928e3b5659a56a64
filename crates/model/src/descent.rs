//! Plain gradient descent, where the weights live.

use burn::module::{Module, ModuleMapper, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;

struct Descent {
    rate: f64,
    gradients: GradientsParams,
}

impl ModuleMapper for Descent {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        match self.gradients.remove::<D>(param.id) {
            Some(gradient) => param.map(|weights| weights - gradient.mul_scalar(self.rate)),
            None => param,
        }
    }
}

/// `module` after one step `w <- w - rate g`; parameters without a gradient stay as they are.
pub fn descend<M: Module>(rate: f64, module: M, gradients: GradientsParams) -> M {
    module.map(&mut Descent { rate, gradients })
}
