//! The per-record passes on the CPU, for eight records side by side.
//!
//! A chunk of records goes through all layers on one core while its activations are in cache. The caller runs chunks
//! in parallel and adds their gradients in the order of the chunks, so that the result does not depend on the number
//! of threads.

use super::lanes::{LANES, Lanes8, Wide8, blocks, interleave, interleave_wide, separate};
use super::{Buffer, HostLayer, SavedActivations};
use crate::per_sample::Needs;

/// Host layers that are applied one after the other.
pub struct HostStack {
    layers: Vec<Box<dyn HostLayer>>,
}

/// The activations of a forward pass of one chunk: the input, then the output of each layer.
pub struct HostActivations {
    n: usize,
    values: Vec<Buffer>,
    signs: Vec<Vec<u8>>,
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

    /// The saved activations of one block of the layer at `index`.
    fn saved(&self, index: usize, block: usize) -> SavedActivations<'_> {
        SavedActivations {
            input: part(&self.values[index], self.n, block),
            signs: part(&self.signs[index], self.n, block),
            output: part(&self.values[index + 1], self.n, block),
        }
    }
}

/// One block of a buffer for `n` records.
fn part<T>(buffer: &[T], n: usize, block: usize) -> &[T] {
    let length = buffer.len() / blocks(n);
    &buffer[block * length..(block + 1) * length]
}

/// One block of a buffer for `n` records.
fn part_mut<T>(buffer: &mut [T], n: usize, block: usize) -> &mut [T] {
    let length = buffer.len() / blocks(n);
    &mut buffer[block * length..(block + 1) * length]
}

/// The results of a backward pass of one chunk with `g` rows for each record.
pub struct HostPullBack {
    /// `G_i = J_i J_i^T` over all parameters of the stack, `[n, g, g]`.
    pub gram: Vec<f32>,
    /// The cotangents at the stack's input, `[n, g, d_in]`; empty unless the pass was asked for them.
    pub input: Vec<f32>,
    g: usize,
    parts: Vec<Part>,
}

/// The part of a backward pass that a layer's gradient needs.
enum Part {
    /// The layer has no parameters.
    None,
    /// The cotangents at the layer's output, `[blocks, g, d_out]`.
    Delta(Buffer),
    /// The layer's part of the rows of `J_i`, `[blocks, g, r]`.
    Rows(Buffer),
}

impl HostStack {
    /// Makes a stack of `layers`, first to last.
    pub(crate) fn new(layers: Vec<Box<dyn HostLayer>>) -> Self {
        Self { layers }
    }

    /// The number of scalars in all parameters.
    pub fn parameters(&self) -> usize {
        self.layers.iter().map(|l| l.parameters()).sum()
    }

    /// The number of features of one record at the input.
    pub fn inputs(&self) -> usize {
        self.layers.first().map_or(0, |l| l.inputs())
    }

    /// The number of features of one record at the output.
    pub fn outputs(&self) -> usize {
        self.layers.last().map_or(0, |l| l.outputs())
    }

    /// The number of scalars that a pass with `g` rows keeps for one record.
    pub fn kept(&self, g: usize) -> usize {
        let of = |layer: &dyn HostLayer| {
            let rows = match (layer.parameters(), layer.row_length()) {
                (0, _) => 0,
                (_, 0) => layer.outputs(),
                (_, length) => length,
            };
            layer.outputs() + g * rows
        };
        let layers = self.layers.iter().map(|layer| of(layer.as_ref()));
        self.inputs() + layers.sum::<usize>()
    }

    /// Runs the layers on `input [n, d_in]` and keeps every activation.
    pub fn forward(&self, n: usize, input: &[f32]) -> HostActivations {
        let mut values = Vec::with_capacity(self.layers.len() + 1);
        let mut signs = Vec::with_capacity(self.layers.len());
        values.push(interleave(n, self.inputs(), input));
        for layer in &self.layers {
            let mut output = Buffer::scratch(blocks(n) * layer.outputs());
            let mut keep = vec![0; blocks(n) * layer.signs()];
            layer.forward(&values[values.len() - 1], &mut keep, &mut output);
            values.push(output);
            signs.push(keep);
        }
        let output = separate(n, self.outputs(), &values[values.len() - 1]);
        HostActivations {
            n,
            values,
            signs,
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
        let mut gram = Buffer::zeros(blocks(n) * g * g);
        let mut parts: Vec<Part> = self
            .layers
            .iter()
            .map(|layer| match (layer.parameters(), layer.row_length()) {
                (0, _) => Part::None,
                (_, 1..) if needs.gram => {
                    Part::Rows(Buffer::scratch(blocks(n) * g * layer.row_length()))
                }
                _ => Part::Delta(Buffer::scratch(blocks(n) * g * layer.outputs())),
            })
            .collect();
        // Below the first layer with parameters no cotangent is needed unless the caller wants the one at the input.
        let first = self
            .layers
            .iter()
            .position(|l| l.parameters() > 0)
            .unwrap_or(0);
        let last = if needs.input { 0 } else { first };
        let delta = interleave(n, g * self.outputs(), delta);
        let mut input = Buffer::scratch(if needs.input {
            blocks(n) * g * self.inputs()
        } else {
            0
        });
        // The pass goes block by block, so that the cotangents of all rows stay in cache.
        let widest = self.layers.iter().map(|l| l.inputs().max(l.outputs()));
        let widest = g * widest.max().unwrap_or(0);
        let (mut current, mut below) = (Buffer::scratch(widest), Buffer::scratch(widest));
        for block in 0..blocks(n) {
            let start = part(&delta, n, block);
            current[..start.len()].copy_from_slice(start);
            for (index, layer) in self.layers.iter().enumerate().skip(last).rev() {
                let saved = activations.saved(index, block);
                let delta = &current[..g * layer.outputs()];
                match &mut parts[index] {
                    Part::None => {}
                    Part::Delta(kept) => {
                        part_mut(kept, n, block).copy_from_slice(delta);
                        if needs.gram {
                            layer.gram(g, &saved, delta, &mut [], part_mut(&mut gram, n, block));
                        }
                    }
                    Part::Rows(rows) => {
                        let rows = part_mut(rows, n, block);
                        layer.gram(g, &saved, delta, rows, part_mut(&mut gram, n, block));
                    }
                }
                if needs.input || index > first {
                    layer.backward(g, &saved, delta, &mut below[..g * layer.inputs()]);
                    std::mem::swap(&mut current, &mut below);
                }
            }
            if needs.input {
                let target = part_mut(&mut input, n, block);
                target.copy_from_slice(&current[..target.len()]);
            }
        }
        HostPullBack {
            gram: separate(n, g * g, &gram),
            input: if needs.input {
                separate(n, g * self.inputs(), &input)
            } else {
                Vec::new()
            },
            g,
            parts,
        }
    }

    /// Adds `sum_i J_i^T w_i` for `weights [n, g]` to the flat `gradient`.
    ///
    /// The rows of a record are weighted and added in `f64`. If they nearly cancel, the rounding is relative to their
    /// sum and not to the rows.
    ///
    /// A weight of zero contributes exact zeros even if its record's activations or cotangents are not finite: 0 *
    /// NaN would spread to every record's sum.
    pub fn add_gradient(
        &self,
        activations: &HostActivations,
        pulled: &HostPullBack,
        weights: &[impl Copy + Into<f64>],
        gradient: &mut [f32],
    ) {
        let (n, g) = (activations.n, pulled.g);
        let weights = interleave_wide(n, g, weights);
        let mut offset = 0;
        for (index, layer) in self.layers.iter().enumerate() {
            let length = layer.parameters();
            let part = &mut gradient[offset..offset + length];
            match &pulled.parts[index] {
                Part::None => {}
                Part::Rows(rows) => {
                    layer.combine(g, &weights, rows, part);
                }
                Part::Delta(delta) => {
                    let features = layer.outputs();
                    let mut combined = Buffer::scratch(blocks(n) * features);
                    let mut sums = vec![Wide8::default(); features];
                    for ((w, delta), combined) in weights
                        .chunks_exact(g)
                        .zip(delta.chunks_exact(g * features))
                        .zip(combined.chunks_exact_mut(features))
                    {
                        sums.fill(Wide8::default());
                        add_combination(w, delta, &mut sums);
                        for (narrow, sum) in combined.iter_mut().zip(&sums) {
                            *narrow = Lanes8(sum.0.map(|x| x as f32));
                        }
                    }
                    let input = without_dead(&activations.values[index], &weights, g);
                    let saved = SavedActivations {
                        input: &input,
                        signs: &activations.signs[index],
                        output: &activations.values[index + 1],
                    };
                    layer.gradient(&saved, &combined, part);
                }
            }
            offset += length;
        }
    }
}

/// Adds `sum_r w_r rows_r` to `sums`, lane by lane, and skips rows of weight zero.
fn add_combination(weights: &[Wide8], rows: &[Lanes8], sums: &mut [Wide8]) {
    for (w, row) in weights.iter().zip(rows.chunks_exact(sums.len().max(1))) {
        for (sum, value) in sums.iter_mut().zip(row) {
            for lane in 0..LANES {
                let product = w.0[lane] * f64::from(value.0[lane]);
                sum.0[lane] += if w.0[lane] != 0.0 { product } else { 0.0 };
            }
        }
    }
}

/// Returns `input [blocks, features]` with zeros in every lane whose `g` weights are all zero.
fn without_dead<'a>(
    input: &'a [Lanes8],
    weights: &[Wide8],
    g: usize,
) -> std::borrow::Cow<'a, [Lanes8]> {
    let dead = |w: &[Wide8], lane: usize| w.iter().all(|w| w.0[lane] == 0.0);
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
            for group in block.iter_mut() {
                group.0[lane] = 0.0;
            }
        }
    }
    input.into()
}
