//! The convolution that keeps the size of an image, for eight records side by side.

use crate::per_sample::{Buffer, HostLayer, LANES, Lanes8, SavedActivations};

use crate::per_sample::host::kernels::{Correlate, Gram, Plane, Taps, WeightRows};

use super::{add, add_records};

pub(crate) struct HostConv {
    pub(super) c_in: usize,
    pub(super) c_out: usize,
    pub(super) plane: Plane,
    taps: Taps,
    /// The kernels of the adjoint: `[c_in, c_out, K, K]`, turned by 180 degrees.
    pub(super) turned: Taps,
    bias: Vec<f32>,
}

impl HostConv {
    /// The window sizes that the kernels are compiled for.
    pub(crate) const SIZES: [usize; 3] = [1, 3, 5];

    /// `weight` is `[c_out, c_in, K, K]`.
    pub(crate) fn new(
        [c_in, c_out]: [usize; 2],
        plane: Plane,
        weight: &[f32],
        bias: Vec<f32>,
    ) -> Self {
        let taps = plane.kernel * plane.kernel;
        let mut turned = vec![0.0; weight.len()];
        for co in 0..c_out {
            for ci in 0..c_in {
                for tap in 0..taps {
                    turned[(ci * c_out + co) * taps + (taps - 1 - tap)] =
                        weight[(co * c_in + ci) * taps + tap];
                }
            }
        }
        Self {
            c_in,
            c_out,
            plane,
            taps: Taps::new(weight, c_out),
            turned: Taps::new(&turned, c_in),
            bias,
        }
    }

    /// The number of scalars in the kernels.
    pub(super) fn weights(&self) -> usize {
        self.parameters() - self.c_out
    }

    /// Adds the gradient for `delta [d_out]` of one block to `row [parameters]`.
    pub(super) fn add_row(&self, padded: &[Lanes8], delta: &[Lanes8], row: &mut [Lanes8]) {
        let (weight, bias) = row.split_at_mut(self.weights());
        WeightRows {
            plane: self.plane,
            padded,
            delta,
            rows: weight,
        }
        .apply();
        for (b, plane) in bias.iter_mut().zip(delta.chunks_exact(self.plane.pixels())) {
            for line in plane.chunks_exact(self.plane.width) {
                let mut part = Lanes8::default();
                for group in line {
                    add(&mut part, group);
                }
                add(b, &part);
            }
        }
    }
}

impl HostLayer for HostConv {
    fn inputs(&self) -> usize {
        self.c_in * self.plane.pixels()
    }

    fn outputs(&self) -> usize {
        self.c_out * self.plane.pixels()
    }

    fn parameters(&self) -> usize {
        (self.c_in * self.plane.kernel * self.plane.kernel + 1) * self.c_out
    }

    fn forward(&self, input: &[Lanes8], _signs: &mut [u8], output: &mut [Lanes8]) {
        let mut padded = Buffer::zeros(self.c_in * self.plane.padded());
        for (x, output) in input
            .chunks_exact(self.inputs())
            .zip(output.chunks_exact_mut(self.outputs()))
        {
            self.plane.pad(x, &mut padded);
            Correlate {
                plane: self.plane,
                padded: &padded,
                taps: &self.taps,
                bias: &self.bias,
                output,
            }
            .apply();
        }
    }

    fn backward(
        &self,
        _g: usize,
        _seen: &SavedActivations,
        delta: &[Lanes8],
        below: &mut [Lanes8],
    ) {
        let mut padded = Buffer::zeros(self.c_out * self.plane.padded());
        for (d, output) in delta
            .chunks_exact(self.outputs())
            .zip(below.chunks_exact_mut(self.inputs()))
        {
            self.plane.pad(d, &mut padded);
            Correlate {
                plane: self.plane,
                padded: &padded,
                taps: &self.turned,
                bias: &[],
                output,
            }
            .apply();
        }
    }

    fn row_length(&self) -> usize {
        self.parameters()
    }

    fn gram(
        &self,
        g: usize,
        saved: &SavedActivations,
        delta: &[Lanes8],
        rows: &mut [Lanes8],
        gram: &mut [Lanes8],
    ) {
        let outputs = self.outputs();
        let mut padded = Buffer::zeros(self.c_in * self.plane.padded());
        for (((x, delta), rows), gram) in saved
            .input
            .chunks_exact(self.inputs())
            .zip(delta.chunks_exact(g * outputs))
            .zip(rows.chunks_exact_mut(g * self.row_length()))
            .zip(gram.chunks_exact_mut(g * g))
        {
            self.plane.pad(x, &mut padded);
            rows.fill(Lanes8::default());
            for (delta, row) in delta
                .chunks_exact(outputs)
                .zip(rows.chunks_exact_mut(self.row_length()))
            {
                self.add_row(&padded, delta, row);
            }
            Gram {
                g,
                rows,
                scale: Lanes8([1.0; LANES]),
                gram,
            }
            .apply();
        }
    }

    fn gradient(&self, saved: &SavedActivations, delta: &[Lanes8], gradient: &mut [f32]) {
        let mut padded = Buffer::zeros(self.c_in * self.plane.padded());
        let mut rows = Buffer::zeros(self.parameters());
        for (x, delta) in saved
            .input
            .chunks_exact(self.inputs())
            .zip(delta.chunks_exact(self.outputs()))
        {
            self.plane.pad(x, &mut padded);
            self.add_row(&padded, delta, &mut rows);
            add_records(&mut rows, gradient);
        }
    }
}
