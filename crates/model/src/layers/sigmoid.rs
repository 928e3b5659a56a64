//! The logistic function.

use burn::module::Module;
use burn::tensor::Tensor;
use dp_core::per_sample::{HostLayer, Layer, ParameterSlot};

use super::host::HostSigmoid;

/// `y = 1 / (1 + exp(-x)) - shift`.
#[derive(Module, Debug)]
pub struct Sigmoid {
    /// What is taken away from each value: 1/2 centres the output.
    pub shift: f64,
    /// Features of one record.
    pub features: usize,
}

impl Sigmoid {
    /// A logistic function over `features` features.
    pub fn new(features: usize, shift: f64) -> Self {
        Self { shift, features }
    }
}

impl Layer for Sigmoid {
    fn name(&self) -> &'static str {
        "Sigmoid"
    }

    fn parameters(&self) -> Vec<ParameterSlot> {
        Vec::new()
    }

    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        burn::tensor::activation::sigmoid(input).sub_scalar(self.shift)
    }

    fn backward(&self, _input: &Tensor<2>, output: &Tensor<2>, delta: Tensor<3>) -> Tensor<3> {
        let s = output.clone().add_scalar(self.shift);
        let derivative = s.clone() - s.square();
        delta * derivative.unsqueeze_dim::<3>(1)
    }

    fn gram(&self, _input: &Tensor<2>, _delta: &Tensor<3>) -> Option<Tensor<3>> {
        None
    }

    fn gradient(&self, _input: &Tensor<2>, _delta: Tensor<2>) -> Vec<Tensor<1>> {
        Vec::new()
    }

    fn host(&self) -> Option<Box<dyn HostLayer>> {
        Some(Box::new(HostSigmoid {
            shift: self.shift as f32,
            features: self.features,
        }))
    }
}
