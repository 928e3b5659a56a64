//! Fits a mixture of products to all noisy counts at once.
//!
//! The loss is weighted least squares with an information penalty,
//!
//! `1/2 sum_t sum_x (p_t(x) - y_t(x) / n)^2 n^2 / s_t^2 + lambda n (sum_j I(k; x_j) + I(k; c))`,
//!
//! over tables `t` of noisy counts `y_t` of deviation `s_t`; `p_t` is the mixture's own table and `I` the mutual information of
//! the component with a column, or with the label. Without the penalty a mixture of many components fits the noise. Adam
//! takes fixed steps on the logits of all distributions.
//!
//! With `theta` as a matrix `Theta` of `K` rows, one column a value, the counts of all pairs given class `c` are
//! `P_c = Theta^T diag(a_c) Theta`, and where `S_c` is the gradient in `P_c`, those in `theta` and `a` are
//! `sum_c diag(a_c) Theta S_c` and `1/2` of the row sums of `Theta S_c` times `Theta`: two products of matrices a class and step,
//! whatever `n` is.

use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, Axis};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use super::Products;
use crate::NoisyCounts;

/// Rows of a matrix that one thread computes at once.
const ROWS: usize = 64;
/// Steps, and the rate of Adam. Its second moments forget fast: gradients are exact, and fall by orders of magnitude.
pub const STEPS: usize = 500;
const RATE: f32 = 0.3;
const WARM_UP: usize = 20;
const MOMENTS: [f32; 2] = [0.9, 0.95];
/// Deviations of the first logits of columns and of weights: components that are alike stay alike.
const SPREAD: [f32; 2] = [0.7, 1.5];
/// The least probability that a logit starts from.
const LEAST: f64 = 1e-4;

/// How a mixture is fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// `K`.
    pub components: usize,
    /// `lambda`.
    pub penalty: f64,
}

/// What noisy counts say, as shares of all records, with how much each counts.
struct Target {
    /// Of every value of a column alone, and of every class: the share, and `n^2 / s^2`; 0 where it was not measured.
    single: Vec<[f32; 2]>,
    classes: Vec<[f32; 2]>,
    /// Of values with each class, `[C, M]`.
    labelled: Vec<[f32; 2]>,
    /// Of pairs of values, `[M, M]`, symmetric.
    pairs: Vec<[f32; 2]>,
    /// The same given each class, `[C, M, M]`.
    labelled_pairs: Vec<Vec<[f32; 2]>>,
}

/// Fits to the noisy `tables` of `records` records: of columns, pairs, and pairs with the label.
///
/// - `sizes`: values of each column, the label among them; `label`: its place;
/// - `step`: called after each step; an error of it ends the fit.
///
/// The result depends on the arguments and the generator alone, not on the number of threads.
///
/// # Errors
/// What `step` gives.
///
/// # Panics
/// For tables of columns that there are not, or of three columns without the label.
pub fn fit<E>(
    tables: &[NoisyCounts],
    sizes: &[usize],
    label: Option<usize>,
    records: usize,
    how: Fit,
    rng: &mut impl Rng,
    mut step: impl FnMut() -> Result<(), E>,
) -> Result<Products, E> {
    let own: Vec<usize> = (0..sizes.len()).filter(|&j| Some(j) != label).collect();
    let own_sizes: Vec<usize> = own.iter().map(|&j| sizes[j]).collect();
    let classes = label.map_or(1, |label| sizes[label]);
    let blocks = Blocks::new(&own_sizes);
    let target = Target::new(tables, &own, &blocks, label, classes, records as f64);
    let mut normal = || -> f32 { StandardNormal.sample(rng) };
    let start = |[share, weight]: [f32; 2], size: usize| -> f32 {
        match weight > 0.0 {
            true => f64::from(share).max(LEAST).ln() as f32,
            false => -(size as f32).ln(),
        }
    };
    let mut logits = Vec::new();
    for _ in 0..how.components {
        let all = target.classes.iter();
        logits.extend(all.map(|&share| start(share, classes) + SPREAD[1] * normal()));
    }
    for _ in 0..how.components {
        for (j, &size) in own_sizes.iter().enumerate() {
            let all = target.single[blocks.of(j)].iter();
            logits.extend(all.map(|&share| start(share, size) + SPREAD[0] * normal()));
        }
    }
    let penalty = (how.penalty * records as f64) as f32;
    let mut work = Work::new(&blocks, classes, how.components);
    let mut adam = Adam::new(logits.len());
    for at in 0..STEPS {
        let gradient = work.gradient(&logits, &blocks, &target, penalty);
        adam.step(&mut logits, gradient, rate(at));
        step()?;
    }
    work.distributions(&logits, &blocks);
    Ok(Products {
        sizes: own_sizes,
        label: label.map(|label| (label, classes)),
        weights: work.weights,
        values: work.values,
    })
}

/// The rate at a step: a warm-up, then a cosine down to 0.
fn rate(at: usize) -> f32 {
    let done = at as f32 / STEPS as f32;
    let warm = ((at + 1) as f32 / WARM_UP as f32).min(1.0);
    RATE * warm * 0.5 * (1.0 + (std::f32::consts::PI * done).cos())
}

/// Where the values of each column lie among all.
struct Blocks {
    starts: Vec<usize>,
    /// The column of each value.
    columns: Vec<usize>,
}

impl Blocks {
    fn new(sizes: &[usize]) -> Self {
        let mut starts = vec![0];
        for size in sizes {
            starts.push(starts[starts.len() - 1] + size);
        }
        let columns = sizes.iter().enumerate();
        Self {
            starts,
            columns: columns
                .flat_map(|(j, &size)| std::iter::repeat_n(j, size))
                .collect(),
        }
    }

    /// `M`.
    fn width(&self) -> usize {
        self.columns.len()
    }

    fn of(&self, column: usize) -> Range<usize> {
        self.starts[column]..self.starts[column + 1]
    }

    fn all(&self) -> impl Iterator<Item = Range<usize>> {
        self.starts.windows(2).map(|ends| ends[0]..ends[1])
    }
}

impl Target {
    fn new(
        tables: &[NoisyCounts],
        own: &[usize],
        blocks: &Blocks,
        label: Option<usize>,
        classes: usize,
        records: f64,
    ) -> Self {
        let (width, none) = (blocks.width(), [0.0; 2]);
        let mut target = Self {
            single: vec![none; width],
            classes: vec![none; classes],
            labelled: vec![none; classes * width],
            pairs: vec![none; width * width],
            labelled_pairs: vec![
                vec![none; width * width];
                if label.is_some() { classes } else { 0 }
            ],
        };
        for table in tables {
            let ranges: Vec<Range<usize>> = table
                .columns
                .iter()
                .map(|&column| match own.iter().position(|&j| j == column) {
                    Some(place) => blocks.of(place),
                    None => 0..classes,
                })
                .collect();
            let at_label = table.columns.iter().position(|&j| Some(j) == label);
            let mut codes: Vec<usize> = ranges.iter().map(|range| range.start).collect();
            for (cell, count) in table.counts.iter().enumerate() {
                // Without noise every count is known to one record.
                let deviation = table.deviation_of(cell).max(1.0);
                let weight = (records / deviation).powi(2) as f32;
                let class = at_label.map(|place| codes[place]);
                let mut values = codes.iter().enumerate();
                let mut value = || values.find(|(place, _)| Some(*place) != at_label);
                let (x, y) = (value().map(|(_, &x)| x), value().map(|(_, &y)| y));
                target.put(class, x, y, [(count / records) as f32, weight], width);
                // The last column varies fastest.
                for (code, range) in codes.iter_mut().zip(&ranges).rev() {
                    *code += 1;
                    if *code < range.end {
                        break;
                    }
                    *code = range.start;
                }
            }
        }
        target
    }

    /// Takes what was found of values `x` and `y`, and a class, or of as many of these as are given.
    fn put(
        &mut self,
        class: Option<usize>,
        x: Option<usize>,
        y: Option<usize>,
        found: [f32; 2],
        width: usize,
    ) {
        match (class, x, y) {
            (Some(class), None, _) => self.classes[class] = found,
            (None, Some(x), None) => self.single[x] = found,
            (Some(class), Some(x), None) => self.labelled[class * width + x] = found,
            (class, Some(x), Some(y)) => {
                let pairs = match class {
                    Some(class) => &mut self.labelled_pairs[class],
                    None => &mut self.pairs,
                };
                pairs[x * width + y] = found;
                pairs[y * width + x] = found;
            }
            (None, None, _) => {}
        }
    }
}

/// What a step computes.
struct Work {
    classes: usize,
    /// `a`, `[K, C]`, and `theta`, `[K, M]`, with their logarithms.
    weights: Vec<f32>,
    log_weights: Vec<f32>,
    values: Vec<f32>,
    log_values: Vec<f32>,
    /// `diag(a_c) Theta`, `[C, K, M]`.
    scaled: Vec<f32>,
    /// `S_c`, `[C, M, M]`.
    pulls: Vec<f32>,
    gradient: Vec<f32>,
}

impl Work {
    fn new(blocks: &Blocks, classes: usize, components: usize) -> Self {
        let (k, m, c) = (components, blocks.width(), classes);
        Self {
            classes,
            weights: vec![0.0; k * c],
            log_weights: vec![0.0; k * c],
            values: vec![0.0; k * m],
            log_values: vec![0.0; k * m],
            scaled: vec![0.0; c * k * m],
            pulls: vec![0.0; c * m * m],
            gradient: vec![0.0; k * (c + m)],
        }
    }

    /// Distributions of logits.
    fn distributions(&mut self, logits: &[f32], blocks: &Blocks) {
        let (weights, values) = logits.split_at(self.weights.len());
        softmax(weights, &mut self.weights, &mut self.log_weights);
        let m = blocks.width();
        self.values
            .par_chunks_mut(m)
            .zip(self.log_values.par_chunks_mut(m))
            .zip(values.par_chunks(m))
            .for_each(|((values, logs), logits)| {
                for block in blocks.all() {
                    softmax(
                        &logits[block.clone()],
                        &mut values[block.clone()],
                        &mut logs[block],
                    );
                }
            });
    }

    /// The gradient of the loss in the logits.
    fn gradient(
        &mut self,
        logits: &[f32],
        blocks: &Blocks,
        target: &Target,
        penalty: f32,
    ) -> &[f32] {
        self.distributions(logits, blocks);
        let (m, c) = (blocks.width(), self.classes);
        let k = self.weights.len() / c;
        let (weights, values) = (&self.weights, &self.values);
        self.scaled
            .par_chunks_mut(m)
            .enumerate()
            .for_each(|(row, scaled)| {
                let (class, component) = (row / k, row % k);
                let weight = weights[component * c + class];
                let values = &values[component * m..(component + 1) * m];
                scaled
                    .iter_mut()
                    .zip(values)
                    .for_each(|(scaled, value)| *scaled = weight * value);
            });
        // Shares of values with each class, and what pulls at them.
        let mut labelled = vec![0.0_f32; c * m];
        for (sums, rows) in labelled
            .chunks_exact_mut(m)
            .zip(self.scaled.chunks_exact(k * m))
        {
            for row in rows.chunks_exact(m) {
                sums.iter_mut()
                    .zip(row)
                    .for_each(|(sum, value)| *sum += value);
            }
        }
        let single: Vec<f32> = (0..m)
            .map(|x| labelled.iter().skip(x).step_by(m).sum())
            .collect();
        let pull = |found: &f32, [share, weight]: &[f32; 2]| weight * (found - share);
        let alone: Vec<f32> = single
            .iter()
            .zip(&target.single)
            .map(|(p, y)| pull(p, y))
            .collect();
        let mut with_class: Vec<f32> = labelled
            .iter()
            .zip(&target.labelled)
            .map(|(p, y)| pull(p, y))
            .collect();
        for pulls in with_class.chunks_exact_mut(m) {
            pulls
                .iter_mut()
                .zip(&alone)
                .for_each(|(pull, alone)| *pull += alone);
        }
        let class_shares: Vec<f32> = (0..c)
            .map(|class| weights.iter().skip(class).step_by(c).sum())
            .collect();
        let of_class: Vec<f32> = class_shares
            .iter()
            .zip(&target.classes)
            .map(|(p, y)| pull(p, y))
            .collect();
        let log_single: Vec<f32> = single
            .iter()
            .map(|p| p.max(f32::MIN_POSITIVE).ln())
            .collect();
        let log_class: Vec<f32> = class_shares
            .iter()
            .map(|p| p.max(f32::MIN_POSITIVE).ln())
            .collect();
        self.pull_pairs(target, m, k);
        self.push_back(
            &with_class,
            &of_class,
            &log_single,
            &log_class,
            blocks,
            penalty,
        );
        &self.gradient
    }

    /// `S_c` of every class: how the loss changes with the counts of pairs.
    fn pull_pairs(&mut self, target: &Target, m: usize, k: usize) {
        let c = self.classes;
        let theta = ArrayView2::from_shape((k, m), &self.values).expect("K x M");
        let scaled: Vec<ArrayView2<'_, f32>> = self
            .scaled
            .chunks_exact(k * m)
            .map(|scaled| ArrayView2::from_shape((k, m), scaled).expect("K x M"))
            .collect();
        // Rows of all classes together, which meet in the pairs of no class.
        let mut rows: Vec<Vec<&mut [f32]>> = (0..m.div_ceil(ROWS)).map(|_| Vec::new()).collect();
        for pulls in self.pulls.chunks_exact_mut(m * m) {
            for (rows, part) in rows.iter_mut().zip(pulls.chunks_mut(ROWS * m)) {
                rows.push(part);
            }
        }
        rows.par_iter_mut().enumerate().for_each(|(part, rows)| {
            let first = part * ROWS;
            let count = rows[0].len() / m;
            for (out, scaled) in rows.iter_mut().zip(&scaled) {
                let left = scaled.slice_axis(Axis(1), (first..first + count).into());
                let mut out = ArrayViewMut2::from_shape((count, m), out).expect("rows of M");
                general_mat_mul(1.0, &left.t(), &theta, 0.0, &mut out);
            }
            let cells = first * m..(first + count) * m;
            for (at, [share, weight]) in target.pairs[cells.clone()].iter().enumerate() {
                let all: f32 = rows.iter().map(|row| row[at]).sum();
                let pull = weight * (all - share);
                for (class, row) in rows.iter_mut().enumerate().take(c) {
                    let own = target.labelled_pairs.get(class);
                    let own = own.map_or(0.0, |own| {
                        let [share, weight] = own[cells.start + at];
                        weight * (row[at] - share)
                    });
                    row[at] = pull + own;
                }
            }
        });
    }

    /// Gradients in the logits of what pulls at counts, and of the penalty.
    fn push_back(
        &mut self,
        with_class: &[f32],
        of_class: &[f32],
        log_single: &[f32],
        log_class: &[f32],
        blocks: &Blocks,
        penalty: f32,
    ) {
        let (m, c) = (blocks.width(), self.classes);
        let k = self.weights.len() / c;
        let theta = ArrayView2::from_shape((k, m), &self.values).expect("K x M");
        let pulls: Vec<ArrayView2<'_, f32>> = self
            .pulls
            .chunks_exact(m * m)
            .map(|pulls| ArrayView2::from_shape((m, m), pulls).expect("M x M"))
            .collect();
        let (of_weights, of_values) = self.gradient.split_at_mut(k * c);
        let (weights, values) = (&self.weights, &self.values);
        let (log_weights, log_values) = (&self.log_weights, &self.log_values);
        of_values
            .par_chunks_mut(ROWS * m)
            .zip(of_weights.par_chunks_mut(ROWS * c))
            .enumerate()
            .for_each(|(part, (of_values, of_weights))| {
                let first = part * ROWS;
                let count = of_weights.len() / c;
                let left = theta.slice_axis(Axis(0), (first..first + count).into());
                let mut product = vec![0.0_f32; count * m];
                of_values.fill(0.0);
                for class in 0..c {
                    let mut out =
                        ArrayViewMut2::from_shape((count, m), &mut product).expect("rows of M");
                    general_mat_mul(1.0, &left, &pulls[class], 0.0, &mut out);
                    let with_class = &with_class[class * m..(class + 1) * m];
                    for row in 0..count {
                        let at = first + row;
                        let weight = weights[at * c + class];
                        let theta = &values[at * m..(at + 1) * m];
                        let product = &product[row * m..(row + 1) * m];
                        let mut sum = 0.0;
                        for (((out, &pair), &single), &theta) in of_values[row * m..(row + 1) * m]
                            .iter_mut()
                            .zip(product)
                            .zip(with_class)
                            .zip(theta)
                        {
                            *out += weight * (pair + single);
                            sum += theta * (0.5 * pair + single);
                        }
                        of_weights[row * c + class] = sum + of_class[class];
                    }
                }
                for row in 0..count {
                    let at = first + row;
                    let all: f32 = weights[at * c..(at + 1) * c].iter().sum();
                    let log_all = all.max(f32::MIN_POSITIVE).ln();
                    let theta = &values[at * m..(at + 1) * m];
                    let logs = &log_values[at * m..(at + 1) * m];
                    let out = &mut of_values[row * m..(row + 1) * m];
                    let mut information = 0.0;
                    for (((out, &theta), &log), &log_single) in
                        out.iter_mut().zip(theta).zip(logs).zip(log_single)
                    {
                        *out += penalty * all * (log - log_single);
                        information += theta * (log - log_single);
                    }
                    for block in blocks.all() {
                        softmax_back(&theta[block.clone()], &mut out[block]);
                    }
                    for class in 0..c {
                        let log = log_weights[at * c + class] - log_all - log_class[class];
                        of_weights[row * c + class] += penalty * (information + log);
                    }
                }
            });
        softmax_back(weights, of_weights);
    }
}

/// Probabilities of logits, and their logarithms.
fn softmax(logits: &[f32], values: &mut [f32], logs: &mut [f32]) {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for (value, &logit) in values.iter_mut().zip(logits) {
        *value = (logit - most).exp();
        sum += *value;
    }
    let log = most + sum.ln();
    for ((value, to), &logit) in values.iter_mut().zip(logs).zip(logits) {
        *value /= sum;
        *to = logit - log;
    }
}

/// From the gradient in probabilities to that in their logits.
fn softmax_back(values: &[f32], gradient: &mut [f32]) {
    let mean: f32 = values
        .iter()
        .zip(&*gradient)
        .map(|(value, g)| value * g)
        .sum();
    gradient
        .iter_mut()
        .zip(values)
        .for_each(|(g, value)| *g = value * (*g - mean));
}

struct Adam {
    first: Vec<f32>,
    second: Vec<f32>,
    steps: i32,
}

impl Adam {
    fn new(count: usize) -> Self {
        Self {
            first: vec![0.0; count],
            second: vec![0.0; count],
            steps: 0,
        }
    }

    fn step(&mut self, values: &mut [f32], gradient: &[f32], rate: f32) {
        self.steps += 1;
        let [a, b] = MOMENTS;
        let rate = rate * (1.0 - b.powi(self.steps)).sqrt() / (1.0 - a.powi(self.steps));
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((value, &g), (first, second)) in values.iter_mut().zip(gradient).zip(moments) {
            *first = a * *first + (1.0 - a) * g;
            *second = b * *second + (1.0 - b) * g * g;
            *value -= rate * *first / (second.sqrt() + 1e-8);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::*;

    const SIZES: [usize; 4] = [3, 2, 4, 2];
    const LABEL: usize = 1;

    fn tables(rng: &mut ChaCha20Rng, sets: &[&[usize]]) -> Vec<NoisyCounts> {
        let table = |columns: &&[usize]| {
            let cells = columns.iter().map(|&j| SIZES[j]).product::<usize>();
            NoisyCounts {
                columns: columns.to_vec(),
                counts: (0..cells).map(|_| rng.random_range(-5.0..60.0)).collect(),
                deviation: rng.random_range(2.0..9.0),
                joined: (0..cells).map(|_| rng.random_range(1..4)).collect(),
            }
        };
        sets.iter().map(table).collect()
    }

    const SETS: [&[usize]; 9] = [
        &[0],
        &[1],
        &[3],
        &[0, 2],
        &[2, 3],
        &[0, 1],
        &[1, 3],
        &[0, 1, 2],
        &[1, 2, 3],
    ];

    /// The loss by brute force over all cells of the whole table, in `f64`.
    fn loss(logits: &[f64], tables: &[NoisyCounts], k: usize, n: f64, penalty: f64) -> f64 {
        let c = SIZES[LABEL];
        let own = [0, 2, 3];
        let soft = |logits: &[f64]| -> Vec<f64> {
            let sum: f64 = logits.iter().map(|l| l.exp()).sum();
            logits.iter().map(|l| l.exp() / sum).collect()
        };
        let a = soft(&logits[..k * c]);
        let m: usize = own.iter().map(|&j| SIZES[j]).sum();
        let theta: Vec<Vec<Vec<f64>>> = (0..k)
            .map(|k0| {
                let mut start = k * c + k0 * m;
                own.iter()
                    .map(|&j| {
                        start += SIZES[j];
                        soft(&logits[start - SIZES[j]..start])
                    })
                    .collect()
            })
            .collect();
        let mut whole = Vec::new();
        for x0 in 0..SIZES[0] {
            for y in 0..c {
                for x2 in 0..SIZES[2] {
                    for x3 in 0..SIZES[3] {
                        let p: f64 = (0..k)
                            .map(|k| {
                                a[k * c + y] * theta[k][0][x0] * theta[k][1][x2] * theta[k][2][x3]
                            })
                            .sum();
                        whole.push(([x0, y, x2, x3], p));
                    }
                }
            }
        }
        let mut sum = 0.0;
        for table in tables {
            let mut own = vec![0.0; table.counts.len()];
            for (codes, p) in &whole {
                own[table
                    .columns
                    .iter()
                    .fold(0, |cell, &j| cell * SIZES[j] + codes[j])] += p;
            }
            for (cell, (p, y)) in own.iter().zip(&table.counts).enumerate() {
                sum += 0.5 * ((p * n - y) / table.deviation_of(cell)).powi(2);
            }
        }
        let w: Vec<f64> = (0..k).map(|k| a[k * c..(k + 1) * c].iter().sum()).collect();
        for (j, size) in [3, 4, 2].into_iter().enumerate() {
            let of_value = |x: usize| {
                let share: f64 = (0..k).map(|k| w[k] * theta[k][j][x]).sum();
                let each = (0..k).map(|k| w[k] * theta[k][j][x] * (theta[k][j][x] / share).ln());
                each.sum::<f64>()
            };
            sum += penalty * n * (0..size).map(of_value).sum::<f64>();
        }
        for y in 0..c {
            let q: f64 = (0..k).map(|k| a[k * c + y]).sum();
            sum += penalty
                * n
                * (0..k)
                    .map(|k| a[k * c + y] * (a[k * c + y] / w[k] / q).ln())
                    .sum::<f64>();
        }
        sum
    }

    #[test]
    fn gradients_are_differences_of_the_loss() {
        let rng = &mut ChaCha20Rng::seed_from_u64(3);
        let tables = tables(rng, &SETS);
        let (k, n, penalty) = (5, 200.0, 0.3);
        let own = [0, 2, 3];
        let blocks = Blocks::new(&own.map(|j| SIZES[j]));
        let count = k * (2 + blocks.width());
        let logits: Vec<f32> = (0..count).map(|_| rng.random_range(-1.0..1.0)).collect();
        let target = Target::new(&tables, &own, &blocks, Some(LABEL), 2, n);
        let mut work = Work::new(&blocks, 2, k);
        let gradient = work
            .gradient(&logits, &blocks, &target, (penalty * n) as f32)
            .to_vec();
        let exact: Vec<f64> = logits.iter().map(|&l| f64::from(l)).collect();
        let scale = gradient.iter().fold(0.0_f32, |most, g| most.max(g.abs()));
        for at in 0..count {
            let moved = |by: f64| {
                let mut moved = exact.clone();
                moved[at] += by;
                loss(&moved, &tables, k, n, penalty)
            };
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!(
                (difference - f64::from(gradient[at])).abs() < 1e-4 * f64::from(scale),
                "{at}: {difference} {}",
                gradient[at]
            );
        }
    }

    /// Exact counts of a mixture of two components are found again, and the number of threads does not matter.
    #[test]
    fn a_mixture_is_found_again() {
        let rng = &mut ChaCha20Rng::seed_from_u64(4);
        let (sizes, n) = ([2, 2, 2], 10_000.0);
        let p = |codes: [usize; 3]| {
            let one = codes.iter().map(|&code| [0.9, 0.1][code]).product::<f64>();
            let two = codes.iter().map(|&code| [0.2, 0.8][code]).product::<f64>();
            0.3 * one + 0.7 * two
        };
        let table = |columns: &[usize]| {
            let mut counts = vec![0.0; 1 << columns.len()];
            for cell in 0..8 {
                let codes = [cell >> 2 & 1, cell >> 1 & 1, cell & 1];
                counts[columns.iter().fold(0, |at, &j| 2 * at + codes[j])] += n * p(codes);
            }
            NoisyCounts {
                columns: columns.to_vec(),
                counts,
                deviation: 5.0,
                joined: Vec::new(),
            }
        };
        let tables: Vec<NoisyCounts> = [&[0][..], &[1], &[2], &[0, 1], &[0, 2], &[1, 2]]
            .map(table)
            .to_vec();
        let how = Fit {
            components: 8,
            penalty: 1e-4,
        };
        let mut rng_of = rng.clone();
        let found = fit(&tables, &sizes, None, n as usize, how, rng, || {
            Ok::<_, ()>(())
        })
        .expect("a fit");
        let one = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build()
            .expect("a pool");
        let again = one.install(|| {
            fit(&tables, &sizes, None, n as usize, how, &mut rng_of, || {
                Ok::<_, ()>(())
            })
        });
        assert_eq!(again.expect("a fit"), found);
        for column in 0..3 {
            let share = found.column(column)[0];
            assert!((share - 0.41).abs() < 0.003, "{column}: {share}");
        }
        // Pairs, and the triple that was not measured, are near those of the mixture.
        let rows = found.sample(20_000, &mut ChaCha20Rng::seed_from_u64(5));
        let share = |columns: &[usize]| {
            rows.chunks_exact(3)
                .filter(|row| columns.iter().all(|&j| row[j] == 0))
                .count() as f64
                / 20_000.0
        };
        assert!(
            (share(&[0, 1]) - (0.3 * 0.81 + 0.7 * 0.04)).abs() < 0.01,
            "{}",
            share(&[0, 1])
        );
        assert!(
            (share(&[0, 1, 2]) - (0.3 * 0.729 + 0.7 * 0.008)).abs() < 0.03,
            "{}",
            share(&[0, 1, 2])
        );
    }
}
