//! The fully connected layer on octets.

use dp_core::per_sample::{HostLayer, LANES, Octet, Seen};

use super::kernels::{Gram, OuterProduct, Product, Weights};

pub struct HostLinear {
    inputs: usize,
    outputs: usize,
    forward: Weights,
    backward: Weights,
    bias: Vec<f32>,
}

impl HostLinear {
    /// `weight` is `[inputs, outputs]`.
    pub fn new(inputs: usize, outputs: usize, weight: &[f32], bias: Vec<f32>) -> Self {
        Self {
            inputs,
            outputs,
            forward: Weights::new(inputs, outputs, |i, o| weight[i * outputs + o]),
            backward: Weights::new(outputs, inputs, |o, i| weight[i * outputs + o]),
            bias,
        }
    }
}

impl HostLayer for HostLinear {
    fn inputs(&self) -> usize {
        self.inputs
    }

    fn outputs(&self) -> usize {
        self.outputs
    }

    fn parameters(&self) -> usize {
        (self.inputs + 1) * self.outputs
    }

    fn forward(&self, input: &[Octet], _kept: &mut [Octet], output: &mut [Octet]) {
        Product {
            weights: &self.forward,
            bias: &self.bias,
            input,
            output,
        }
        .apply();
    }

    fn backward(&self, _g: usize, _seen: &Seen, delta: &[Octet], below: &mut [Octet]) {
        Product {
            weights: &self.backward,
            bias: &[],
            input: delta,
            output: below,
        }
        .apply();
    }

    fn gram(
        &self,
        g: usize,
        seen: &Seen,
        delta: &[Octet],
        _rows: &mut [Octet],
        gram: &mut [Octet],
    ) {
        for ((x, rows), gram) in seen
            .input
            .chunks_exact(self.inputs)
            .zip(delta.chunks_exact(g * self.outputs))
            .zip(gram.chunks_exact_mut(g * g))
        {
            let mut squares = [Octet::default()];
            Gram {
                g: 1,
                rows: x,
                scale: Octet([1.0; LANES]),
                gram: &mut squares,
            }
            .apply();
            Gram {
                g,
                rows,
                scale: Octet(squares[0].0.map(|s| s + 1.0)),
                gram,
            }
            .apply();
        }
    }

    fn gradient(&self, seen: &Seen, delta: &[Octet], gradient: &mut [f32]) {
        let (weight, bias) = gradient.split_at_mut(self.inputs * self.outputs);
        OuterProduct {
            inputs: self.inputs,
            outputs: self.outputs,
            input: seen.input,
            delta,
            gradient: weight,
        }
        .apply();
        for block in delta.chunks_exact(self.outputs) {
            for (b, d) in bias.iter_mut().zip(block) {
                *b += d.0.iter().sum::<f32>();
            }
        }
    }
}
