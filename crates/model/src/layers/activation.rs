//! The leaky rectifier.

use burn::module::Module;
use burn::tensor::Tensor;
use dp_core::per_sample::{HostLayer, Layer, ParameterSlot};

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

struct HostLeakyRelu {
    slope: f32,
    features: usize,
}

impl HostLayer for HostLeakyRelu {
    fn inputs(&self) -> usize {
        self.features
    }

    fn outputs(&self) -> usize {
        self.features
    }

    fn parameters(&self) -> usize {
        0
    }

    fn forward(&self, _n: usize, input: &[f32], output: &mut [f32]) {
        for (y, &x) in output.iter_mut().zip(input) {
            *y = if x > 0.0 { x } else { self.slope * x };
        }
    }

    fn backward(
        &self,
        (n, g): (usize, usize),
        input: &[f32],
        _output: &[f32],
        delta: &[f32],
        delta_in: &mut [f32],
    ) {
        let f = self.features;
        for i in 0..n {
            let x = &input[i * f..(i + 1) * f];
            for r in i * g..(i + 1) * g {
                let rows = delta_in[r * f..(r + 1) * f]
                    .iter_mut()
                    .zip(&delta[r * f..(r + 1) * f]);
                for ((below, &d), &x) in rows.zip(x) {
                    *below = if x > 0.0 { d } else { self.slope * d };
                }
            }
        }
    }

    fn gram(&self, _: (usize, usize), _: &[f32], _: &[f32], _: &mut [f32]) {}

    fn gradient(&self, _: usize, _: &[f32], _: &[f32], _: &mut [f32]) {}
}
