//! Boosted trees: each tree is fitted to the loss that those before it leave.

use rayon::prelude::*;

use super::super::features::{Features, smoothed_log_odds};
use super::grow::Tree;
use super::histogram::Derivatives;

/// The number of trees.
pub(in super::super) const ROUNDS: usize = 100;
/// The learning rate, by which the values of trees are multiplied.
const RATE: f64 = 0.1;
/// Records that one thread scores together.
const CHUNK: usize = 2048;

/// Trees whose values add up to the log-odds of a class.
#[derive(Clone, PartialEq)]
pub(in super::super) struct Ensemble {
    pub(in super::super) start: f64,
    pub(in super::super) trees: Vec<Tree>,
}

impl Ensemble {
    /// Trains the trees to tell which records are `positive`, `[n]`.
    pub(in super::super) fn fit(features: &Features, positive: &[bool]) -> Self {
        let yes = positive.iter().filter(|&&p| p).count();
        let no = positive.len() - yes;
        if yes == 0 || no == 0 {
            // All records are of one class.
            return Self {
                start: smoothed_log_odds(positive),
                trees: Vec::new(),
            };
        }
        let start = (yes as f64 / no as f64).ln();
        let mut scores = vec![start; positive.len()];
        let mut derivatives = vec![[0.0; 2]; positive.len()];
        let mut trees = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            differentiate(&scores, positive, &mut derivatives);
            trees.push(Tree::grow(features, &derivatives, RATE, &mut scores));
        }
        Self { start, trees }
    }

    /// Returns the log-odds of each record.
    pub(in super::super) fn scores(&self, features: &Features) -> Vec<f64> {
        let records = (0..features.records()).into_par_iter();
        let scores = records.with_min_len(CHUNK).map(|at| {
            let record = features.record(at);
            let values = self.trees.iter().map(|tree| tree.value(record));
            self.start + values.sum::<f64>()
        });
        scores.collect()
    }
}

/// Writes the derivatives of the logistic loss, `p - y` and `p (1 - p)` with `p = 1 / (1 + exp(-score))`.
fn differentiate(scores: &[f64], positive: &[bool], derivatives: &mut [Derivatives]) {
    let records = derivatives.par_iter_mut().with_min_len(CHUNK);
    records
        .zip(scores)
        .zip(positive)
        .for_each(|((derivatives, &score), &positive)| {
            let p = 1.0 / (1.0 + (-score).exp());
            let y = f64::from(u8::from(positive));
            *derivatives = [(p - y) as f32, (p * (1.0 - p)) as f32];
        });
}
