//! Convolutions with any window, as products with the values under the window at each of its places.
//!
//! These values are not copied: tap `t` at place `p` reads `input[from[p] + taps[t]]`, and the offsets hold stride,
//! dilation and kernel.

// The loops walk several register arrays in step; the index says which register.
#![allow(clippy::needless_range_loop)]

use crate::per_sample::Lanes8;

use super::product::{OUTPUTS, Weights};
use super::{RUN, Register, Span, SpanKernel, dispatch_spans};

/// Computes `output[to[p] + o step] = bias[o] + sum_t weights[t, o] input[from[p] + taps[t]]` for one block.
pub(crate) struct GatherProduct<'a> {
    /// `[taps, outputs]`.
    pub weights: &'a Weights,
    /// `[outputs]`, or empty.
    pub bias: &'a [f32],
    pub taps: &'a [u32],
    pub from: &'a [u32],
    /// The place of each value in an output, as many as `from`.
    pub to: &'a [u32],
    /// The distance from one output to the next.
    pub step: usize,
    pub input: &'a [Lanes8],
    pub output: &'a mut [Lanes8],
}

impl GatherProduct<'_> {
    pub(crate) fn apply(self) {
        dispatch_spans(self);
    }

    /// Computes `O` outputs from `first` on, at all places.
    #[inline(always)]
    fn outputs<S: Span, const O: usize>(&mut self, span: S, first: usize, weights: &[[f32; O]]) {
        let mut start = [0.0; O];
        if !self.bias.is_empty() {
            start.copy_from_slice(&self.bias[first..first + O]);
        }
        let mut p = 0;
        while p < self.from.len() {
            let left = self.from.len() - p;
            let at = (p, first);
            // Twelve accumulators of one group of eight lanes, or sixteen of two groups if there are 32 registers.
            p += match left / S::GROUPS {
                4.. if S::GROUPS > 1 || O == 1 => self.tile::<S, O, 4>(span, weights, start, at),
                3.. => self.tile::<S, O, 3>(span, weights, start, at),
                2 => self.tile::<S, O, 2>(span, weights, start, at),
                1 => self.tile::<S, O, 1>(span, weights, start, at),
                _ => self.tile::<S::One, O, 1>(span.one(), weights, start, at),
            };
        }
    }

    /// Computes `O` outputs at `P` registers of places and returns the number of places done.
    #[inline(always)]
    fn tile<S: Span, const O: usize, const P: usize>(
        &mut self,
        span: S,
        weights: &[[f32; O]],
        start: [f32; O],
        (place, first): (usize, usize),
    ) -> usize {
        let pair = |p: usize| [place + p * S::GROUPS, place + (p + 1) * S::GROUPS - 1];
        let mut from = [[0; 2]; P];
        for p in 0..P {
            from[p] = pair(p).map(|place| self.from[place] as usize);
        }
        let mut sums = [[span.splat(0.0); P]; O];
        for o in 0..O {
            sums[o] = [span.splat(start[o]); P];
        }
        for (weights, &tap) in weights.iter().zip(self.taps) {
            let mut inputs = [span.splat(0.0); P];
            for p in 0..P {
                inputs[p] = span.load_two(self.input, from[p].map(|from| from + tap as usize));
            }
            for o in 0..O {
                let w = span.splat(weights[o]);
                for p in 0..P {
                    sums[o][p] = w.mul_add(inputs[p], sums[o][p]);
                }
            }
        }
        for p in 0..P {
            let to = pair(p).map(|place| self.to[place] as usize);
            for o in 0..O {
                sums[o][p].store_two(self.output, to.map(|to| to + (first + o) * self.step));
            }
        }
        P * S::GROUPS
    }
}

impl SpanKernel for GatherProduct<'_> {
    #[inline(always)]
    fn run<S: Span>(mut self, span: S) {
        let weights = self.weights;
        let full = weights.outputs - weights.outputs % OUTPUTS;
        let (grouped, single) = weights.values.split_at(full * weights.inputs);
        for first in (0..full).step_by(OUTPUTS) {
            let values = &grouped[first * weights.inputs..][..OUTPUTS * weights.inputs];
            self.outputs::<S, OUTPUTS>(span, first, values.as_chunks::<OUTPUTS>().0);
        }
        for o in full..weights.outputs {
            let values = &single[(o - full) * weights.inputs..][..weights.inputs];
            self.outputs::<S, 1>(span, o, values.as_chunks::<1>().0);
        }
    }
}

/// Adds `sum_p delta[o, p] input[from[p] + taps[t]]` to `rows [o, t]` for one block.
pub(crate) struct GatherRows<'a> {
    pub taps: &'a [u32],
    pub from: &'a [u32],
    pub input: &'a [Lanes8],
    /// `[outputs, places]`.
    pub delta: &'a [Lanes8],
    /// `[outputs, taps]`.
    pub rows: &'a mut [Lanes8],
}

impl GatherRows<'_> {
    pub(crate) fn apply(self) {
        dispatch_spans(self);
    }

    /// Computes `O` rows from `first` on, at all taps.
    #[inline(always)]
    fn outputs<S: Span, const O: usize>(&mut self, span: S, first: usize) {
        let mut t = 0;
        while t < self.taps.len() {
            let at = (first, t);
            t += match (self.taps.len() - t) / S::GROUPS {
                4.. if S::GROUPS > 1 || O == 1 => self.tile::<S, O, 4>(span, at),
                3.. => self.tile::<S, O, 3>(span, at),
                2 => self.tile::<S, O, 2>(span, at),
                1 => self.tile::<S, O, 1>(span, at),
                _ => self.tile::<S::One, O, 1>(span.one(), at),
            };
        }
    }

    /// Computes `O` rows at `T` registers of taps and returns the number of taps done.
    #[inline(always)]
    fn tile<S: Span, const O: usize, const T: usize>(
        &mut self,
        span: S,
        (first, tap): (usize, usize),
    ) -> usize {
        let (places, length) = (self.from.len(), self.taps.len());
        let pair = |t: usize| [tap + t * S::GROUPS, tap + (t + 1) * S::GROUPS - 1];
        let mut taps = [[0; 2]; T];
        for t in 0..T {
            taps[t] = pair(t).map(|tap| self.taps[tap] as usize);
        }
        for start in (0..places).step_by(RUN) {
            let run = start..places.min(start + RUN);
            let mut cotangents = [&self.delta[..0]; O];
            for o in 0..O {
                cotangents[o] = &self.delta[(first + o) * places..][run.clone()];
            }
            let mut sums = [[span.splat(0.0); T]; O];
            for (at, &from) in self.from[run].iter().enumerate() {
                let mut inputs = [span.splat(0.0); T];
                for t in 0..T {
                    inputs[t] = span.load_two(self.input, taps[t].map(|tap| from as usize + tap));
                }
                for o in 0..O {
                    let d = span.splat_group(&cotangents[o][at]);
                    for t in 0..T {
                        sums[o][t] = d.mul_add(inputs[t], sums[o][t]);
                    }
                }
            }
            for o in 0..O {
                for t in 0..T {
                    let at = pair(t).map(|tap| (first + o) * length + tap);
                    let so_far = span.load_two(self.rows, at);
                    let total = span.splat(1.0).mul_add(sums[o][t], so_far);
                    total.store_two(self.rows, at);
                }
            }
        }
        T * S::GROUPS
    }
}

impl SpanKernel for GatherRows<'_> {
    #[inline(always)]
    fn run<S: Span>(mut self, span: S) {
        let outputs = self.rows.len() / self.taps.len().max(1);
        let full = outputs - outputs % OUTPUTS;
        for first in (0..full).step_by(OUTPUTS) {
            self.outputs::<S, OUTPUTS>(span, first);
        }
        for o in full..outputs {
            self.outputs::<S, 1>(span, o);
        }
    }
}
