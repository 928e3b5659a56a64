//! Matrix products of the fully connected layer.

// The loops walk several register arrays in step; the index says which register.
#![allow(clippy::needless_range_loop)]

use crate::per_sample::{LANES, Lanes8};

use super::{Eight, Kernel, Lanes, dispatch};

/// The number of outputs that share one pass over the input.
pub(super) const OUTPUTS: usize = 4;

/// A matrix `[inputs, outputs]` in the order in which [`Product`] reads it.
pub(crate) struct Weights {
    /// `[outputs / 4, inputs, 4]`, then `[outputs % 4, inputs]`.
    pub(super) values: Vec<f32>,
    pub(super) inputs: usize,
    pub(super) outputs: usize,
}

impl Weights {
    /// Packs the matrix with the entries `entry(input, output)`.
    pub(crate) fn new(inputs: usize, outputs: usize, entry: impl Fn(usize, usize) -> f32) -> Self {
        let full = outputs - outputs % OUTPUTS;
        let mut values = Vec::with_capacity(inputs * outputs);
        for first in (0..full).step_by(OUTPUTS) {
            for i in 0..inputs {
                for o in first..first + OUTPUTS {
                    values.push(entry(i, o));
                }
            }
        }
        for o in full..outputs {
            for i in 0..inputs {
                values.push(entry(i, o));
            }
        }
        Self {
            values,
            inputs,
            outputs,
        }
    }
}

/// Computes `output[v, o] = bias[o] + sum_i weights[i, o] input[v, i]` for any number of vectors `v`.
pub(crate) struct Product<'a> {
    pub weights: &'a Weights,
    /// `[outputs]`, or empty.
    pub bias: &'a [f32],
    /// `[v, inputs]`.
    pub input: &'a [Lanes8],
    /// `[v, outputs]`, overwritten.
    pub output: &'a mut [Lanes8],
}

impl Product<'_> {
    pub(crate) fn apply(self) {
        dispatch(self);
    }
}

impl Kernel for Product<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Weights {
            values,
            inputs,
            outputs,
        } = self.weights;
        let (inputs, outputs) = (*inputs, *outputs);
        let full = outputs - outputs % OUTPUTS;
        let (grouped, single) = values.split_at(full * inputs);
        let vectors = self.output.len() / outputs;
        let (weights, _) = grouped.as_chunks::<OUTPUTS>();
        let mut first = 0;
        while first < full {
            // A single vector needs more outputs to keep enough accumulators busy.
            let wide = vectors == 1 && first + 3 * OUTPUTS <= full;
            let count = if wide { 3 } else { 1 };
            let at = (first, outputs);
            let weights = &weights[first / OUTPUTS * inputs..][..count * inputs];
            let mut start = [[0.0; OUTPUTS]; 3];
            if !self.bias.is_empty() {
                let bias = &self.bias[first..first + count * OUTPUTS];
                for (start, bias) in start.iter_mut().zip(bias.as_chunks::<OUTPUTS>().0) {
                    *start = *bias;
                }
            }
            let mut v = 0;
            while v < vectors {
                let left = vectors - v;
                let (x, y) = (&self.input[v * inputs..], &mut self.output[v * outputs..]);
                v += if wide {
                    tile::<L, OUTPUTS, 3, 1>(lanes, weights, &start, x, at, y)
                } else if left == 3 || left > 4 {
                    tile::<L, OUTPUTS, 1, 3>(lanes, weights, &[start[0]], x, at, y)
                } else if left >= 2 {
                    tile::<L, OUTPUTS, 1, 2>(lanes, weights, &[start[0]], x, at, y)
                } else {
                    tile::<L, OUTPUTS, 1, 1>(lanes, weights, &[start[0]], x, at, y)
                };
            }
            first += count * OUTPUTS;
        }
        for (index, values) in single.chunks_exact(inputs).enumerate() {
            let o = full + index;
            let start = [if self.bias.is_empty() {
                0.0
            } else {
                self.bias[o]
            }];
            let (weights, _) = values.as_chunks::<1>();
            for v in 0..vectors {
                let (x, y) = (&self.input[v * inputs..], &mut self.output[v * outputs..]);
                tile::<L, 1, 1, 1>(lanes, weights, &[start], x, (o, outputs), y);
            }
        }
    }
}

/// Computes `G` groups of `O` outputs of `V` vectors and returns `V`.
#[inline(always)]
fn tile<L: Lanes, const O: usize, const G: usize, const V: usize>(
    lanes: L,
    weights: &[[f32; O]],
    start: &[[f32; O]; G],
    input: &[Lanes8],
    (first, outputs): (usize, usize),
    output: &mut [Lanes8],
) -> usize {
    let inputs = weights.len() / G;
    let mut groups = [&weights[..0]; G];
    for g in 0..G {
        groups[g] = &weights[g * inputs..(g + 1) * inputs];
    }
    let mut vectors = [&input[..0]; V];
    for v in 0..V {
        vectors[v] = &input[v * inputs..(v + 1) * inputs];
    }
    let mut sums = [[[lanes.zero(); V]; O]; G];
    for g in 0..G {
        for o in 0..O {
            sums[g][o] = [lanes.splat(start[g][o]); V];
        }
    }
    for i in 0..inputs {
        let mut x = [lanes.zero(); V];
        for v in 0..V {
            x[v] = lanes.load(&vectors[v][i]);
        }
        for g in 0..G {
            for o in 0..O {
                let w = lanes.splat(groups[g][i][o]);
                for v in 0..V {
                    sums[g][o][v] = w.mul_add(x[v], sums[g][o][v]);
                }
            }
        }
    }
    for v in 0..V {
        for g in 0..G {
            for o in 0..O {
                sums[g][o][v].store(&mut output[v * outputs + first + g * O + o]);
            }
        }
    }
    V
}

/// Adds `sum_n input[n, i] delta[n, o]` over the records of all blocks to `gradient [i, o]`.
pub(crate) struct OuterProduct<'a> {
    pub inputs: usize,
    pub outputs: usize,
    /// `[blocks, inputs]`.
    pub input: &'a [Lanes8],
    /// `[blocks, outputs]`.
    pub delta: &'a [Lanes8],
    pub gradient: &'a mut [f32],
}

impl OuterProduct<'_> {
    pub(crate) fn apply(self) {
        dispatch(self);
    }
}

impl Kernel for OuterProduct<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (inputs, outputs) = (self.inputs, self.outputs);
        let groups = outputs.div_ceil(LANES);
        let records = self.delta.len() / outputs * LANES;
        // The cotangents with eight outputs side by side: [groups, records].
        let mut turned = vec![Lanes8::default(); groups * records];
        for (block, delta) in self.delta.chunks_exact(outputs).enumerate() {
            for (o, group) in delta.iter().enumerate() {
                for lane in 0..LANES {
                    turned[o / LANES * records + block * LANES + lane].0[o % LANES] = group.0[lane];
                }
            }
        }
        let mut column = vec![[0.0; OUTPUTS]; records];
        for first in (0..inputs).step_by(OUTPUTS) {
            let count = OUTPUTS.min(inputs - first);
            for (block, input) in self.input.chunks_exact(inputs).enumerate() {
                for i in 0..count {
                    for lane in 0..LANES {
                        column[block * LANES + lane][i] = input[first + i].0[lane];
                    }
                }
            }
            let mut group = 0;
            while group < groups {
                let left = groups - group;
                let delta = &turned[group * records..];
                let at = (group * LANES, outputs, count);
                let gradient = &mut self.gradient[first * outputs..];
                group += if left == 3 || left > 4 {
                    outer::<L, 3>(lanes, &column, delta, at, gradient)
                } else if left >= 2 {
                    outer::<L, 2>(lanes, &column, delta, at, gradient)
                } else {
                    outer::<L, 1>(lanes, &column, delta, at, gradient)
                };
            }
        }
    }
}

/// Multiplies four inputs with `V` groups of eight outputs and returns `V`.
#[inline(always)]
fn outer<L: Lanes, const V: usize>(
    lanes: L,
    column: &[[f32; OUTPUTS]],
    delta: &[Lanes8],
    (first, outputs, count): (usize, usize, usize),
    gradient: &mut [f32],
) -> usize {
    let records = column.len();
    let mut vectors = [&delta[..0]; V];
    for v in 0..V {
        vectors[v] = &delta[v * records..(v + 1) * records];
    }
    let mut sums = [[lanes.zero(); V]; OUTPUTS];
    for n in 0..records {
        let mut d = [lanes.zero(); V];
        for v in 0..V {
            d[v] = lanes.load(&vectors[v][n]);
        }
        for i in 0..OUTPUTS {
            let x = lanes.splat(column[n][i]);
            for v in 0..V {
                sums[i][v] = x.mul_add(d[v], sums[i][v]);
            }
        }
    }
    for i in 0..count {
        for v in 0..V {
            let start = first + v * LANES;
            let row = &mut gradient[i * outputs + start..(i + 1) * outputs];
            if let Some(eight) = row.first_chunk_mut::<LANES>() {
                lanes.load_eight(eight).add(sums[i][v]).store_eight(eight);
            } else {
                let mut sum = [0.0; LANES];
                sums[i][v].store_eight(&mut sum);
                for (total, value) in row.iter_mut().zip(sum) {
                    *total += value;
                }
            }
        }
    }
    V
}
