//! Activations of a chain: the same function of each value.

use burn::nn::{Gelu, LeakyRelu, Softplus};

use super::Chain;
use crate::per_sample::Layer;
use crate::per_sample::nn::pointwise::Pointwise;

impl<'a> Chain<'a> {
    /// `max(x, 0)`.
    pub fn relu(self) -> Self {
        self.pointwise(Pointwise::relu())
    }

    /// `1 / (1 + exp(-x))`.
    pub fn sigmoid(self) -> Self {
        self.pointwise(Pointwise::sigmoid())
    }

    /// The hyperbolic tangent.
    pub fn tanh(self) -> Self {
        self.pointwise(Pointwise::tanh())
    }

    /// `x / (1 + exp(-x))`.
    pub fn silu(self) -> Self {
        self.pointwise(Pointwise::silu())
    }

    /// `x` for `x > 0`, else `slope x`. At exactly 0, where burn's autodiff takes 1 for the derivative, this takes the
    /// slope, as it takes 0 for the ReLU.
    pub fn leaky_relu(self, module: &'a LeakyRelu) -> Self {
        self.pointwise(Pointwise::leaky_relu(module))
    }

    /// The Gaussian error linear unit.
    pub fn gelu(self, module: &'a Gelu) -> Self {
        self.pointwise(match module.approximate {
            true => Pointwise::new("Gelu", burn::tensor::activation::gelu_approximate),
            false => Pointwise::gelu(),
        })
    }

    /// `log(1 + exp(beta x)) / beta`.
    pub fn softplus(self, module: &'a Softplus) -> Self {
        self.pointwise(Pointwise::softplus(module))
    }

    /// `scale x + offset`, two public constants.
    pub fn affine(self, scale: f64, offset: f64) -> Self {
        self.pointwise(Pointwise::affine(scale, offset))
    }

    fn pointwise(self, layer: Pointwise) -> Self {
        self.add(layer.name(), |shape| {
            let layer = layer.over(shape.iter().product());
            Ok((Box::new(layer), shape.to_vec()))
        })
    }
}
