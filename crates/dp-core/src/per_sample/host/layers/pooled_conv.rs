//! A convolution, a leaky ReLU and 2x2 average pooling as one layer, for eight records side by side.

use crate::per_sample::{Buffer, HostLayer, LANES, Lanes8, SavedActivations};

use super::planes::block_sums;
use super::{HostConv, add, add_records};
use crate::per_sample::host::kernels::{Correlate, Gram, Plane, Pool, PooledRows, Slopes, Spread};

/// The convolution, and the slope of the leaky ReLU after it.
pub(crate) struct HostConvPool {
    pub conv: HostConv,
    pub slope: f32,
}

impl HostConvPool {
    fn slopes(&self, signs: &[u8]) -> Buffer {
        let mut slopes = Buffer::scratch(signs.len());
        Slopes {
            slope: self.slope,
            signs,
            slopes: &mut slopes,
        }
        .apply();
        slopes
    }

    /// Writes the gradients of the biases to the end of each of `rows [g, parameters]`.
    fn bias_rows(&self, slopes: &[Lanes8], delta: &[Lanes8], rows: &mut [Lanes8]) {
        let (width, weights) = (self.conv.plane.width, self.conv.weights());
        let mut sums = Buffer::scratch(slopes.len() / 4);
        block_sums(slopes, &mut sums, width, 1.0);
        let quarter = self.conv.plane.pixels() / 4;
        for (delta, row) in delta
            .chunks_exact(self.outputs())
            .zip(rows.chunks_exact_mut(self.row_length()))
        {
            for ((b, delta), sums) in row[weights..]
                .iter_mut()
                .zip(delta.chunks_exact(quarter))
                .zip(sums.chunks_exact(quarter))
            {
                let lines = delta
                    .chunks_exact(width / 2)
                    .zip(sums.chunks_exact(width / 2));
                let mut total = Lanes8::default();
                for (delta, sums) in lines {
                    let mut part = Lanes8::default();
                    for (d, s) in delta.iter().zip(sums) {
                        for lane in 0..LANES {
                            part.0[lane] += d.0[lane] * s.0[lane];
                        }
                    }
                    add(&mut total, &part);
                }
                *b = total;
            }
        }
    }
}

impl HostLayer for HostConvPool {
    fn inputs(&self) -> usize {
        self.conv.inputs()
    }

    fn outputs(&self) -> usize {
        self.conv.outputs() / 4
    }

    fn parameters(&self) -> usize {
        self.conv.parameters()
    }

    fn signs(&self) -> usize {
        self.conv.outputs()
    }

    fn forward(&self, input: &[Lanes8], signs: &mut [u8], output: &mut [Lanes8]) {
        let mut convolved = Buffer::scratch(self.conv.outputs());
        for ((x, signs), output) in input
            .chunks_exact(self.inputs())
            .zip(signs.chunks_exact_mut(self.signs()))
            .zip(output.chunks_exact_mut(self.outputs()))
        {
            self.conv.forward(x, &mut [], &mut convolved);
            Pool {
                plane: self.conv.plane,
                slope: self.slope,
                input: &convolved,
                signs,
                output,
            }
            .apply();
        }
    }

    fn backward(&self, g: usize, saved: &SavedActivations, delta: &[Lanes8], below: &mut [Lanes8]) {
        let plane = self.conv.plane;
        let mut padded = Buffer::zeros(self.conv.c_out * plane.padded());
        for ((signs, delta), below) in saved
            .signs
            .chunks_exact(self.signs())
            .zip(delta.chunks_exact(g * self.outputs()))
            .zip(below.chunks_exact_mut(g * self.inputs()))
        {
            let slopes = self.slopes(signs);
            for (delta, output) in delta
                .chunks_exact(self.outputs())
                .zip(below.chunks_exact_mut(self.inputs()))
            {
                Spread {
                    plane,
                    slopes: &slopes,
                    delta,
                    target: &mut padded,
                }
                .apply();
                Correlate {
                    plane,
                    padded: &padded,
                    taps: &self.conv.turned,
                    bias: &[],
                    output,
                }
                .apply();
            }
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
        let plane = self.conv.plane;
        let mut padded = Buffer::zeros(self.conv.c_in * plane.padded());
        for ((((x, signs), delta), rows), gram) in saved
            .input
            .chunks_exact(self.inputs())
            .zip(saved.signs.chunks_exact(self.signs()))
            .zip(delta.chunks_exact(g * self.outputs()))
            .zip(rows.chunks_exact_mut(g * self.row_length()))
            .zip(gram.chunks_exact_mut(g * g))
        {
            let slopes = self.slopes(signs);
            plane.pad(x, &mut padded);
            PooledRows {
                plane,
                padded: &padded,
                slopes: &slopes,
                delta,
                stride: self.row_length(),
                rows,
            }
            .apply();
            self.bias_rows(&slopes, delta, rows);
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
        // The same plane without borders.
        let flat = Plane {
            kernel: 1,
            ..self.conv.plane
        };
        let mut spread = Buffer::scratch(self.conv.outputs());
        let mut padded = Buffer::zeros(self.conv.c_in * self.conv.plane.padded());
        let mut row = Buffer::zeros(self.parameters());
        for ((x, signs), delta) in saved
            .input
            .chunks_exact(self.inputs())
            .zip(saved.signs.chunks_exact(self.signs()))
            .zip(delta.chunks_exact(self.outputs()))
        {
            Spread {
                plane: flat,
                slopes: &self.slopes(signs),
                delta,
                target: &mut spread,
            }
            .apply();
            self.conv.plane.pad(x, &mut padded);
            self.conv.add_row(&padded, &spread, &mut row);
            add_records(&mut row, gradient);
        }
    }
}
