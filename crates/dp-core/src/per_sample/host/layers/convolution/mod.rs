//! Convolutions with any window, and their transposes.
//!
//! A window slides over large planes and fills small ones, with a value for each of its places. *Down* maps large
//! planes to small ones, and *up* is its transpose. A transposed convolution swaps the two and has the same weight.

mod axis;
mod border;

use std::ops::Range;

use super::add_records;
use crate::per_sample::host::kernels::{GatherProduct, GatherRows, Gram, Weights};
use crate::per_sample::{Buffer, HostLayer, LANES, Lanes8, SavedActivations};
use axis::{Axis, Class};
use border::Border;

pub(crate) use border::Sliding;

/// The largest length of a row of `J_i` that is kept for the weighted sum: 4 MiB for eight records. Longer rows are
/// formed twice, a few outputs at a time.
const KEPT: usize = 1 << 17;
/// The number of entries of a row that are formed at once if the row is not kept.
const AT_ONCE: usize = 1 << 12;

/// Places that read the same taps.
struct Phase {
    /// One matrix for each group.
    weights: Vec<Weights>,
    taps: Vec<u32>,
    from: Vec<u32>,
    to: Vec<u32>,
}

/// A linear map of planes.
struct Map {
    border: Border,
    phases: Vec<Phase>,
}

/// The host form of `Conv1d`, `Conv2d` and `ConvTranspose2d`.
pub(crate) struct HostConvolution {
    /// The numbers of channels of the large planes and of the small ones.
    channels: [usize; 2],
    groups: usize,
    /// The numbers of values of a large plane and of a small one.
    areas: [usize; 2],
    down: Map,
    up: Map,
    transposed: bool,
    bias: Vec<f32>,
    /// Whether the weight and the bias are trained.
    trained: [bool; 2],
}

/// The weight and the bias of a convolution.
pub(crate) struct Parameters {
    /// `[small channels, large channels / groups, k_h, k_w]`.
    pub weight: Vec<f32>,
    /// One value for each channel of the output, or empty.
    pub bias: Vec<f32>,
    /// Whether the weight and the bias are trained.
    pub trained: [bool; 2],
}

impl HostConvolution {
    /// A convolution between `channels` of large planes and of small ones; `transposed` maps small planes to large ones.
    pub(crate) fn new(
        channels: [usize; 2],
        groups: usize,
        sliding: &Sliding,
        transposed: bool,
        parameters: Parameters,
    ) -> Self {
        let [large, small] = channels.map(|channels| channels / groups);
        let [tall, wide] = sliding.kernel;
        let weight = |group: usize, b: usize, a: usize, ky: usize, kx: usize| {
            parameters.weight[(((group * small + b) * large + a) * tall + ky) * wide + kx]
        };
        let down = {
            let [height, width] = [0, 1].map(|axis| {
                let reach = (sliding.kernel[axis] - 1) * sliding.dilation[axis] + 1;
                let covered = (sliding.places[axis] - 1) * sliding.stride[axis] + reach;
                match sliding.before[axis] {
                    0 => covered.max(sliding.size[axis]),
                    before => covered.max(before + 1),
                }
            });
            let mut taps = Vec::new();
            for a in 0..large {
                for ky in 0..tall {
                    let line = (a * height + ky * sliding.dilation[0]) * width;
                    taps.extend((0..wide).map(|kx| (line + kx * sliding.dilation[1]) as u32));
                }
            }
            let [down, across] = sliding.places;
            let from = (0..down * across).map(|p| {
                let (y, x) = (p / across, p % across);
                (y * sliding.stride[0] * width + x * sliding.stride[1]) as u32
            });
            let area = tall * wide;
            let matrix = |group: usize| {
                Weights::new(large * area, small, |t, b| {
                    weight(group, b, t / area, t % area / wide, t % wide)
                })
            };
            Map {
                border: Border {
                    size: sliding.size,
                    whole: [height, width],
                    before: sliding.before,
                },
                phases: vec![Phase {
                    weights: (0..groups).map(matrix).collect(),
                    taps,
                    from: from.collect(),
                    to: (0..(down * across) as u32).collect(),
                }],
            }
        };
        let up = {
            let [rows, columns] = [0, 1].map(|axis| Axis::new(sliding, axis));
            let plane = rows.whole * columns.whole;
            let mut phases = Vec::new();
            for Class {
                taps: down,
                values: ys,
            } in &rows.classes
            {
                for Class {
                    taps: across,
                    values: xs,
                } in &columns.classes
                {
                    let window: Vec<_> = down
                        .iter()
                        .flat_map(|y| across.iter().map(move |x| (*y, *x)))
                        .collect();
                    let at =
                        |b: usize, y: usize, x: usize| (b * plane + y * columns.whole + x) as u32;
                    let taps = (0..small)
                        .flat_map(|b| window.iter().map(move |((_, y), (_, x))| at(b, *y, *x)));
                    let values = || ys.iter().flat_map(|y| xs.iter().map(move |x| (*y, *x)));
                    let matrix = |group: usize| {
                        Weights::new(small * window.len(), large, |t, a| {
                            let ((ky, _), (kx, _)) = window[t % window.len()];
                            weight(group, t / window.len(), a, ky, kx)
                        })
                    };
                    phases.push(Phase {
                        weights: (0..groups).map(matrix).collect(),
                        taps: taps.collect(),
                        from: values().map(|((_, y), (_, x))| at(0, y, x)).collect(),
                        to: values()
                            .map(|((y, _), (x, _))| (y * sliding.size[1] + x) as u32)
                            .collect(),
                    });
                }
            }
            Map {
                border: Border {
                    size: sliding.places,
                    whole: [rows.whole, columns.whole],
                    before: [rows.before, columns.before],
                },
                phases,
            }
        };
        Self {
            channels,
            groups,
            areas: [sliding.size, sliding.places].map(|[height, width]| height * width),
            down,
            up,
            transposed,
            bias: parameters.bias,
            trained: parameters.trained,
        }
    }

    /// The numbers of values of all large planes and of all small ones.
    fn lengths(&self) -> [usize; 2] {
        [0, 1].map(|i| self.channels[i] * self.areas[i])
    }

    /// The taps of one small channel.
    fn taps(&self) -> &[u32] {
        &self.down.phases[0].taps
    }

    /// The numbers of trained entries of the weight and of the bias.
    fn trained(&self) -> [usize; 2] {
        let weight = self.channels[1] * self.taps().len();
        [
            if self.trained[0] { weight } else { 0 },
            if self.trained[1] { self.bias.len() } else { 0 },
        ]
    }

    /// Maps each vector of `input` down or up.
    fn apply(&self, down: bool, bias: &[f32], input: &[Lanes8], output: &mut [Lanes8]) {
        let (map, from, to) = if down {
            (&self.down, 0, 1)
        } else {
            (&self.up, 1, 0)
        };
        let lengths = self.lengths();
        let mut scratch = map.border.scratch(self.channels[from]);
        let [inputs, outputs] = [from, to].map(|i| self.channels[i] / self.groups);
        for (x, y) in input
            .chunks_exact(lengths[from])
            .zip(output.chunks_exact_mut(lengths[to]))
        {
            let x = map.border.around(x, &mut scratch);
            let parts = x.chunks_exact(inputs * map.border.plane());
            let parts = parts.zip(y.chunks_exact_mut(outputs * self.areas[to]));
            for (group, (input, output)) in parts.enumerate() {
                let bias = match bias {
                    [] => bias,
                    _ => &bias[group * outputs..][..outputs],
                };
                for phase in &map.phases {
                    GatherProduct {
                        weights: &phase.weights[group],
                        bias,
                        taps: &phase.taps,
                        from: &phase.from,
                        to: &phase.to,
                        step: self.areas[to],
                        input,
                        output: &mut *output,
                    }
                    .apply();
                }
            }
        }
    }

    /// Adds the weight's gradient of some small channels to `rows [channels, taps]`, for large planes with their
    /// border and small planes.
    fn add_rows(
        &self,
        channels: Range<usize>,
        large: &[Lanes8],
        small: &[Lanes8],
        rows: &mut [Lanes8],
    ) {
        let [inputs, outputs] = self.channels.map(|channels| channels / self.groups);
        let (phase, length) = (&self.down.phases[0], self.taps().len());
        let mut first = channels.start;
        while first < channels.end {
            // A pass stays within one group.
            let group = first / outputs;
            let end = channels.end.min((group + 1) * outputs);
            let plane = inputs * self.down.border.plane();
            GatherRows {
                taps: &phase.taps,
                from: &phase.from,
                input: &large[group * plane..][..plane],
                delta: &small[first * self.areas[1]..end * self.areas[1]],
                rows: &mut rows[(first - channels.start) * length..(end - channels.start) * length],
            }
            .apply();
            first = end;
        }
    }

    /// Adds the bias's gradient for one vector of cotangents at the output.
    fn add_bias(&self, delta: &[Lanes8], row: &mut [Lanes8]) {
        let area = self.areas[usize::from(!self.transposed)];
        for (total, plane) in row.iter_mut().zip(delta.chunks_exact(area)) {
            for run in plane.chunks(LANES * 4) {
                let mut part = Lanes8::default();
                for group in run {
                    super::add(&mut part, group);
                }
                super::add(total, &part);
            }
        }
    }

    /// The small channels whose gradients are formed at once if rows are not kept.
    fn tiles(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let all = if self.trained[0] { self.channels[1] } else { 0 };
        let some = (AT_ONCE / self.taps().len().max(1)).max(1);
        (0..all)
            .step_by(some)
            .map(move |first| first..(first + some).min(all))
    }

    /// Sorts a layer's values and its cotangents into large planes and small ones.
    fn large_and_small<'a>(&self, values: &'a [Lanes8], delta: &'a [Lanes8]) -> [&'a [Lanes8]; 2] {
        if self.transposed {
            [delta, values]
        } else {
            [values, delta]
        }
    }
}

impl HostLayer for HostConvolution {
    fn inputs(&self) -> usize {
        self.lengths()[usize::from(self.transposed)]
    }

    fn outputs(&self) -> usize {
        self.lengths()[usize::from(!self.transposed)]
    }

    fn parameters(&self) -> usize {
        self.trained().iter().sum()
    }

    fn forward(&self, input: &[Lanes8], _signs: &mut [u8], output: &mut [Lanes8]) {
        self.apply(!self.transposed, &self.bias, input, output);
    }

    fn backward(
        &self,
        _g: usize,
        _seen: &SavedActivations,
        delta: &[Lanes8],
        below: &mut [Lanes8],
    ) {
        self.apply(self.transposed, &[], delta, below);
    }

    fn row_length(&self) -> usize {
        match self.parameters() {
            length if length <= KEPT => length,
            _ => 0,
        }
    }

    fn gram(
        &self,
        g: usize,
        saved: &SavedActivations,
        delta: &[Lanes8],
        rows: &mut [Lanes8],
        gram: &mut [Lanes8],
    ) {
        let (inputs, outputs, length) = (self.inputs(), self.outputs(), self.row_length());
        let [weights, biases] = self.trained();
        let border = self.down.border;
        let squares = |rows: &[Lanes8], gram: &mut [Lanes8]| {
            Gram {
                g,
                rows,
                scale: Lanes8([1.0; LANES]),
                gram,
            }
            .apply();
        };
        let mut scratch = border.scratch(self.channels[0]);
        let blocks = saved
            .input
            .chunks_exact(inputs)
            .zip(delta.chunks_exact(g * outputs));
        for (block, ((x, delta), gram)) in blocks.zip(gram.chunks_exact_mut(g * g)).enumerate() {
            if length > 0 {
                let rows = &mut rows[block * g * length..][..g * length];
                rows.fill(Lanes8::default());
                let mut large = &[][..];
                for (r, delta) in delta.chunks_exact(outputs).enumerate() {
                    let (weight, bias) = rows[r * length..][..length].split_at_mut(weights);
                    let ends = self.large_and_small(x, delta);
                    if weights > 0 {
                        // A convolution's large planes are the record's input, the same for all rows.
                        if r == 0 || self.transposed {
                            large = border.around(ends[0], &mut scratch);
                        }
                        self.add_rows(0..self.channels[1], large, ends[1], weight);
                    }
                    self.add_bias(delta, bias);
                }
                squares(rows, gram);
                continue;
            }
            for tile in self.tiles() {
                let taps = tile.len() * self.taps().len();
                let mut some = Buffer::zeros(g * taps);
                for (delta, row) in delta.chunks_exact(outputs).zip(some.chunks_exact_mut(taps)) {
                    let ends = self.large_and_small(x, delta);
                    let large = border.around(ends[0], &mut scratch);
                    self.add_rows(tile.clone(), large, ends[1], row);
                }
                squares(&some, gram);
            }
            if biases > 0 {
                let mut some = Buffer::zeros(g * biases);
                for (delta, row) in delta
                    .chunks_exact(outputs)
                    .zip(some.chunks_exact_mut(biases))
                {
                    self.add_bias(delta, row);
                }
                squares(&some, gram);
            }
        }
    }

    fn gradient(&self, saved: &SavedActivations, delta: &[Lanes8], gradient: &mut [f32]) {
        let (inputs, outputs) = (self.inputs(), self.outputs());
        let (weight, bias) = gradient.split_at_mut(self.trained()[0]);
        let blocks = || {
            saved
                .input
                .chunks_exact(inputs)
                .zip(delta.chunks_exact(outputs))
        };
        let mut scratch = self.down.border.scratch(self.channels[0]);
        let length = self.taps().len();
        for tile in self.tiles() {
            let mut rows = Buffer::zeros(tile.len() * length);
            for (x, delta) in blocks() {
                let ends = self.large_and_small(x, delta);
                let large = self.down.border.around(ends[0], &mut scratch);
                self.add_rows(tile.clone(), large, ends[1], &mut rows);
                add_records(
                    &mut rows,
                    &mut weight[tile.start * length..tile.end * length],
                );
            }
        }
        if !bias.is_empty() {
            let mut row = Buffer::zeros(bias.len());
            for (_, delta) in blocks() {
                self.add_bias(delta, &mut row);
                add_records(&mut row, bias);
            }
        }
    }
}
