//! The per-record passes on plain slices, for the CPU.
//!
//! A chunk of records goes through all layers on one core while its activations are in cache; the
//! caller runs chunks in parallel and adds their gradients in the order of the chunks, so that the
//! result does not depend on the number of threads.

use super::Needs;

/// A layer as host kernels over a snapshot of its weights.
///
/// The same mathematics as [`Layer`](super::Layer); all buffers are row-major `f32`.
pub trait HostLayer: Send + Sync {
    /// Features of one record at the input.
    fn inputs(&self) -> usize;

    /// Features of one record at the output.
    fn outputs(&self) -> usize;

    /// Scalars in all parameters, in the order of [`Layer::parameters`](super::Layer::parameters).
    fn parameters(&self) -> usize;

    /// `output [n, d_out]` for `input [n, d_in]`.
    fn forward(&self, n: usize, input: &[f32], output: &mut [f32]);

    /// `delta_in [n, g, d_in]` for `delta [n, g, d_out]`. Overwrites `delta_in`.
    fn backward(
        &self,
        n_and_g: (usize, usize),
        input: &[f32],
        output: &[f32],
        delta: &[f32],
        delta_in: &mut [f32],
    );

    /// Adds this layer's part of `G_i = J_i J_i^T` to `gram [n, g, g]`.
    fn gram(&self, n_and_g: (usize, usize), input: &[f32], delta: &[f32], gram: &mut [f32]);

    /// Adds the gradient summed over records for one cotangent a record, `delta [n, d_out]`.
    fn gradient(&self, n: usize, input: &[f32], delta: &[f32], gradient: &mut [f32]);
}

/// Host layers applied one after the other.
pub struct HostStack {
    layers: Vec<Box<dyn HostLayer>>,
}

/// What a forward pass of one chunk keeps: the input, then the output of each layer.
pub struct HostActivations {
    n: usize,
    values: Vec<Vec<f32>>,
}

impl HostActivations {
    /// The output of the last layer, `[n, d_out]`.
    pub fn output(&self) -> &[f32] {
        &self.values[self.values.len() - 1]
    }

    /// The number of records in the chunk.
    pub fn records(&self) -> usize {
        self.n
    }
}

/// What a backward pass of `g` rows a record keeps for one chunk.
pub struct HostPullBack {
    /// `G_i = J_i J_i^T` over all parameters of the stack, `[n, g, g]`.
    pub gram: Vec<f32>,
    /// The cotangents at the stack's input, `[n, g, d_in]`; empty unless asked for.
    pub input: Vec<f32>,
    g: usize,
    deltas: Vec<Vec<f32>>,
}

impl HostStack {
    /// A stack of `layers`, first to last.
    pub fn new(layers: Vec<Box<dyn HostLayer>>) -> Self {
        Self { layers }
    }

    /// Scalars in all parameters.
    pub fn parameters(&self) -> usize {
        self.layers.iter().map(|l| l.parameters()).sum()
    }

    /// Features of one record at the input.
    pub fn inputs(&self) -> usize {
        self.layers.first().map_or(0, |l| l.inputs())
    }

    /// Features of one record at the output.
    pub fn outputs(&self) -> usize {
        self.layers.last().map_or(0, |l| l.outputs())
    }

    /// Runs the layers on `input [n, d_in]` and keeps every activation.
    pub fn forward(&self, n: usize, input: Vec<f32>) -> HostActivations {
        let mut values = Vec::with_capacity(self.layers.len() + 1);
        values.push(input);
        for layer in &self.layers {
            let mut output = vec![0.0; n * layer.outputs()];
            layer.forward(n, &values[values.len() - 1], &mut output);
            values.push(output);
        }
        HostActivations { n, values }
    }

    /// Pulls `delta [n, g, d_out]` back through the stack and collects the Gram matrices.
    pub fn pull_back(
        &self,
        activations: &HostActivations,
        g: usize,
        delta: Vec<f32>,
        needs: Needs,
    ) -> HostPullBack {
        let n = activations.n;
        let mut gram = vec![0.0; n * g * g];
        let mut deltas: Vec<Vec<f32>> = vec![Vec::new(); self.layers.len()];
        let first = self
            .layers
            .iter()
            .position(|l| l.parameters() > 0)
            .unwrap_or(0);
        let mut current = delta;
        for (index, layer) in self.layers.iter().enumerate().rev() {
            let input = &activations.values[index];
            if needs.gram && layer.parameters() > 0 {
                layer.gram((n, g), input, &current, &mut gram);
            }
            let below = if needs.input || index > first {
                let mut below = vec![0.0; n * g * layer.inputs()];
                let output = &activations.values[index + 1];
                layer.backward((n, g), input, output, &current, &mut below);
                below
            } else {
                Vec::new()
            };
            if layer.parameters() > 0 {
                deltas[index] = std::mem::replace(&mut current, below);
            } else {
                current = below;
            }
            if current.is_empty() {
                break;
            }
        }
        HostPullBack {
            gram,
            input: if needs.input { current } else { Vec::new() },
            g,
            deltas,
        }
    }

    /// Adds `sum_i J_i^T w_i` for `weights [n, g]` to the flat `gradient`.
    pub fn add_gradient(
        &self,
        activations: &HostActivations,
        pulled: &HostPullBack,
        weights: &[f32],
        gradient: &mut [f32],
    ) {
        let (n, g) = (activations.n, pulled.g);
        // A record of weight zero must contribute exact zeros even where its activations or
        // cotangents are not finite: 0 * NaN would spread to every record's sum.
        let dead: Vec<usize> = (0..n)
            .filter(|i| weights[i * g..(i + 1) * g].iter().all(|&w| w == 0.0))
            .collect();
        let mut offset = 0;
        for (index, layer) in self.layers.iter().enumerate() {
            let length = layer.parameters();
            if length == 0 {
                continue;
            }
            let features = layer.outputs();
            let delta = &pulled.deltas[index];
            let mut combined = vec![0.0f32; n * features];
            for i in 0..n {
                let target = &mut combined[i * features..(i + 1) * features];
                for r in 0..g {
                    let w = weights[i * g + r];
                    if w == 0.0 {
                        continue;
                    }
                    let row = &delta[(i * g + r) * features..(i * g + r + 1) * features];
                    for (t, d) in target.iter_mut().zip(row) {
                        *t += w * d;
                    }
                }
            }
            let part = &mut gradient[offset..offset + length];
            if dead.is_empty() {
                layer.gradient(n, &activations.values[index], &combined, part);
            } else {
                let mut input = activations.values[index].clone();
                for &i in &dead {
                    input[i * layer.inputs()..(i + 1) * layer.inputs()].fill(0.0);
                }
                layer.gradient(n, &input, &combined, part);
            }
            offset += length;
        }
    }
}
