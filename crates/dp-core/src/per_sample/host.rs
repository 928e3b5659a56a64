//! The per-record passes on octets, for the CPU.
//!
//! A chunk of records goes through all layers on one core while its activations are in cache; the
//! caller runs chunks in parallel and adds their gradients in the order of the chunks, so that the
//! result does not depend on the number of threads.

use super::octet::{LANES, Octet, blocks, interleave, separate};
use super::{HostLayer, Needs, Seen};

/// Host layers applied one after the other.
pub struct HostStack {
    layers: Vec<Box<dyn HostLayer>>,
}

/// What a forward pass of one chunk keeps: the input, then the output of each layer.
pub struct HostActivations {
    n: usize,
    values: Vec<Vec<Octet>>,
    kept: Vec<Vec<Octet>>,
    output: Vec<f32>,
}

impl HostActivations {
    /// The output of the last layer, `[n, d_out]`.
    pub fn output(&self) -> &[f32] {
        &self.output
    }

    /// The number of records in the chunk.
    pub fn records(&self) -> usize {
        self.n
    }

    fn seen(&self, index: usize) -> Seen<'_> {
        Seen {
            input: &self.values[index],
            kept: &self.kept[index],
            output: &self.values[index + 1],
        }
    }
}

/// What a backward pass of `g` rows a record keeps for one chunk.
pub struct HostPullBack {
    /// `G_i = J_i J_i^T` over all parameters of the stack, `[n, g, g]`.
    pub gram: Vec<f32>,
    /// The cotangents at the stack's input, `[n, g, d_in]`; empty unless asked for.
    pub input: Vec<f32>,
    g: usize,
    parts: Vec<Part>,
}

/// What a backward pass keeps of one layer for its gradient.
enum Part {
    /// The layer has no parameters.
    None,
    /// The cotangents at its output, `[blocks, g, d_out]`.
    Delta(Vec<Octet>),
    /// The rows of `J_i` that belong to the layer, `[blocks, g, r]`.
    Rows(Vec<Octet>),
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
    pub fn forward(&self, n: usize, input: &[f32]) -> HostActivations {
        let mut values = Vec::with_capacity(self.layers.len() + 1);
        let mut kept = Vec::with_capacity(self.layers.len());
        values.push(interleave(n, self.inputs(), input));
        for layer in &self.layers {
            let mut output = vec![Octet::default(); blocks(n) * layer.outputs()];
            let mut keep = vec![Octet::default(); blocks(n) * layer.kept()];
            layer.forward(&values[values.len() - 1], &mut keep, &mut output);
            values.push(output);
            kept.push(keep);
        }
        let output = separate(n, self.outputs(), &values[values.len() - 1]);
        HostActivations {
            n,
            values,
            kept,
            output,
        }
    }

    /// Pulls `delta [n, g, d_out]` back through the stack and collects the Gram matrices.
    pub fn pull_back(
        &self,
        activations: &HostActivations,
        g: usize,
        delta: &[f32],
        needs: Needs,
    ) -> HostPullBack {
        let n = activations.n;
        let mut gram = vec![Octet::default(); blocks(n) * g * g];
        let mut parts: Vec<Part> = self.layers.iter().map(|_| Part::None).collect();
        let first = self
            .layers
            .iter()
            .position(|l| l.parameters() > 0)
            .unwrap_or(0);
        let mut current = interleave(n, g * self.outputs(), delta);
        for (index, layer) in self.layers.iter().enumerate().rev() {
            let seen = activations.seen(index);
            let mut rows = Vec::new();
            if needs.gram && layer.parameters() > 0 {
                rows.resize(blocks(n) * g * layer.row_length(), Octet::default());
                layer.gram(g, &seen, &current, &mut rows, &mut gram);
            }
            let below = if needs.input || index > first {
                let mut below = vec![Octet::default(); blocks(n) * g * layer.inputs()];
                layer.backward(g, &seen, &current, &mut below);
                below
            } else {
                Vec::new()
            };
            let delta = std::mem::replace(&mut current, below);
            if !rows.is_empty() {
                parts[index] = Part::Rows(rows);
            } else if layer.parameters() > 0 {
                parts[index] = Part::Delta(delta);
            }
            if current.is_empty() {
                break;
            }
        }
        HostPullBack {
            gram: separate(n, g * g, &gram),
            input: if needs.input {
                separate(n, g * self.inputs(), &current)
            } else {
                Vec::new()
            },
            g,
            parts,
        }
    }

    /// Adds `sum_i J_i^T w_i` for `weights [n, g]` to the flat `gradient`.
    ///
    /// A weight of zero contributes exact zeros even where its record's activations or cotangents
    /// are not finite: 0 * NaN would spread to every record's sum.
    pub fn add_gradient(
        &self,
        activations: &HostActivations,
        pulled: &HostPullBack,
        weights: &[f32],
        gradient: &mut [f32],
    ) {
        let (n, g) = (activations.n, pulled.g);
        let weights = interleave(n, g, weights);
        let mut offset = 0;
        for (index, layer) in self.layers.iter().enumerate() {
            let length = layer.parameters();
            let part = &mut gradient[offset..offset + length];
            match &pulled.parts[index] {
                Part::None => {}
                Part::Rows(rows) => {
                    let mut sums = vec![Octet::default(); length];
                    for (w, rows) in weights.chunks_exact(g).zip(rows.chunks_exact(g * length)) {
                        add_combination(w, rows, &mut sums);
                    }
                    for (total, sum) in part.iter_mut().zip(&sums) {
                        *total += sum.0.iter().sum::<f32>();
                    }
                }
                Part::Delta(delta) => {
                    let features = layer.outputs();
                    let mut combined = vec![Octet::default(); blocks(n) * features];
                    for ((w, delta), sums) in weights
                        .chunks_exact(g)
                        .zip(delta.chunks_exact(g * features))
                        .zip(combined.chunks_exact_mut(features))
                    {
                        add_combination(w, delta, sums);
                    }
                    let input = without_dead(&activations.values[index], &weights, g);
                    let seen = Seen {
                        input: &input,
                        ..activations.seen(index)
                    };
                    layer.gradient(&seen, &combined, part);
                }
            }
            offset += length;
        }
    }
}

/// Adds `sum_r w_r rows_r` to `sums`, lane by lane; rows of weight zero are passed over.
fn add_combination(weights: &[Octet], rows: &[Octet], sums: &mut [Octet]) {
    for (w, row) in weights.iter().zip(rows.chunks_exact(sums.len().max(1))) {
        for (sum, value) in sums.iter_mut().zip(row) {
            for lane in 0..LANES {
                let product = w.0[lane] * value.0[lane];
                sum.0[lane] += if w.0[lane] != 0.0 { product } else { 0.0 };
            }
        }
    }
}

/// `input [blocks, features]` with zeros in the lanes all of whose `g` weights are zero.
fn without_dead<'a>(
    input: &'a [Octet],
    weights: &[Octet],
    g: usize,
) -> std::borrow::Cow<'a, [Octet]> {
    let dead = |w: &[Octet], lane: usize| w.iter().all(|w| w.0[lane] == 0.0);
    let any = weights
        .chunks_exact(g)
        .any(|w| (0..LANES).any(|lane| dead(w, lane)));
    if !any {
        return input.into();
    }
    let features = input.len() * g / weights.len();
    let mut input = input.to_vec();
    for (w, block) in weights
        .chunks_exact(g)
        .zip(input.chunks_exact_mut(features))
    {
        for lane in (0..LANES).filter(|&lane| dead(w, lane)) {
            for octet in block.iter_mut() {
                octet.0[lane] = 0.0;
            }
        }
    }
    input.into()
}
