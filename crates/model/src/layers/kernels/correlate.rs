//! Convolution forward, and backward with turned kernels.

// The loops walk several register arrays in step; the index says which register.
#![allow(clippy::needless_range_loop)]

use dp_core::per_sample::Octet;

use super::{Kernel, Lanes, Plane, dispatch};

/// Output planes that share one pass over the input.
const PLANES: usize = 4;

/// Kernels `[c_out, c_in, K, K]` in the order in which [`Correlate`] reads them.
pub struct Taps {
    /// `[c_out / 4, c_in, K, K, 4]`, then `[c_out % 4, c_in, K, K]`.
    values: Vec<f32>,
    planes: usize,
    per_plane: usize,
}

impl Taps {
    /// Packs `weight`, `planes` kernels of equal length.
    pub fn new(weight: &[f32], planes: usize) -> Self {
        let per_plane = weight.len() / planes.max(1);
        let full = planes - planes % PLANES;
        let mut values = Vec::with_capacity(weight.len());
        for group in (0..full).step_by(PLANES) {
            for tap in 0..per_plane {
                for o in group..group + PLANES {
                    values.push(weight[o * per_plane + tap]);
                }
            }
        }
        values.extend_from_slice(&weight[full * per_plane..]);
        Self {
            values,
            planes,
            per_plane,
        }
    }
}

/// `output[o] = bias[o] + sum_c taps[o, c] * input[c]` (correlation, same size), one block.
pub struct Correlate<'a> {
    pub plane: Plane,
    /// Zero-bordered planes `[c_in, padded]`.
    pub padded: &'a [Octet],
    pub taps: &'a Taps,
    /// `[c_out]`, or empty.
    pub bias: &'a [f32],
    /// `[c_out, h, w]`, overwritten.
    pub output: &'a mut [Octet],
}

impl Correlate<'_> {
    pub fn apply(self) {
        dispatch(self);
    }

    #[inline(always)]
    fn planes<L: Lanes, const K: usize>(self) {
        let pixels = self.plane.pixels();
        let full = self.taps.planes - self.taps.planes % PLANES;
        let (grouped, single) = self.taps.values.split_at(full * self.taps.per_plane);
        let mut start = [0.0; PLANES];
        for (index, values) in grouped
            .chunks_exact(PLANES * self.taps.per_plane)
            .enumerate()
        {
            let first = index * PLANES;
            if !self.bias.is_empty() {
                start.copy_from_slice(&self.bias[first..first + PLANES]);
            }
            let output = &mut self.output[first * pixels..(first + PLANES) * pixels];
            let (taps, _) = values.as_chunks::<PLANES>();
            group::<L, K, PLANES>(&self.plane, self.padded, taps, start, output);
        }
        for (index, values) in single.chunks_exact(self.taps.per_plane).enumerate() {
            let o = full + index;
            let start = [if self.bias.is_empty() {
                0.0
            } else {
                self.bias[o]
            }];
            let output = &mut self.output[o * pixels..(o + 1) * pixels];
            let (taps, _) = values.as_chunks::<1>();
            group::<L, K, 1>(&self.plane, self.padded, taps, start, output);
        }
    }
}

impl Kernel for Correlate<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        match self.plane.kernel {
            1 => self.planes::<L, 1>(),
            3 => self.planes::<L, 3>(),
            _ => self.planes::<L, 5>(),
        }
    }
}

/// `O` output planes. A tile holds at least eight accumulators where the width allows, so that
/// additions need not wait for one another, and at most twelve, so that they stay in registers.
#[inline(always)]
fn group<L: Lanes, const K: usize, const O: usize>(
    plane: &Plane,
    padded: &[Octet],
    taps: &[[f32; O]],
    start: [f32; O],
    output: &mut [Octet],
) {
    let width = plane.width;
    for y in 0..plane.height {
        let mut x = 0;
        while x < width {
            let at = (y * width + x, y * plane.stride() + x);
            let left = width - x;
            x += if O == 1 {
                if left >= 7 {
                    tile::<L, K, O, 7>(plane, padded, taps, &start, at, output)
                } else {
                    tile::<L, K, O, 1>(plane, padded, taps, &start, at, output)
                }
            } else if left == 3 || left > 4 {
                tile::<L, K, O, 3>(plane, padded, taps, &start, at, output)
            } else if left >= 2 {
                tile::<L, K, O, 2>(plane, padded, taps, &start, at, output)
            } else {
                tile::<L, K, O, 1>(plane, padded, taps, &start, at, output)
            };
        }
    }
}

/// `P` pixels of `O` planes; answers `P`.
#[inline(always)]
fn tile<L: Lanes, const K: usize, const O: usize, const P: usize>(
    plane: &Plane,
    padded: &[Octet],
    taps: &[[f32; O]],
    start: &[f32; O],
    (to, from): (usize, usize),
    output: &mut [Octet],
) -> usize {
    let mut sums = [[L::zero(); P]; O];
    for o in 0..O {
        sums[o] = [L::splat(start[o]); P];
    }
    for (channel, taps) in padded
        .chunks_exact(plane.padded())
        .zip(taps.chunks_exact(K * K))
    {
        for ky in 0..K {
            let line = &channel[from + ky * plane.stride()..][..P + K - 1];
            for kx in 0..K {
                let mut x = [L::zero(); P];
                for p in 0..P {
                    x[p] = L::load(&line[p + kx]);
                }
                for o in 0..O {
                    let w = L::splat(taps[ky * K + kx][o]);
                    for p in 0..P {
                        sums[o][p] = w.mul_add(x[p], sums[o][p]);
                    }
                }
            }
        }
    }
    for o in 0..O {
        let line = &mut output[o * plane.pixels() + to..][..P];
        for p in 0..P {
            sums[o][p].store(&mut line[p]);
        }
    }
    P
}
