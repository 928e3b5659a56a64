//! The convolution that keeps height and width.

use burn::module::{Module, Param};
use burn::tensor::module::{conv_transpose2d, conv2d, conv2d_weight_backward, unfold4d};
use burn::tensor::ops::{ConvOptions, ConvTransposeOptions, UnfoldOptions};
use burn::tensor::{Device, Tensor};
use dp_core::per_sample::{HostLayer, Layer, ParameterSlot};
use rand::Rng;

use super::host::HostConv;
use super::kernels::Plane;
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
        let (c_in, c_out, kernel) = self.channels();
        if !HostConv::SIZES.contains(&kernel) {
            return None;
        }
        let plane = Plane {
            height: self.height,
            width: self.width,
            kernel,
        };
        let weight = host_values(&self.weight);
        let bias = host_values(&self.bias);
        Some(Box::new(HostConv::new([c_in, c_out], plane, &weight, bias)))
    }
}
