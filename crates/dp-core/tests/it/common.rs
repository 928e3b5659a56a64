//! Tensors and numbers of them, and what one record adds.

use burn::tensor::{Device, Tensor, TensorData};
use dp_core::per_sample::{Needs, Rounding, Stack, norm_clip_weights};

pub(crate) fn tensor<const D: usize>(
    values: &[f32],
    shape: [usize; D],
    device: &Device,
) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values.to_vec(), shape), device)
}

pub(crate) fn row(values: &[f32]) -> Tensor<2> {
    tensor(values, [1, values.len()], &Device::flex())
}

pub(crate) fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

pub(crate) fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

pub(crate) fn length(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The norm of what one record adds on tensors, clipped to `bound`, and its squared norm before.
pub(crate) fn added(stack: &Stack, x: &[f32], delta: &[f32], bound: f64) -> (f64, f64) {
    let seen = stack.forward(row(x));
    let needs = Needs {
        gram: true,
        input: false,
    };
    let pulled = stack.pull_back(&seen, row(delta).unsqueeze_dim(1), needs);
    let squared = pulled.gram.clone().flatten(0, 2);
    let room = squared.clone() * (1.0 + Rounding::SINGLE.gram);
    let weights = norm_clip_weights(room, bound, Rounding::SINGLE);
    let parts = stack.gradient(&seen, &pulled, weights.reshape([1, 1]));
    (
        length(parts.into_iter().flat_map(host)),
        squared.into_scalar(),
    )
}
