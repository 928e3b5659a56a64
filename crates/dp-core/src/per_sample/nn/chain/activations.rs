//! Activations of a chain, which apply one function to each value.

use burn::nn::{Gelu, LeakyRelu, Softplus};

use super::Chain;
use crate::per_sample::Layer;
use crate::per_sample::nn::pointwise::Pointwise;

impl<'a> Chain<'a> {
    /// Applies `max(x, 0)`.
    pub fn relu(self) -> Self {
        self.pointwise(Pointwise::relu())
    }

    /// Applies `1 / (1 + exp(-x))`.
    pub fn sigmoid(self) -> Self {
        self.pointwise(Pointwise::sigmoid())
    }

    /// Applies the hyperbolic tangent.
    pub fn tanh(self) -> Self {
        self.pointwise(Pointwise::tanh())
    }

    /// Applies `x / (1 + exp(-x))`.
    pub fn silu(self) -> Self {
        self.pointwise(Pointwise::silu())
    }

    /// Applies `x` for `x > 0`, else `slope x`. At exactly 0 the derivative is the slope, as it is 0 for the ReLU;
    /// burn's autodiff takes 1 there.
    pub fn leaky_relu(self, module: &'a LeakyRelu) -> Self {
        self.pointwise(Pointwise::leaky_relu(module))
    }

    /// Applies the Gaussian error linear unit.
    pub fn gelu(self, module: &'a Gelu) -> Self {
        self.pointwise(match module.approximate {
            true => Pointwise::new("Gelu", burn::tensor::activation::gelu_approximate),
            false => Pointwise::gelu(),
        })
    }

    /// Applies `log(1 + exp(beta x)) / beta`.
    pub fn softplus(self, module: &'a Softplus) -> Self {
        self.pointwise(Pointwise::softplus(module))
    }

    /// Applies `scale x + offset` with two public constants.
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
