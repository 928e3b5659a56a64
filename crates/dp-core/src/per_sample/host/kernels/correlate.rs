//! Convolution forward, and backward with kernels turned by 180 degrees.

// The loops walk several register arrays in step; the index says which register.
#![allow(clippy::needless_range_loop)]

use crate::per_sample::Lanes8;

use super::{Plane, Register, Span, SpanKernel, dispatch_spans};

/// The number of output planes that share one pass over the input.
const PLANES: usize = 4;

/// Kernels `[c_out, c_in, K, K]` in the order in which [`Correlate`] reads them.
pub(crate) struct Taps {
    /// `[c_out / 4, c_in, K, K, 4]`, then `[c_out % 4, c_in, K, K]`.
    values: Vec<f32>,
    planes: usize,
    per_plane: usize,
}

impl Taps {
    /// Packs `weight`, which holds `planes` kernels of equal length.
    pub(crate) fn new(weight: &[f32], planes: usize) -> Self {
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

/// Computes `output[o] = bias[o] + sum_c taps[o, c] * input[c]` (correlation, same size) for one block.
pub(crate) struct Correlate<'a> {
    pub plane: Plane,
    /// Zero-bordered planes `[c_in, padded]`.
    pub padded: &'a [Lanes8],
    pub taps: &'a Taps,
    /// `[c_out]`, or empty.
    pub bias: &'a [f32],
    /// `[c_out, h, w]`, overwritten.
    pub output: &'a mut [Lanes8],
}

impl Correlate<'_> {
    pub(crate) fn apply(self) {
        dispatch_spans(self);
    }

    #[inline(always)]
    fn planes<S: Span, const K: usize>(self, span: S) {
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
            group::<S, K, PLANES>(span, &self.plane, self.padded, taps, start, output);
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
            group::<S, K, 1>(span, &self.plane, self.padded, taps, start, output);
        }
    }
}

impl SpanKernel for Correlate<'_> {
    #[inline(always)]
    fn run<S: Span>(self, span: S) {
        match self.plane.kernel {
            1 => self.planes::<S, 1>(span),
            3 => self.planes::<S, 3>(span),
            _ => self.planes::<S, 5>(span),
        }
    }
}

/// Computes `O` output planes. A tile holds at least eight accumulators if the width allows, so that additions need
/// not wait for one another, and at most as many as stay in registers: twelve, or sixteen if there are 32 registers.
#[inline(always)]
fn group<S: Span, const K: usize, const O: usize>(
    span: S,
    plane: &Plane,
    padded: &[Lanes8],
    taps: &[[f32; O]],
    start: [f32; O],
    output: &mut [Lanes8],
) {
    let width = plane.width;
    for y in 0..plane.height {
        let mut x = 0;
        while x < width {
            // A single pixel at the end is computed together with the one before it, a second time.
            x -= if width - x < S::GROUPS && width > 1 {
                S::GROUPS - 1
            } else {
                0
            };
            let at = (y * width + x, y * plane.stride() + x);
            let left = width - x;
            let tile = Tile {
                plane,
                padded,
                taps,
                start: &start,
                at,
                output: &mut *output,
            };
            let registers = left.div_ceil(S::GROUPS);
            x += if width < S::GROUPS {
                tile.run::<S::One, K, 1>(span.one(), left)
            } else if O == 1 {
                match registers {
                    7.. => tile.run::<S, K, 7>(span, left),
                    4.. if S::GROUPS > 1 => tile.run::<S, K, 4>(span, left),
                    _ => tile.run::<S, K, 1>(span, left),
                }
            } else {
                match registers {
                    4 | 7.. if S::GROUPS > 1 => tile.run::<S, K, 4>(span, left),
                    3 | 5.. => tile.run::<S, K, 3>(span, left),
                    2 | 4 => tile.run::<S, K, 2>(span, left),
                    _ => tile.run::<S, K, 1>(span, left),
                }
            };
        }
    }
}

/// The pixels of `O` output planes from `at.0` on, whose windows start at `at.1`.
struct Tile<'a, const O: usize> {
    plane: &'a Plane,
    padded: &'a [Lanes8],
    taps: &'a [[f32; O]],
    start: &'a [f32; O],
    at: (usize, usize),
    output: &'a mut [Lanes8],
}

impl<const O: usize> Tile<'_, O> {
    /// Computes `P` registers of the `left` pixels of the line and returns the number of pixels done.
    #[inline(always)]
    fn run<S: Span, const K: usize, const P: usize>(self, span: S, left: usize) -> usize {
        if left < P * S::GROUPS {
            self.registers::<S, K, P, 1>(span)
        } else {
            self.registers::<S, K, P, 0>(span)
        }
    }

    /// The last register begins `BACK` pixels early and computes them again.
    #[inline(always)]
    fn registers<S: Span, const K: usize, const P: usize, const BACK: usize>(
        self,
        span: S,
    ) -> usize {
        let pixels = P * S::GROUPS - BACK;
        let x = |p: usize| p * S::GROUPS - if p + 1 == P { BACK } else { 0 };
        let (to, from) = self.at;
        let mut sums = [[span.splat(0.0); P]; O];
        for o in 0..O {
            sums[o] = [span.splat(self.start[o]); P];
        }
        for (channel, taps) in self
            .padded
            .chunks_exact(self.plane.padded())
            .zip(self.taps.chunks_exact(K * K))
        {
            for ky in 0..K {
                let line = &channel[from + ky * self.plane.stride()..][..pixels + K - 1];
                for kx in 0..K {
                    let mut inputs = [span.splat(0.0); P];
                    for p in 0..P {
                        inputs[p] = span.load(&line[x(p) + kx..]);
                    }
                    for o in 0..O {
                        let w = span.splat(taps[ky * K + kx][o]);
                        for p in 0..P {
                            sums[o][p] = w.mul_add(inputs[p], sums[o][p]);
                        }
                    }
                }
            }
        }
        for o in 0..O {
            let line = &mut self.output[o * self.plane.pixels() + to..][..pixels];
            for p in 0..P {
                sums[o][p].store(&mut line[x(p)..]);
            }
        }
        pixels
    }
}
