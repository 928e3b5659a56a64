//! The convolution that keeps height and width.

use burn::module::{Module, Param};
use burn::tensor::module::{conv_transpose2d, conv2d, conv2d_weight_backward, unfold4d};
use burn::tensor::ops::{ConvOptions, ConvTransposeOptions, UnfoldOptions};
use burn::tensor::{Device, Tensor};
use dp_core::per_sample::{HostLayer, Layer, ParameterSlot};
use rand::Rng;

use super::conv_kernels::{Geometry, add_weight_gradients, correlate, pack_padded, pack_strided};
use super::linear::add_scaled_gram;
use super::{constant_bias, gaussian_parameter, host_values};

/// A `K x K` convolution with stride 1 and zero padding `(K - 1) / 2`, `K` odd.
///
/// Its part of a record's Gram matrix is that of the rows `unfold(x) delta^T`, which for small
/// kernels are shorter than the activations.
#[derive(Module, Debug)]
pub struct Conv {
    /// The weight, `[c_out, c_in, K, K]`.
    pub weight: Param<Tensor<4>>,
    /// The bias, `[c_out]`.
    pub bias: Param<Tensor<1>>,
    /// Height of the image.
    pub height: usize,
    /// Width of the image.
    pub width: usize,
}

impl Conv {
    /// A 3x3 convolution of `channels = [c_in, c_out]` over `size = [height, width]` with He
    /// initialisation, `N(0, gain / (9 c_in))`, and a constant bias.
    pub fn new(
        [c_in, c_out]: [usize; 2],
        [height, width]: [usize; 2],
        gain: f64,
        bias: f32,
        rng: &mut impl Rng,
        device: &Device,
    ) -> Self {
        let deviation = (gain / (9 * c_in) as f64).sqrt();
        Self {
            weight: gaussian_parameter([c_out, c_in, 3, 3], deviation, rng, device),
            bias: constant_bias(c_out, bias, device),
            height,
            width,
        }
    }

    fn channels(&self) -> (usize, usize, usize) {
        let [c_out, c_in, k, _] = self.weight.val().dims();
        (c_in, c_out, k)
    }
}

impl Layer for Conv {
    fn name(&self) -> &'static str {
        "Conv"
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
        let n = input.dims()[0];
        let (c_in, _, k) = self.channels();
        let pad = (k - 1) / 2;
        let image = input.reshape([n, c_in, self.height, self.width]);
        let options = ConvOptions::new([1, 1], [pad, pad], [1, 1], 1);
        conv2d(image, self.weight.val(), Some(self.bias.val()), options).flatten(1, 3)
    }

    fn backward(&self, _input: &Tensor<2>, _output: &Tensor<2>, delta: Tensor<3>) -> Tensor<3> {
        let [n, g, _] = delta.dims();
        let (c_in, c_out, k) = self.channels();
        let pad = (k - 1) / 2;
        let delta = delta.reshape([n * g, c_out, self.height, self.width]);
        let options = ConvTransposeOptions::new([1, 1], [pad, pad], [0, 0], [1, 1], 1);
        conv_transpose2d(delta, self.weight.val(), None, options).reshape([
            n,
            g,
            c_in * self.height * self.width,
        ])
    }

    fn gram(&self, input: &Tensor<2>, delta: &Tensor<3>) -> Option<Tensor<3>> {
        let [n, g, _] = delta.dims();
        let (c_in, c_out, k) = self.channels();
        let pad = (k - 1) / 2;
        let pixels = self.height * self.width;
        let image = input.clone().reshape([n, c_in, self.height, self.width]);
        // [n, c_in k k, pixels]
        let patches = unfold4d(
            image,
            [k, k],
            UnfoldOptions::new([1, 1], [pad, pad], [1, 1]),
        );
        let delta = delta.clone().reshape([n, g * c_out, pixels]);
        let weight =
            delta
                .clone()
                .matmul(patches.swap_dims(1, 2))
                .reshape([n, g, c_out * c_in * k * k]);
        let bias = delta.sum_dim(2).reshape([n, g, c_out]);
        let part = weight.clone().matmul(weight.swap_dims(1, 2))
            + bias.clone().matmul(bias.swap_dims(1, 2));
        Some(part)
    }

    fn gradient(&self, input: &Tensor<2>, delta: Tensor<2>) -> Vec<Tensor<1>> {
        let n = input.dims()[0];
        let (c_in, c_out, k) = self.channels();
        let pad = (k - 1) / 2;
        let image = input.clone().reshape([n, c_in, self.height, self.width]);
        let delta = delta.reshape([n, c_out, self.height, self.width]);
        let weight = conv2d_weight_backward(
            image,
            self.weight.val(),
            delta.clone(),
            ConvOptions::new([1, 1], [pad, pad], [1, 1], 1),
        );
        let bias = delta
            .reshape([n, c_out, self.height * self.width])
            .sum_dim(2)
            .sum_dim(0);
        vec![weight.flatten(0, 3), bias.flatten(0, 2)]
    }

    fn host(&self) -> Option<Box<dyn HostLayer>> {
        let (c_in, c_out, k) = self.channels();
        // The kernels are compiled for these sizes.
        if !matches!(k, 1 | 3 | 5) {
            return None;
        }
        let weight = host_values(&self.weight);
        let mut flipped = vec![0.0; weight.len()];
        for co in 0..c_out {
            for ci in 0..c_in {
                for tap in 0..k * k {
                    flipped[(ci * c_out + co) * k * k + (k * k - 1 - tap)] =
                        weight[(co * c_in + ci) * k * k + tap];
                }
            }
        }
        Some(Box::new(HostConv {
            c_in,
            c_out,
            geometry: Geometry::new(self.height, self.width, k),
            weight,
            flipped,
            bias: host_values(&self.bias),
        }))
    }
}

struct HostConv {
    c_in: usize,
    c_out: usize,
    geometry: Geometry,
    weight: Vec<f32>,
    /// The kernels of the adjoint: `[c_in, c_out, K, K]`, turned by 180 degrees.
    flipped: Vec<f32>,
    bias: Vec<f32>,
}

impl HostConv {
    /// The rows `[count * c_out, c_in k k]` of one record's weight gradients for `count` cotangents.
    fn weight_rows(
        &self,
        packed_input: &[f32],
        delta: &[f32],
        strided: &mut [f32],
        rows: &mut [f32],
    ) {
        let planes = delta.len() / self.geometry.pixels();
        pack_strided(&self.geometry, delta, strided);
        rows.fill(0.0);
        add_weight_gradients(
            &self.geometry,
            packed_input,
            &strided[..planes * self.geometry.strided()],
            planes,
            self.c_in,
            rows,
        );
    }
}

impl HostLayer for HostConv {
    fn inputs(&self) -> usize {
        self.c_in * self.geometry.pixels()
    }

    fn outputs(&self) -> usize {
        self.c_out * self.geometry.pixels()
    }

    fn parameters(&self) -> usize {
        self.weight.len() + self.bias.len()
    }

    fn forward(&self, _n: usize, input: &[f32], output: &mut [f32]) {
        let mut packed = vec![0.0; self.c_in * self.geometry.padded()];
        for (x, y) in input
            .chunks_exact(self.inputs())
            .zip(output.chunks_exact_mut(self.outputs()))
        {
            pack_padded(&self.geometry, x, &mut packed);
            correlate(&self.geometry, &packed, &self.weight, Some(&self.bias), y);
        }
    }

    fn backward(
        &self,
        _: (usize, usize),
        _input: &[f32],
        _output: &[f32],
        delta: &[f32],
        delta_in: &mut [f32],
    ) {
        let mut packed = vec![0.0; self.c_out * self.geometry.padded()];
        for (d, below) in delta
            .chunks_exact(self.outputs())
            .zip(delta_in.chunks_exact_mut(self.inputs()))
        {
            pack_padded(&self.geometry, d, &mut packed);
            correlate(&self.geometry, &packed, &self.flipped, None, below);
        }
    }

    fn gram(&self, (n, g): (usize, usize), input: &[f32], delta: &[f32], gram: &mut [f32]) {
        let (inputs, outputs) = (self.inputs(), self.outputs());
        let mut packed = vec![0.0; self.c_in * self.geometry.padded()];
        let mut strided = vec![0.0; g * self.c_out * self.geometry.strided()];
        let mut rows = vec![0.0; g * self.weight.len()];
        let mut bias = vec![0.0; g * self.c_out];
        for i in 0..n {
            pack_padded(
                &self.geometry,
                &input[i * inputs..(i + 1) * inputs],
                &mut packed,
            );
            let delta = &delta[i * g * outputs..(i + 1) * g * outputs];
            self.weight_rows(&packed, delta, &mut strided, &mut rows);
            let gram = &mut gram[i * g * g..];
            add_scaled_gram(&rows, self.weight.len(), g, 1.0, gram);
            for (b, plane) in bias
                .iter_mut()
                .zip(delta.chunks_exact(self.geometry.pixels()))
            {
                *b = plane.iter().sum();
            }
            add_scaled_gram(&bias, self.c_out, g, 1.0, gram);
        }
    }

    fn gradient(&self, n: usize, input: &[f32], delta: &[f32], gradient: &mut [f32]) {
        let (inputs, outputs) = (self.inputs(), self.outputs());
        let mut packed = vec![0.0; self.c_in * self.geometry.padded()];
        let mut strided = vec![0.0; self.c_out * self.geometry.strided()];
        let (weight, bias) = gradient.split_at_mut(self.weight.len());
        for i in 0..n {
            pack_padded(
                &self.geometry,
                &input[i * inputs..(i + 1) * inputs],
                &mut packed,
            );
            let delta = &delta[i * outputs..(i + 1) * outputs];
            pack_strided(&self.geometry, delta, &mut strided);
            add_weight_gradients(
                &self.geometry,
                &packed,
                &strided,
                self.c_out,
                self.c_in,
                weight,
            );
            for (b, plane) in bias
                .iter_mut()
                .zip(delta.chunks_exact(self.geometry.pixels()))
            {
                *b += plane.iter().sum::<f32>();
            }
        }
    }
}
