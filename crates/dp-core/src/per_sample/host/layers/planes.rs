//! Linear maps of planes without parameters, for eight records side by side: average pools and upsampling.

use crate::per_sample::host::kernels::{Sparse, SparseProduct};
use crate::per_sample::{HostLayer, LANES, Lanes8, SavedActivations};

/// The terms of each value along an axis of the output: indices and weights along the input's axis.
pub(crate) type Along = Vec<Vec<(usize, f32)>>;

/// One map for all planes of a record.
pub(crate) struct HostPlanes {
    channels: usize,
    inputs: usize,
    forward: Sparse,
    backward: Sparse,
}

impl HostPlanes {
    /// `out[y, x] = sum_ij down[y, i] across[x, j] in[i, j]` for planes of `size`.
    pub(crate) fn new(channels: usize, size: [usize; 2], [down, across]: &[Along; 2]) -> Self {
        let mut forward = Sparse::default();
        for y in down {
            for x in across {
                let line = |&(i, a): &(usize, f32)| {
                    x.iter()
                        .map(move |&(j, b)| ((i * size[1] + j) as u32, a * b))
                };
                forward.push(y.iter().flat_map(line));
            }
        }
        let inputs = size[0] * size[1];
        Self {
            channels,
            inputs,
            backward: forward.transposed(inputs),
            forward,
        }
    }
}

impl HostLayer for HostPlanes {
    fn inputs(&self) -> usize {
        self.channels * self.inputs
    }

    fn outputs(&self) -> usize {
        self.channels * self.forward.len()
    }

    fn forward(&self, input: &[Lanes8], _signs: &mut [u8], output: &mut [Lanes8]) {
        SparseProduct {
            matrix: &self.forward,
            input,
            columns: self.inputs,
            output,
        }
        .apply();
    }

    fn backward(
        &self,
        _g: usize,
        _seen: &SavedActivations,
        delta: &[Lanes8],
        below: &mut [Lanes8],
    ) {
        SparseProduct {
            matrix: &self.backward,
            input: delta,
            columns: self.forward.len(),
            output: below,
        }
        .apply();
    }

    without_parameters!();
}

/// Writes `scale` times the sums over 2x2 blocks of planes of `width`.
pub(super) fn block_sums(x: &[Lanes8], y: &mut [Lanes8], width: usize, scale: f32) {
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
