//! The fully connected layer.

use burn::nn;
use burn::tensor::Tensor;
use burn::tensor::module::linear;

use super::rows::{gram_of_products, gram_of_sums, together};
use super::weight::{Weight, bias_on_host, slots};
use crate::per_sample::host::layers::HostLinear;
use crate::per_sample::{Gram, HostLayer, Layer, ParameterSlot};

/// `y_t = x_t W + b` at each of `T` places of a record, with `W` of shape `[d_in, d_out]`.
///
/// For one place its part of a record's Gram matrix is `(delta delta^T) (|x|^2 + 1)` (Goodfellow 2015).
pub(super) struct Linear {
    weight: Weight<2>,
    bias: Option<Weight<1>>,
    places: usize,
}

impl Linear {
    pub(super) fn new(module: &nn::Linear, places: usize) -> Self {
        Self {
            weight: Weight::of(&module.weight),
            bias: module.bias.as_ref().map(Weight::of),
            places,
        }
    }
}

impl Layer for Linear {
    fn name(&self) -> &'static str {
        "Linear"
    }

    fn parameters(&self) -> Vec<ParameterSlot> {
        slots(&self.weight, self.bias.as_ref())
    }

    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let n = input.dims()[0];
        let [inputs, outputs] = self.weight.value.dims();
        let bias = self.bias.as_ref().map(|bias| bias.beside(&input));
        let weight = self.weight.beside(&input);
        let places = input.reshape([n * self.places, inputs]);
        linear(places, weight, bias).reshape([n, self.places * outputs])
    }

    fn backward(&self, _input: &Tensor<2>, _output: &Tensor<2>, delta: Tensor<3>) -> Tensor<3> {
        let [n, g, _] = delta.dims();
        let [inputs, outputs] = self.weight.value.dims();
        delta
            .reshape([n * g * self.places, outputs])
            .matmul(self.weight.value.clone().transpose())
            .reshape([n, g, self.places * inputs])
    }

    fn gram(&self, input: &Tensor<2>, delta: &Tensor<3>) -> Option<Gram> {
        let [n, g, _] = delta.dims();
        let [inputs, outputs] = self.weight.value.dims();
        let delta = delta
            .clone()
            .reshape([n, g, self.places, outputs])
            .swap_dims(2, 3);
        let bias = self.bias.as_ref().filter(|bias| bias.trained());
        let bias = bias.map(|_| gram_of_sums(delta.clone()));
        let weight = self.weight.trained().then(|| {
            let patches = input.clone().reshape([n, 1, self.places, inputs]);
            gram_of_products(&patches.swap_dims(2, 3), delta.unsqueeze_dim(2))
        });
        together(weight, bias).map(Gram::from)
    }

    fn gradient(&self, input: &Tensor<2>, delta: Tensor<2>) -> Vec<Tensor<1>> {
        let n = input.dims()[0];
        let [inputs, outputs] = self.weight.value.dims();
        let delta = delta.reshape([n * self.places, outputs]);
        let mut parts = Vec::new();
        if self.weight.trained() {
            let patches = input.clone().reshape([n * self.places, inputs]);
            parts.push(patches.transpose().matmul(delta.clone()).flatten(0, 1));
        }
        if self.bias.as_ref().is_some_and(Weight::trained) {
            parts.push(delta.sum_dim(0).flatten(0, 1));
        }
        parts
    }

    fn host(&self) -> Option<Box<dyn HostLayer>> {
        if self.places != 1 {
            return None;
        }
        let (bias, bias_trained) = bias_on_host(self.bias.as_ref());
        Some(Box::new(HostLinear::new(
            self.weight.value.dims(),
            &self.weight.on_host(),
            bias,
            [self.weight.trained(), bias_trained],
        )))
    }
}
