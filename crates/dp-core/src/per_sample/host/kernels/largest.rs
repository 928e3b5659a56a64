//! The largest value of each window.

use crate::per_sample::Lanes8;

use super::{Eight, Kernel, Lanes, dispatch};

/// Computes `output[c, p] = max_t input[c, from[p] + taps[t]]` for one block.
pub(crate) struct Largest<'a> {
    pub taps: &'a [u32],
    pub from: &'a [u32],
    /// `[c, plane]`.
    pub input: &'a [Lanes8],
    pub plane: usize,
    /// `[c, places]`, overwritten.
    pub output: &'a mut [Lanes8],
}

impl Largest<'_> {
    pub(crate) fn apply(self) {
        dispatch(self);
    }
}

impl Kernel for Largest<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let planes = self.input.chunks_exact(self.plane);
        for (input, output) in planes.zip(self.output.chunks_exact_mut(self.from.len())) {
            for (&from, largest) in self.from.iter().zip(output) {
                let value = |tap: u32| lanes.load(&input[(from + tap) as usize]);
                let (first, others) = self.taps.split_first().expect("a window has a tap");
                let all = others.iter().map(|&tap| value(tap));
                all.fold(value(*first), Eight::max).store(largest);
            }
        }
    }
}

/// Adds `delta[r, c, p]` to `below[r, c, from[p] + taps[t]]` for one block, where `t` is the first tap with the
/// largest value of its window.
pub(crate) struct ToLargest<'a> {
    pub taps: &'a [u32],
    pub from: &'a [u32],
    /// `[c, plane]`.
    pub input: &'a [Lanes8],
    pub plane: usize,
    /// `[c, places]`, the output of [`Largest`].
    pub output: &'a [Lanes8],
    /// `[g, c, places]`.
    pub delta: &'a [Lanes8],
    /// `[g, c, plane]`.
    pub below: &'a mut [Lanes8],
}

impl ToLargest<'_> {
    pub(crate) fn apply(self) {
        dispatch(self);
    }
}

impl Kernel for ToLargest<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let places = self.from.len();
        let rows = self.delta.len() / self.output.len().max(1);
        for (c, input) in self.input.chunks_exact(self.plane).enumerate() {
            for (p, &from) in self.from.iter().enumerate() {
                let largest = lanes.load(&self.output[c * places + p]);
                let mut open = u8::MAX;
                for &tap in self.taps {
                    let at = (from + tap) as usize;
                    let here = lanes.load(&input[at]).equal(largest) & open;
                    open &= !here;
                    if here == 0 {
                        continue;
                    }
                    for r in 0..rows {
                        let delta = lanes.load(&self.delta[r * self.output.len() + c * places + p]);
                        let target = &mut self.below[r * self.input.len() + c * self.plane + at];
                        let sum = lanes.load(target).add(delta.select(lanes.zero(), here));
                        sum.store(target);
                    }
                }
            }
        }
    }
}
