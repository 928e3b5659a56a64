//! The unit that Inception is made of: convolution, normalisation, rectifier.

use burn::tensor::activation::relu;
use burn::tensor::module::{avg_pool2d, conv2d, max_pool2d};
use burn::tensor::ops::{AvgPoolOptions, ConvOptions, MaxPoolOptions};
use burn::tensor::{Device, Tensor, TensorData};

use super::file::Tensors;
use crate::EvaluateError;

/// What the normalisation adds to a variance.
const EPSILON: f64 = 1e-3;

/// The shape of one unit, without its channels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    kernel: [usize; 2],
    stride: usize,
    padding: [usize; 2],
}

impl Window {
    /// `height x width` at every pixel, padded so that the size stays.
    pub(super) const fn same(height: usize, width: usize) -> Self {
        Self {
            kernel: [height, width],
            stride: 1,
            padding: [height / 2, width / 2],
        }
    }

    /// `side x side` with a stride and no padding.
    pub(super) const fn valid(side: usize, stride: usize) -> Self {
        Self {
            kernel: [side, side],
            stride,
            padding: [0, 0],
        }
    }
}

/// A convolution without bias, batch normalisation in its inference form, and a ReLU.
///
/// The normalisation `gamma (y - mean) / sqrt(variance + 0.001) + beta` is linear, so it is part of
/// the convolution's weights and bias.
#[derive(Debug)]
pub(super) struct Unit {
    weight: Tensor<4>,
    bias: Tensor<1>,
    window: Window,
}

/// Reads units from a file, at a width.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) tensors: &'a Tensors,
    /// All numbers of channels are divided by it: 1 for the real network, 16 in tests.
    pub(super) divisor: usize,
    pub(super) device: &'a Device,
}

impl Reader<'_> {
    /// The unit `name` with channels `[c_in, c_out]`; an image's three colours stay three.
    pub(super) fn unit(
        &self,
        name: &str,
        [c_in, c_out]: [usize; 2],
        window: Window,
    ) -> Result<Unit, EvaluateError> {
        let c_in = if c_in == 3 { 3 } else { c_in / self.divisor };
        let c_out = c_out / self.divisor;
        let [height, width] = window.kernel;
        let shape = [c_out, c_in, height, width];
        let weight = self.tensors.get(&format!("{name}.conv.weight"), &shape)?;
        let channel = |part: &str| self.tensors.get(&format!("{name}.bn.{part}"), &[c_out]);
        let (gamma, beta) = (channel("weight")?, channel("bias")?);
        let (mean, variance) = (channel("running_mean")?, channel("running_var")?);
        let mut folded = Vec::with_capacity(weight.len());
        let mut bias = Vec::with_capacity(c_out);
        for (o, kernel) in weight.chunks_exact(c_in * height * width).enumerate() {
            let deviation = (f64::from(variance[o]).max(0.0) + EPSILON).sqrt();
            let scale = f64::from(gamma[o]) / deviation;
            folded.extend(kernel.iter().map(|&w| (f64::from(w) * scale) as f32));
            bias.push((f64::from(beta[o]) - scale * f64::from(mean[o])) as f32);
        }
        Ok(Unit {
            weight: Tensor::from_data(TensorData::new(folded, shape), self.device),
            bias: Tensor::from_data(TensorData::new(bias, [c_out]), self.device),
            window,
        })
    }
}

impl Unit {
    /// `[n, c_in, h, w]` to `[n, c_out, h', w']`.
    pub(super) fn forward(&self, input: Tensor<4>) -> Tensor<4> {
        let Window {
            stride, padding, ..
        } = self.window;
        let options = ConvOptions::new([stride, stride], padding, [1, 1], 1);
        relu(conv2d(
            input,
            self.weight.clone(),
            Some(self.bias.clone()),
            options,
        ))
    }
}

/// The largest of 3x3 pixels.
pub(super) fn max_pool(input: Tensor<4>, stride: usize, padding: usize) -> Tensor<4> {
    let options = MaxPoolOptions::new([3, 3])
        .with_stride([stride, stride])
        .with_padding([padding, padding]);
    max_pool2d(input, options)
}

/// The mean of 3x3 pixels around each; beyond the border they count as zeros, or not at all.
pub(super) fn mean_pool(input: Tensor<4>, count_border: bool) -> Tensor<4> {
    let options = AvgPoolOptions::new([3, 3])
        .with_stride([1, 1])
        .with_padding([1, 1])
        .with_count_include_pad(count_border);
    avg_pool2d(input, options)
}
