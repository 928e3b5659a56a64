//! The convolution on octets.

use dp_core::per_sample::{HostLayer, LANES, Octet, Seen};

use super::kernels::{Correlate, Gram, Plane, Taps, WeightRows};

pub struct HostConv {
    c_in: usize,
    c_out: usize,
    plane: Plane,
    taps: Taps,
    /// The kernels of the adjoint: `[c_in, c_out, K, K]`, turned by 180 degrees.
    turned: Taps,
    bias: Vec<f32>,
}

impl HostConv {
    /// Kernel sizes that the kernels are compiled for.
    pub const SIZES: [usize; 3] = [1, 3, 5];

    /// `weight` is `[c_out, c_in, K, K]`.
    pub fn new([c_in, c_out]: [usize; 2], plane: Plane, weight: &[f32], bias: Vec<f32>) -> Self {
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

    fn weights(&self) -> usize {
        self.parameters() - self.c_out
    }

    /// Adds the weight gradients for `delta [g, d_out]` of one block to `rows [g, weights]`.
    fn add_rows(&self, padded: &[Octet], delta: &[Octet], rows: &mut [Octet]) {
        WeightRows {
            plane: self.plane,
            padded,
            delta,
            rows,
        }
        .apply();
    }
}

/// The sum of a plane.
fn sum(plane: &[Octet], width: usize) -> Octet {
    let mut total = Octet::default();
    for line in plane.chunks_exact(width) {
        let mut part = Octet::default();
        for octet in line {
            for lane in 0..LANES {
                part.0[lane] += octet.0[lane];
            }
        }
        for lane in 0..LANES {
            total.0[lane] += part.0[lane];
        }
    }
    total
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

    fn forward(&self, input: &[Octet], _kept: &mut [Octet], output: &mut [Octet]) {
        let mut padded = vec![Octet::default(); self.c_in * self.plane.padded()];
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

    fn backward(&self, _g: usize, _seen: &Seen, delta: &[Octet], below: &mut [Octet]) {
        let mut padded = vec![Octet::default(); self.c_out * self.plane.padded()];
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

    fn gram(&self, g: usize, seen: &Seen, delta: &[Octet], rows: &mut [Octet], gram: &mut [Octet]) {
        let (outputs, weights) = (self.outputs(), self.weights());
        let mut padded = vec![Octet::default(); self.c_in * self.plane.padded()];
        for (((x, delta), rows), gram) in seen
            .input
            .chunks_exact(self.inputs())
            .zip(delta.chunks_exact(g * outputs))
            .zip(rows.chunks_exact_mut(g * self.row_length()))
            .zip(gram.chunks_exact_mut(g * g))
        {
            self.plane.pad(x, &mut padded);
            for (delta, row) in delta
                .chunks_exact(outputs)
                .zip(rows.chunks_exact_mut(self.row_length()))
            {
                let (weight, bias) = row.split_at_mut(weights);
                self.add_rows(&padded, delta, weight);
                for (b, plane) in bias.iter_mut().zip(delta.chunks_exact(self.plane.pixels())) {
                    *b = sum(plane, self.plane.width);
                }
            }
            Gram {
                g,
                rows,
                scale: Octet([1.0; LANES]),
                gram,
            }
            .apply();
        }
    }

    fn gradient(&self, seen: &Seen, delta: &[Octet], gradient: &mut [f32]) {
        let mut padded = vec![Octet::default(); self.c_in * self.plane.padded()];
        let mut rows = vec![Octet::default(); self.parameters()];
        let (weight, bias) = rows.split_at_mut(self.weights());
        for (x, delta) in seen
            .input
            .chunks_exact(self.inputs())
            .zip(delta.chunks_exact(self.outputs()))
        {
            self.plane.pad(x, &mut padded);
            self.add_rows(&padded, delta, weight);
            for (b, plane) in bias.iter_mut().zip(delta.chunks_exact(self.plane.pixels())) {
                let sum = sum(plane, self.plane.width);
                for lane in 0..LANES {
                    b.0[lane] += sum.0[lane];
                }
            }
        }
        for (total, sum) in gradient.iter_mut().zip(&rows) {
            *total += sum.0.iter().sum::<f32>();
        }
    }
}
