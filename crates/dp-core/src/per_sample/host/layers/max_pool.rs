//! The max pool, for eight records side by side.

use crate::per_sample::host::kernels::{Largest, ToLargest};
use crate::per_sample::{Buffer, HostLayer, LANES, Lanes8, SavedActivations};

/// A max pool over planes with `-inf` around them.
pub(crate) struct HostMaxPool {
    channels: usize,
    /// Height and width of a plane, without and with its border.
    size: [usize; 2],
    whole: [usize; 2],
    before: [usize; 2],
    taps: Vec<u32>,
    from: Vec<u32>,
}

impl HostMaxPool {
    /// - `places`: the number of places of the window, down and across;
    /// - `before`: the width of the border above and to the left of a plane.
    pub(crate) fn new(
        channels: usize,
        size: [usize; 2],
        places: [usize; 2],
        kernel: [usize; 2],
        [stride, dilation]: [[usize; 2]; 2],
        before: [usize; 2],
    ) -> Self {
        let whole = [0, 1].map(|axis| {
            let covered =
                (places[axis] - 1) * stride[axis] + (kernel[axis] - 1) * dilation[axis] + 1;
            covered.max(before[axis] + size[axis])
        });
        let grid = |[down, across]: [usize; 2], step: [usize; 2]| -> Vec<u32> {
            let at = |i: usize| i / across * step[0] * whole[1] + i % across * step[1];
            (0..down * across).map(|i| at(i) as u32).collect()
        };
        Self {
            channels,
            size,
            whole,
            before,
            taps: grid(kernel, dilation),
            from: grid(places, stride),
        }
    }

    fn plane(&self) -> usize {
        self.whole[0] * self.whole[1]
    }

    fn bare(&self) -> bool {
        self.size == self.whole
    }

    /// The ranges of a plane's lines inside of its border.
    fn lines(&self) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
        let (size, width, before) = (self.size, self.whole[1], self.before);
        (0..size[0]).map(move |y| {
            let start = (y + before[0]) * width + before[1];
            start..start + size[1]
        })
    }

    fn around<'a>(&self, planes: &'a [Lanes8], scratch: &'a mut Buffer) -> &'a [Lanes8] {
        if self.bare() {
            return planes;
        }
        if scratch.is_empty() {
            *scratch = Buffer::scratch(self.channels * self.plane());
            scratch.fill(Lanes8([f32::NEG_INFINITY; LANES]));
        }
        let mut values = planes.chunks_exact(self.size[1]);
        for plane in scratch.chunks_exact_mut(self.plane()) {
            for (line, values) in self.lines().zip(&mut values) {
                plane[line].copy_from_slice(values);
            }
        }
        scratch
    }
}

impl HostLayer for HostMaxPool {
    fn inputs(&self) -> usize {
        self.channels * self.size[0] * self.size[1]
    }

    fn outputs(&self) -> usize {
        self.channels * self.from.len()
    }

    fn forward(&self, input: &[Lanes8], _signs: &mut [u8], output: &mut [Lanes8]) {
        let mut scratch = Buffer::default();
        for (x, output) in input
            .chunks_exact(self.inputs())
            .zip(output.chunks_exact_mut(self.outputs()))
        {
            Largest {
                taps: &self.taps,
                from: &self.from,
                input: self.around(x, &mut scratch),
                plane: self.plane(),
                output,
            }
            .apply();
        }
    }

    fn backward(&self, g: usize, saved: &SavedActivations, delta: &[Lanes8], below: &mut [Lanes8]) {
        let (inputs, outputs) = (self.inputs(), self.outputs());
        let mut scratch = Buffer::default();
        let whole = self.channels * self.plane();
        let mut sums = Buffer::scratch(if self.bare() { 0 } else { g * whole });
        let blocks = saved
            .input
            .chunks_exact(inputs)
            .zip(saved.output.chunks_exact(outputs))
            .zip(delta.chunks_exact(g * outputs))
            .zip(below.chunks_exact_mut(g * inputs));
        for (((input, output), delta), below) in blocks {
            let target = if self.bare() { &mut *below } else { &mut *sums };
            target.fill(Lanes8::default());
            ToLargest {
                taps: &self.taps,
                from: &self.from,
                input: self.around(input, &mut scratch),
                plane: self.plane(),
                output,
                delta,
                below: target,
            }
            .apply();
            if !self.bare() {
                let mut lines = below.chunks_exact_mut(self.size[1]);
                for plane in sums.chunks_exact(self.plane()) {
                    for (line, target) in self.lines().zip(&mut lines) {
                        target.copy_from_slice(&plane[line]);
                    }
                }
            }
        }
    }

    without_parameters!();
}
