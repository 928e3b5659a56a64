//! The fully connected layer, for eight records side by side.

use crate::per_sample::{HostLayer, LANES, Lanes8, SavedActivations};

use crate::per_sample::nn::lost;

use crate::per_sample::host::kernels::{Gram, OuterProduct, Product, Weights};

pub(crate) struct HostLinear {
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
    /// - `trained`: whether the weight and the bias are trained.
    pub(crate) fn new(
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

    fn forward(&self, input: &[Lanes8], _signs: &mut [u8], output: &mut [Lanes8]) {
        Product {
            weights: &self.forward,
            bias: &self.bias,
            input,
            output,
        }
        .apply();
    }

    fn backward(
        &self,
        _g: usize,
        _seen: &SavedActivations,
        delta: &[Lanes8],
        below: &mut [Lanes8],
    ) {
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
        saved: &SavedActivations,
        delta: &[Lanes8],
        _rows: &mut [Lanes8],
        gram: &mut [Lanes8],
    ) {
        for ((x, rows), gram) in saved
            .input
            .chunks_exact(self.inputs)
            .zip(delta.chunks_exact(g * self.outputs))
            .zip(gram.chunks_exact_mut(g * g))
        {
            let mut squares = [Lanes8::default()];
            if self.trained[0] {
                Gram {
                    g: 1,
                    rows: x,
                    scale: Lanes8([1.0; LANES]),
                    gram: &mut squares,
                }
                .apply();
            }
            // Either factor may vanish while the other is large, so both are raised by what they may have lost.
            let one = f32::from(u8::from(self.trained[1])) + lost(self.inputs);
            let scale = Lanes8(squares[0].0.map(|s| s + one));
            Gram {
                g,
                rows,
                scale,
                gram,
            }
            .apply();
            for r in 0..g {
                let entry = &mut gram[r * g + r].0;
                for (entry, scale) in entry.iter_mut().zip(scale.0) {
                    *entry += scale * lost(g * self.outputs);
                }
            }
        }
    }

    fn gradient(&self, saved: &SavedActivations, delta: &[Lanes8], gradient: &mut [f32]) {
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
                input: saved.input,
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
