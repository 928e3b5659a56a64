//! The fully connected layer on octets.

use crate::per_sample::{HostLayer, LANES, Octet, Seen};

use crate::per_sample::host::kernels::{Gram, OuterProduct, Product, Weights};

pub struct HostLinear {
    inputs: usize,
    outputs: usize,
    forward: Weights,
    backward: Weights,
    bias: Vec<f32>,
    /// Whether the weight and the bias are trained.
    trained: [bool; 2],
}

impl HostLinear {
    /// - `weight`: `[inputs, outputs]`;
    /// - `bias`: `[outputs]`, or empty;
    /// - `trained`: whether the weight and the bias are.
    pub fn new(
        [inputs, outputs]: [usize; 2],
        weight: &[f32],
        bias: Vec<f32>,
        trained: [bool; 2],
    ) -> Self {
        Self {
            inputs,
            outputs,
            forward: Weights::new(inputs, outputs, |i, o| weight[i * outputs + o]),
            backward: Weights::new(outputs, inputs, |o, i| weight[i * outputs + o]),
            bias,
            trained,
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
        let [weight, bias] = self.trained.map(usize::from);
        (weight * self.inputs + bias) * self.outputs
    }

    fn forward(&self, input: &[Octet], _signs: &mut [u8], output: &mut [Octet]) {
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
            if self.trained[0] {
                Gram {
                    g: 1,
                    rows: x,
                    scale: Octet([1.0; LANES]),
                    gram: &mut squares,
                }
                .apply();
            }
            let one = f32::from(u8::from(self.trained[1]));
            Gram {
                g,
                rows,
                scale: Octet(squares[0].0.map(|s| s + one)),
                gram,
            }
            .apply();
        }
    }

    fn gradient(&self, seen: &Seen, delta: &[Octet], gradient: &mut [f32]) {
        let weights = if self.trained[0] {
            self.inputs * self.outputs
        } else {
            0
        };
        let (weight, bias) = gradient.split_at_mut(weights);
        if weights > 0 {
            OuterProduct {
                inputs: self.inputs,
                outputs: self.outputs,
                input: seen.input,
                delta,
                gradient: weight,
            }
            .apply();
        }
        for block in delta.chunks_exact(self.outputs) {
            for (b, d) in bias.iter_mut().zip(block) {
                *b += d.0.iter().sum::<f32>();
            }
        }
    }
}
