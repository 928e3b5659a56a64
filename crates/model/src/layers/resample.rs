//! Halving and doubling images: 2x2 average pooling and nearest-neighbour upsampling.
//!
//! Both are linear, and each is four times (a quarter of) the other's adjoint.

use burn::module::Module;
use burn::tensor::Tensor;
use dp_core::per_sample::{HostLayer, Layer, ParameterSlot};

use super::host::{HostAvgPool, HostUpsample};

/// The mean over each 2x2 block: `[c, h, w] -> [c, h/2, w/2]`, `h` and `w` even.
#[derive(Module, Debug)]
pub struct AvgPool {
    /// Channels.
    pub channels: usize,
    /// Height at the input.
    pub height: usize,
    /// Width at the input.
    pub width: usize,
}

/// Each pixel repeated in a 2x2 block: `[c, h, w] -> [c, 2h, 2w]`.
#[derive(Module, Debug)]
pub struct Upsample {
    /// Channels.
    pub channels: usize,
    /// Height at the input.
    pub height: usize,
    /// Width at the input.
    pub width: usize,
}

/// The sum over 2x2 blocks, `[m, c, h, w] -> [m, c, h/2, w/2]` in flat rows.
fn block_sums(x: Tensor<2>, channels: usize, height: usize, width: usize) -> Tensor<2> {
    let [rows, _] = x.dims();
    let planes = rows * channels;
    x.reshape([planes * height / 2, 2, width / 2, 2])
        .sum_dim(3)
        .sum_dim(1)
        .reshape([rows, channels * height * width / 4])
}

/// Each value in a 2x2 block, `[m, c, h, w] -> [m, c, 2h, 2w]` in flat rows.
fn repeat_blocks(x: Tensor<2>, channels: usize, height: usize, width: usize) -> Tensor<2> {
    let [rows, _] = x.dims();
    let lines = rows * channels * height;
    x.reshape([lines, 1, width, 1])
        .expand([lines, 2, width, 2])
        .reshape([rows, channels * height * width * 4])
}

macro_rules! linear_layer {
    ($layer:ident, $host:ident, $name:literal, $forward:expr, $backward:expr) => {
        impl $layer {
            /// A layer for images of `channels x height x width`.
            pub fn new(channels: usize, height: usize, width: usize) -> Self {
                Self {
                    channels,
                    height,
                    width,
                }
            }
        }

        impl Layer for $layer {
            fn name(&self) -> &'static str {
                $name
            }

            fn parameters(&self) -> Vec<ParameterSlot> {
                Vec::new()
            }

            fn forward(&self, input: Tensor<2>) -> Tensor<2> {
                $forward(input, self.channels, self.height, self.width)
            }

            fn backward(
                &self,
                input: &Tensor<2>,
                output: &Tensor<2>,
                delta: Tensor<3>,
            ) -> Tensor<3> {
                let [n, g, _] = delta.dims();
                let (inputs, outputs) = (input.dims()[1], output.dims()[1]);
                let flat = delta.reshape([n * g, outputs]);
                $backward(flat, self.channels, self.height, self.width).reshape([n, g, inputs])
            }

            fn gram(&self, _input: &Tensor<2>, _delta: &Tensor<3>) -> Option<Tensor<3>> {
                None
            }

            fn gradient(&self, _input: &Tensor<2>, _delta: Tensor<2>) -> Vec<Tensor<1>> {
                Vec::new()
            }

            fn host(&self) -> Option<Box<dyn HostLayer>> {
                Some(Box::new($host {
                    channels: self.channels,
                    height: self.height,
                    width: self.width,
                }))
            }
        }
    };
}

linear_layer!(
    AvgPool,
    HostAvgPool,
    "AvgPool",
    |x, c, h, w| block_sums(x, c, h, w) * 0.25,
    |x, c, h: usize, w: usize| repeat_blocks(x, c, h / 2, w / 2) * 0.25
);

linear_layer!(
    Upsample,
    HostUpsample,
    "Upsample",
    repeat_blocks,
    |x, c, h: usize, w: usize| block_sums(x, c, 2 * h, 2 * w)
);
