//! Pooling and upsampling on octets.

use dp_core::per_sample::{HostLayer, LANES, Octet, Seen};

/// `scale` times the sum over 2x2 blocks of planes of `width`.
fn block_sums(x: &[Octet], y: &mut [Octet], width: usize, scale: f32) {
    for (pair, line) in x.chunks_exact(2 * width).zip(y.chunks_exact_mut(width / 2)) {
        let (top, bottom) = pair.split_at(width);
        for ((out, t), b) in line
            .iter_mut()
            .zip(top.chunks_exact(2))
            .zip(bottom.chunks_exact(2))
        {
            for lane in 0..LANES {
                let sum = (t[0].0[lane] + t[1].0[lane]) + (b[0].0[lane] + b[1].0[lane]);
                out.0[lane] = scale * sum;
            }
        }
    }
}

/// `scale` times each value of planes of `width`, in 2x2 blocks.
fn repeat_blocks(x: &[Octet], y: &mut [Octet], width: usize, scale: f32) {
    for (line, pair) in x.chunks_exact(width).zip(y.chunks_exact_mut(4 * width)) {
        let (top, bottom) = pair.split_at_mut(2 * width);
        for (value, block) in line.iter().zip(top.chunks_exact_mut(2)) {
            block.fill(Octet(value.0.map(|v| scale * v)));
        }
        bottom.copy_from_slice(top);
    }
}

/// 2x2 average pooling of planes `height x width`.
pub struct HostAvgPool {
    pub channels: usize,
    pub height: usize,
    pub width: usize,
}

/// Nearest-neighbour upsampling of planes `height x width`.
pub struct HostUpsample {
    pub channels: usize,
    pub height: usize,
    pub width: usize,
}

impl HostLayer for HostAvgPool {
    fn inputs(&self) -> usize {
        self.channels * self.height * self.width
    }

    fn outputs(&self) -> usize {
        self.inputs() / 4
    }

    fn parameters(&self) -> usize {
        0
    }

    fn forward(&self, input: &[Octet], _kept: &mut [Octet], output: &mut [Octet]) {
        block_sums(input, output, self.width, 0.25);
    }

    fn backward(&self, _g: usize, _seen: &Seen, delta: &[Octet], below: &mut [Octet]) {
        repeat_blocks(delta, below, self.width / 2, 0.25);
    }

    fn gram(&self, _: usize, _: &Seen, _: &[Octet], _: &mut [Octet], _: &mut [Octet]) {}

    fn gradient(&self, _: &Seen, _: &[Octet], _: &mut [f32]) {}
}

impl HostLayer for HostUpsample {
    fn inputs(&self) -> usize {
        self.channels * self.height * self.width
    }

    fn outputs(&self) -> usize {
        self.inputs() * 4
    }

    fn parameters(&self) -> usize {
        0
    }

    fn forward(&self, input: &[Octet], _kept: &mut [Octet], output: &mut [Octet]) {
        repeat_blocks(input, output, self.width, 1.0);
    }

    fn backward(&self, _g: usize, _seen: &Seen, delta: &[Octet], below: &mut [Octet]) {
        block_sums(delta, below, 2 * self.width, 1.0);
    }

    fn gram(&self, _: usize, _: &Seen, _: &[Octet], _: &mut [Octet], _: &mut [Octet]) {}

    fn gradient(&self, _: &Seen, _: &[Octet], _: &mut [f32]) {}
}
