//! The leaky rectifier.

use burn::module::Module;
use burn::tensor::Tensor;
use dp_core::per_sample::{HostLayer, Layer, ParameterSlot};

use super::host::HostLeakyRelu;

/// `y = x` for `x > 0` and `slope x` otherwise; slope 0 is the ReLU.
#[derive(Module, Debug)]
pub struct LeakyRelu {
    /// The slope on the negative side, at least 0.
    pub slope: f64,
    /// Features of one record.
    pub features: usize,
}

impl LeakyRelu {
    /// A rectifier over `features` features.
    pub fn new(features: usize, slope: f64) -> Self {
        Self { slope, features }
    }
}

impl Layer for LeakyRelu {
    fn name(&self) -> &'static str {
        "LeakyRelu"
    }

    fn parameters(&self) -> Vec<ParameterSlot> {
        Vec::new()
    }

    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        burn::tensor::activation::leaky_relu(input, self.slope)
    }

    fn backward(&self, input: &Tensor<2>, _output: &Tensor<2>, delta: Tensor<3>) -> Tensor<3> {
        let positive = input.clone().greater_elem(0.0).float();
        let derivative = positive * (1.0 - self.slope) + self.slope;
        delta * derivative.unsqueeze_dim::<3>(1)
    }

    fn gram(&self, _input: &Tensor<2>, _delta: &Tensor<3>) -> Option<Tensor<3>> {
        None
    }

    fn gradient(&self, _input: &Tensor<2>, _delta: Tensor<2>) -> Vec<Tensor<1>> {
        Vec::new()
    }

    fn host(&self) -> Option<Box<dyn HostLayer>> {
        Some(Box::new(HostLeakyRelu {
            slope: self.slope as f32,
            features: self.features,
        }))
    }
}
