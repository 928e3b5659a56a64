//! Backward passes to the input by burn's autodiff.

use burn::tensor::Tensor;

/// Computes `delta_ir^T (d forward / d x)` at each record's input, `[n, g, d_out] -> [n, g, d_in]`.
pub(super) fn pulled(
    input: &Tensor<2>,
    delta: Tensor<3>,
    forward: impl Fn(Tensor<2>) -> Tensor<2>,
) -> Tensor<3> {
    let [n, g, outputs] = delta.dims();
    let inputs = input.dims()[1];
    let repeated = input.clone().unsqueeze_dim::<3>(1).expand([n, g, inputs]);
    let at = repeated.reshape([n * g, inputs]);
    gradient_at(at, delta.reshape([n * g, outputs]), forward).reshape([n, g, inputs])
}

/// Computes `delta_i^T (d forward / d x)` at each row of `input`, `[n, d_out] -> [n, d_in]`.
pub(super) fn gradient_at(
    input: Tensor<2>,
    delta: Tensor<2>,
    forward: impl Fn(Tensor<2>) -> Tensor<2>,
) -> Tensor<2> {
    let none = input.zeros_like();
    let input = input.autodiff().require_grad();
    let gradients = (forward(input.clone()) * delta).sum().backward();
    input.grad(&gradients).unwrap_or(none)
}
