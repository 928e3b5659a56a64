//! Convolutions with stride 2 on octets, as same-size convolutions of rearranged planes.
//!
//! - A 4x4 convolution with stride 2 over `s x s` is a 2x2 one over `s/2 x s/2` with four times the
//!   channels, the four pixels of each 2x2 block; that lies in a corner of a 3x3 one, whose last row
//!   and column of outputs are dropped.
//! - A 2x2 transposed convolution with stride 2 is a 1x1 convolution to four times the channels, which
//!   become the four pixels of each 2x2 block.
//!
//! Both are a [`HostConv`] between index maps, for inputs, outputs and parameters.

use dp_core::per_sample::{Buffer, HostLayer, LANES, Octet, Seen};

use super::HostConv;
use super::conv::add;
use super::kernels::{Combine, Gram, Plane};

/// A same-size convolution between index maps.
pub struct HostRearranged {
    conv: HostConv,
    /// For each input of the convolution, the layer's input.
    inputs: Vec<usize>,
    /// For each output of the convolution, the layer's output, if it has one.
    outputs: Vec<Option<usize>>,
    /// For each parameter of the convolution, the layer's parameter, if it has one.
    parameters: Vec<Option<usize>>,
    /// Lengths of the layer's outputs and parameters.
    output_length: usize,
    parameter_length: usize,
}

impl HostRearranged {
    /// A 4x4 convolution with stride 2 and no padding over planes of `side x side`, `side` even and at
    /// least 4; `parameters` are `[c_out, c_in, 4, 4]`, then `[c_out]`.
    pub fn halving([c_in, c_out]: [usize; 2], side: usize, parameters: &[f32]) -> Self {
        let (half, out) = (side / 2, side / 2 - 1);
        let mut inputs = Vec::with_capacity(c_in * side * side);
        for c in 0..c_in {
            for t in 0..4 {
                for y in 0..half {
                    let row = (c * side + 2 * y + t / 2) * side + t % 2;
                    inputs.extend((0..half).map(|x| row + 2 * x));
                }
            }
        }
        let mut outputs = Vec::with_capacity(c_out * half * half);
        for c in 0..c_out {
            for y in 0..half {
                for x in 0..half {
                    outputs.push((y < out && x < out).then_some((c * out + y) * out + x));
                }
            }
        }
        let mut map = Vec::with_capacity(c_out * c_in * 36 + c_out);
        for co in 0..c_out {
            for ci in 0..c_in {
                for t in 0..4 {
                    for tap in 0..9 {
                        let (y, x) = (tap / 3, tap % 3);
                        map.push((y > 0 && x > 0).then(|| {
                            let (ky, kx) = (2 * (y - 1) + t / 2, 2 * (x - 1) + t % 2);
                            ((co * c_in + ci) * 4 + ky) * 4 + kx
                        }));
                    }
                }
            }
        }
        let weights = c_out * c_in * 16;
        map.extend((0..c_out).map(|co| Some(weights + co)));
        let plane = Plane {
            height: half,
            width: half,
            kernel: 3,
        };
        Self::new(
            [4 * c_in, c_out],
            plane,
            [inputs.len(), c_out * out * out],
            inputs,
            outputs,
            map,
            parameters,
        )
    }

    /// A 2x2 transposed convolution with stride 2 over planes of `side x side`; `parameters` are
    /// `[c_in, c_out, 2, 2]`, then `[c_out]`.
    pub fn doubling([c_in, c_out]: [usize; 2], side: usize, parameters: &[f32]) -> Self {
        let inputs: Vec<usize> = (0..c_in * side * side).collect();
        let mut outputs = Vec::with_capacity(4 * c_out * side * side);
        for c in 0..c_out {
            for t in 0..4 {
                for y in 0..side {
                    let row = (c * 2 * side + 2 * y + t / 2) * 2 * side + t % 2;
                    outputs.extend((0..side).map(|x| Some(row + 2 * x)));
                }
            }
        }
        let mut map = Vec::with_capacity((c_in + 1) * 4 * c_out);
        for plane in 0..4 * c_out {
            let (co, t) = (plane / 4, plane % 4);
            map.extend((0..c_in).map(|ci| Some((ci * c_out + co) * 4 + t)));
        }
        map.extend((0..4 * c_out).map(|plane| Some(c_in * c_out * 4 + plane / 4)));
        let plane = Plane {
            height: side,
            width: side,
            kernel: 1,
        };
        let lengths = [inputs.len(), outputs.len()];
        Self::new(
            [c_in, 4 * c_out],
            plane,
            lengths,
            inputs,
            outputs,
            map,
            parameters,
        )
    }

    fn new(
        channels: [usize; 2],
        plane: Plane,
        [input_length, output_length]: [usize; 2],
        inputs: Vec<usize>,
        outputs: Vec<Option<usize>>,
        map: Vec<Option<usize>>,
        parameters: &[f32],
    ) -> Self {
        debug_assert_eq!(inputs.len(), input_length);
        let mut values: Vec<f32> = map
            .iter()
            .map(|p| p.map_or(0.0, |p| parameters[p]))
            .collect();
        let bias = values.split_off(map.len() - channels[1]);
        Self {
            conv: HostConv::new(channels, plane, &values, bias),
            inputs,
            outputs,
            parameters: map,
            output_length,
            parameter_length: parameters.len(),
        }
    }

    fn gather_input(&self, input: &[Octet]) -> Buffer {
        let mut inner = Buffer::to_fill(self.inputs.len());
        for (to, &from) in inner.iter_mut().zip(&self.inputs) {
            *to = input[from];
        }
        inner
    }

    fn gather_delta(&self, delta: &[Octet]) -> Buffer {
        let mut inner = Buffer::to_fill(self.outputs.len());
        for (to, from) in inner.iter_mut().zip(&self.outputs) {
            *to = from.map_or(Octet::default(), |from| delta[from]);
        }
        inner
    }
}

impl HostLayer for HostRearranged {
    fn inputs(&self) -> usize {
        self.inputs.len()
    }

    fn outputs(&self) -> usize {
        self.output_length
    }

    fn parameters(&self) -> usize {
        self.parameter_length
    }

    fn forward(&self, input: &[Octet], _signs: &mut [u8], output: &mut [Octet]) {
        let mut inner = Buffer::to_fill(self.outputs.len());
        for (x, y) in input
            .chunks_exact(self.inputs())
            .zip(output.chunks_exact_mut(self.outputs()))
        {
            self.conv
                .forward(&self.gather_input(x), &mut [], &mut inner);
            for (value, to) in inner.iter().zip(&self.outputs) {
                if let Some(to) = *to {
                    y[to] = *value;
                }
            }
        }
    }

    fn backward(&self, g: usize, seen: &Seen, delta: &[Octet], below: &mut [Octet]) {
        let mut inner = Buffer::to_fill(self.inputs.len());
        for (d, below) in delta
            .chunks_exact(self.outputs())
            .zip(below.chunks_exact_mut(self.inputs()))
        {
            self.conv
                .backward(g, seen, &self.gather_delta(d), &mut inner);
            for (value, &to) in inner.iter().zip(&self.inputs) {
                below[to] = *value;
            }
        }
    }

    fn row_length(&self) -> usize {
        self.parameter_length
    }

    fn gram(&self, g: usize, seen: &Seen, delta: &[Octet], rows: &mut [Octet], gram: &mut [Octet]) {
        let (outputs, length) = (self.outputs(), self.parameter_length);
        let mut inner = Buffer::zeros(self.conv.parameters());
        for (((x, delta), rows), gram) in seen
            .input
            .chunks_exact(self.inputs())
            .zip(delta.chunks_exact(g * outputs))
            .zip(rows.chunks_exact_mut(g * length))
            .zip(gram.chunks_exact_mut(g * g))
        {
            let padded = self.conv.padded(&self.gather_input(x));
            rows.fill(Octet::default());
            for (delta, row) in delta
                .chunks_exact(outputs)
                .zip(rows.chunks_exact_mut(length))
            {
                inner.fill(Octet::default());
                self.conv
                    .add_row(&padded, &self.gather_delta(delta), &mut inner);
                for (value, to) in inner.iter().zip(&self.parameters) {
                    if let Some(to) = *to {
                        add(&mut row[to], value);
                    }
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

    fn combine(&self, g: usize, weights: &[Octet], rows: &[Octet], gradient: &mut [f32]) {
        Combine {
            g,
            weights,
            rows,
            gradient,
        }
        .apply();
    }

    fn gradient(&self, seen: &Seen, delta: &[Octet], gradient: &mut [f32]) {
        let mut inner = Buffer::zeros(self.conv.parameters());
        for (x, delta) in seen
            .input
            .chunks_exact(self.inputs())
            .zip(delta.chunks_exact(self.outputs()))
        {
            let padded = self.conv.padded(&self.gather_input(x));
            self.conv
                .add_row(&padded, &self.gather_delta(delta), &mut inner);
        }
        for (value, to) in inner.iter().zip(&self.parameters) {
            if let Some(to) = *to {
                gradient[to] += value.0.iter().sum::<f32>();
            }
        }
    }
}
