//! The fully connected layer.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use dp_core::per_sample::{HostLayer, Layer, ParameterSlot};
use rand::Rng;

use super::host::HostLinear;
use super::{constant_bias, gaussian_parameter, host_values};

/// `y = x W + b`, with `W` of shape `[d_in, d_out]`.
///
/// Its part of a record's Gram matrix is `(delta delta^T) (||x||^2 + 1)` (MATH: ghost norms).
#[derive(Module, Debug)]
pub struct Linear {
    /// The weight, `[d_in, d_out]`.
    pub weight: Param<Tensor<2>>,
    /// The bias, `[d_out]`.
    pub bias: Param<Tensor<1>>,
}

impl Linear {
    /// He initialisation, `W ~ N(0, gain / d_in)`, and zero biases. The gain is 2 in front of a
    /// ReLU and 1 in front of a linear output.
    pub fn new(d_in: usize, d_out: usize, gain: f64, rng: &mut impl Rng, device: &Device) -> Self {
        Self {
            weight: gaussian_parameter([d_in, d_out], (gain / d_in as f64).sqrt(), rng, device),
            bias: constant_bias(d_out, 0.0, device),
        }
    }
}

impl Layer for Linear {
    fn name(&self) -> &'static str {
        "Linear"
    }

    fn parameters(&self) -> Vec<ParameterSlot> {
        vec![
            ParameterSlot {
                id: self.weight.id,
                shape: self.weight.lazy_shape().as_slice().to_vec(),
            },
            ParameterSlot {
                id: self.bias.id,
                shape: self.bias.lazy_shape().as_slice().to_vec(),
            },
        ]
    }

    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        input.matmul(self.weight.val()) + self.bias.val().unsqueeze::<2>()
    }

    fn backward(&self, _input: &Tensor<2>, _output: &Tensor<2>, delta: Tensor<3>) -> Tensor<3> {
        let [n, g, features] = delta.dims();
        let weight = self.weight.val().transpose();
        let inputs = weight.dims()[1];
        delta
            .reshape([n * g, features])
            .matmul(weight)
            .reshape([n, g, inputs])
    }

    fn gram(&self, input: &Tensor<2>, delta: &Tensor<3>) -> Option<Tensor<3>> {
        let scale = input.clone().square().sum_dim(1) + 1.0;
        let outer = delta.clone().matmul(delta.clone().swap_dims(1, 2));
        Some(outer * scale.unsqueeze_dim::<3>(2))
    }

    fn gradient(&self, input: &Tensor<2>, delta: Tensor<2>) -> Vec<Tensor<1>> {
        let weight = input.clone().transpose().matmul(delta.clone());
        vec![weight.flatten(0, 1), delta.sum_dim(0).flatten(0, 1)]
    }

    fn host(&self) -> Option<Box<dyn HostLayer>> {
        let [inputs, outputs] = self.weight.val().dims();
        let weight = host_values(&self.weight);
        let bias = host_values(&self.bias);
        Some(Box::new(HostLinear::new(inputs, outputs, &weight, bias)))
    }
}
