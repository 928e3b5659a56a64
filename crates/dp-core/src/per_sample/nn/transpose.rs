//! Swaps the two axes of a record.

use burn::tensor::Tensor;

use crate::per_sample::{Gram, Layer, ParameterSlot};

/// `[a, b] -> [b, a]` for each record.
pub(super) struct Transpose(pub(super) [usize; 2]);

impl Layer for Transpose {
    fn name(&self) -> &'static str {
        "Transpose"
    }

    fn parameters(&self) -> Vec<ParameterSlot> {
        Vec::new()
    }

    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let (n, [a, b]) = (input.dims()[0], self.0);
        input.reshape([n, a, b]).swap_dims(1, 2).reshape([n, a * b])
    }

    fn backward(&self, _input: &Tensor<2>, _output: &Tensor<2>, delta: Tensor<3>) -> Tensor<3> {
        let ([n, g, features], [a, b]) = (delta.dims(), self.0);
        let delta = delta.reshape([n * g, b, a]).swap_dims(1, 2);
        delta.reshape([n, g, features])
    }

    fn gram(&self, _input: &Tensor<2>, _delta: &Tensor<3>) -> Option<Gram> {
        None
    }

    fn gradient(&self, _input: &Tensor<2>, _delta: Tensor<2>) -> Vec<Tensor<1>> {
        Vec::new()
    }
}
