//! Halving and doubling images: 2x2 average pooling and nearest-neighbour upsampling.
//!
//! Both are linear, and each is four times (a quarter of) the other's adjoint.

use burn::module::Module;
use burn::tensor::Tensor;
use dp_core::per_sample::{HostLayer, Layer, ParameterSlot};

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

fn host_block_sums(x: &[f32], y: &mut [f32], height: usize, width: usize, scale: f32) {
    let (h, w) = (height / 2, width / 2);
    for (plane, out) in x
        .chunks_exact(height * width)
        .zip(y.chunks_exact_mut(h * w))
    {
        for (pair, line) in plane.chunks_exact(2 * width).zip(out.chunks_exact_mut(w)) {
            let (top, bottom) = pair.split_at(width);
            for ((o, t), b) in line
                .iter_mut()
                .zip(top.chunks_exact(2))
                .zip(bottom.chunks_exact(2))
            {
                *o = scale * ((t[0] + t[1]) + (b[0] + b[1]));
            }
        }
    }
}

fn host_repeat_blocks(x: &[f32], y: &mut [f32], width: usize, scale: f32) {
    for (line, pair) in x.chunks_exact(width).zip(y.chunks_exact_mut(4 * width)) {
        let (top, bottom) = pair.split_at_mut(2 * width);
        for (v, block) in line.iter().zip(top.chunks_exact_mut(2)) {
            block.fill(scale * v);
        }
        bottom.copy_from_slice(top);
    }
}

macro_rules! linear_layer {
    ($layer:ident, $host:ident, $name:literal, $outputs:expr, $forward:expr, $backward:expr,
     $host_forward:expr, $host_backward:expr) => {
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

        struct $host {
            channels: usize,
            height: usize,
            width: usize,
        }

        impl HostLayer for $host {
            fn inputs(&self) -> usize {
                self.channels * self.height * self.width
            }

            fn outputs(&self) -> usize {
                $outputs(self.inputs())
            }

            fn parameters(&self) -> usize {
                0
            }

            fn forward(&self, _n: usize, input: &[f32], output: &mut [f32]) {
                $host_forward(input, output, self.height, self.width)
            }

            fn backward(
                &self,
                _: (usize, usize),
                _input: &[f32],
                _output: &[f32],
                delta: &[f32],
                delta_in: &mut [f32],
            ) {
                $host_backward(delta, delta_in, self.height, self.width)
            }

            fn gram(&self, _: (usize, usize), _: &[f32], _: &[f32], _: &mut [f32]) {}

            fn gradient(&self, _: usize, _: &[f32], _: &[f32], _: &mut [f32]) {}
        }
    };
}

linear_layer!(
    AvgPool,
    HostAvgPool,
    "AvgPool",
    |inputs: usize| inputs / 4,
    |x, c, h, w| block_sums(x, c, h, w) * 0.25,
    |x, c, h: usize, w: usize| repeat_blocks(x, c, h / 2, w / 2) * 0.25,
    |x: &[f32], y: &mut [f32], h, w| host_block_sums(x, y, h, w, 0.25),
    |x: &[f32], y: &mut [f32], _h, w: usize| host_repeat_blocks(x, y, w / 2, 0.25)
);

linear_layer!(
    Upsample,
    HostUpsample,
    "Upsample",
    |inputs: usize| inputs * 4,
    repeat_blocks,
    |x, c, h: usize, w: usize| block_sums(x, c, 2 * h, 2 * w),
    |x: &[f32], y: &mut [f32], _h, w| host_repeat_blocks(x, y, w, 1.0),
    |x: &[f32], y: &mut [f32], h: usize, w: usize| host_block_sums(x, y, 2 * h, 2 * w, 1.0)
);
