//! The embedding: a table with one vector for each token.

use burn::nn;
use burn::tensor::{Bool, IndexingUpdateOp, Int, Tensor};

use super::rows::gram_of_rows;
use super::weight::Weight;
use crate::per_sample::{Gram, Layer, ParameterSlot, finite_rows};

/// `y_t = W[x_t]` for the tokens `x_t` of a record: row numbers of `W`, `[tokens, d]`.
///
/// A record with a value that is not a row number has an output that is not finite, so it contributes nothing. The
/// rows of a record's Jacobian are sums of its cotangents over equal tokens.
pub(super) struct Embedding {
    weight: Weight<2>,
}

impl Embedding {
    pub(super) fn new(module: &nn::Embedding) -> Self {
        Self {
            weight: Weight::of(&module.weight),
        }
    }

    /// The row numbers, with 0 for values that are none, and which values are row numbers.
    fn tokens(&self, input: &Tensor<2>) -> (Tensor<2>, Tensor<2, Bool>) {
        let last = self.weight.value.dims()[0] - 1;
        let nearest = input.clone().clamp(0.0, last as f64).round();
        let known = nearest.clone().equal(input.clone());
        // A GPU's comparisons may assume that numbers are finite.
        let finite = finite_rows(input.clone()).expand(input.dims());
        let known = known.bool_and(finite);
        (nearest.mask_fill(known.clone().bool_not(), 0.0), known)
    }
}

/// Converts float tokens to integers.
fn numbers(tokens: Tensor<2>) -> Tensor<1, Int> {
    tokens.int().flatten(0, 1)
}

impl Layer for Embedding {
    fn name(&self) -> &'static str {
        "Embedding"
    }

    fn parameters(&self) -> Vec<ParameterSlot> {
        self.weight.slot.iter().cloned().collect()
    }

    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let [n, length] = input.dims();
        let [_, width] = self.weight.value.dims();
        let (tokens, known) = self.tokens(&input);
        let vectors = self.weight.beside(&input).select(0, numbers(tokens));
        let unknown = known.bool_not().reshape([n * length, 1]);
        vectors
            .mask_fill(unknown.expand([n * length, width]), f32::NAN)
            .reshape([n, length * width])
    }

    fn backward(&self, input: &Tensor<2>, _output: &Tensor<2>, delta: Tensor<3>) -> Tensor<3> {
        let [n, g, _] = delta.dims();
        Tensor::zeros([n, g, input.dims()[1]], &delta.device())
    }

    fn gram(&self, input: &Tensor<2>, delta: &Tensor<3>) -> Option<Gram> {
        self.weight.slot.as_ref()?;
        let [n, g, _] = delta.dims();
        let [_, width] = self.weight.value.dims();
        let length = input.dims()[1];
        let (tokens, _) = self.tokens(input);
        let one = tokens
            .clone()
            .unsqueeze_dim::<3>(2)
            .expand([n, length, length]);
        let other = tokens.unsqueeze_dim::<3>(1).expand([n, length, length]);
        let equal = one.equal(other).float();
        // Each sum counts once: at the first place of its token.
        let again = equal.clone().tril(-1).sum_dim(2).greater_elem(0.0);
        let sums = equal.mask_fill(again.expand([n, length, length]), 0.0);
        let delta = delta.clone().reshape([n, g, length, width]);
        let rows = sums.unsqueeze_dim::<4>(1).matmul(delta);
        Some(gram_of_rows(rows.reshape([n, g, length * width])).into())
    }

    fn gradient(&self, input: &Tensor<2>, delta: Tensor<2>) -> Vec<Tensor<1>> {
        if !self.weight.trained() {
            return Vec::new();
        }
        let [n, length] = input.dims();
        let [_, width] = self.weight.value.dims();
        let (tokens, _) = self.tokens(input);
        let sum = self.weight.value.zeros_like().select_assign(
            0,
            numbers(tokens),
            delta.reshape([n * length, width]),
            IndexingUpdateOp::Add,
        );
        vec![sum.flatten(0, 1)]
    }
}
