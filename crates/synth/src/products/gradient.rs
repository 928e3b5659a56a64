//! The gradient of the loss of a fit, by products of matrices.
//!
//! With `theta` as a matrix `Theta` of `K` rows, one column per value, the counts of all pairs given class `c` are
//! `P_c = Theta^T diag(a_c) Theta`. If `S_c` is the gradient with respect to `P_c`, those with respect to `theta` and `a` are
//! `sum_c diag(a_c) Theta S_c` and `1/2` of the row sums of `Theta S_c` times `Theta`: two products of matrices per class and
//! step, for any `n`.

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, Axis};
use rayon::prelude::*;

use super::noisy_shares::{Blocks, NoisyShares};

/// The number of rows of a matrix that one thread computes at once.
const ROWS: usize = 64;

/// The buffers of a step.
pub(super) struct Work {
    classes: usize,
    /// `a`, `[K, C]`, and `theta`, `[K, M]`, with their logarithms.
    pub(super) weights: Vec<f32>,
    log_weights: Vec<f32>,
    pub(super) values: Vec<f32>,
    log_values: Vec<f32>,
    /// `diag(a_c) Theta`, `[C, K, M]`.
    scaled: Vec<f32>,
    /// `S_c`, `[C, M, M]`.
    pulls: Vec<f32>,
    gradient: Vec<f32>,
}

impl Work {
    pub(super) fn new(blocks: &Blocks, classes: usize, components: usize) -> Self {
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

    /// Computes the distributions of logits.
    pub(super) fn distributions(&mut self, logits: &[f32], blocks: &Blocks) {
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

    /// Computes the gradient of the loss with respect to the logits.
    pub(super) fn gradient(
        &mut self,
        logits: &[f32],
        blocks: &Blocks,
        target: &NoisyShares,
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
        // Shares of values with each class, and their gradients.
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

    /// Computes `S_c` of every class: the gradient of the loss with respect to the counts of pairs.
    fn pull_pairs(&mut self, target: &NoisyShares, m: usize, k: usize) {
        let c = self.classes;
        let theta = ArrayView2::from_shape((k, m), &self.values).expect("K x M");
        let scaled: Vec<ArrayView2<'_, f32>> = self
            .scaled
            .chunks_exact(k * m)
            .map(|scaled| ArrayView2::from_shape((k, m), scaled).expect("K x M"))
            .collect();
        // Rows of all classes together, because they add up to the pairs without a class.
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

    /// Computes gradients with respect to the logits from those of counts, and from the penalty.
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

/// Computes the probabilities of logits, and their logarithms.
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

/// Turns the gradient with respect to probabilities into that with respect to their logits.
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
