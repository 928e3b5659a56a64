//! Products with the matrix of inputs, `X`, which is never stored as a whole.
//!
//! A row of `X` holds 1, the one-hot codes of each column, and each column's place in its order.

use rayon::prelude::*;

use super::super::features::{Column, Features};

/// Records in one partial sum: fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 4096;

/// The inputs of records, `[n, P]`.
pub(super) struct Design<'a> {
    features: &'a Features,
}

/// A score that is a sum over codes.
#[derive(Clone, PartialEq)]
pub(in super::super) struct Linear {
    pub(in super::super) intercept: f64,
    /// What each code adds, one column after the other.
    pub(in super::super) adds: Vec<f64>,
}

impl Linear {
    /// Returns the scores of records, `[n]`.
    pub(in super::super) fn scores(&self, features: &Features) -> Vec<f64> {
        let records = (0..features.records()).into_par_iter().with_min_len(CHUNK);
        let scores = records.map(|at| {
            let added = features.places(at).map(|place| self.adds[place]);
            self.intercept + added.sum::<f64>()
        });
        scores.collect()
    }
}

/// Returns the place of a code in the order of its column, or the middle if the code has none.
fn place(column: &Column, code: usize) -> f64 {
    if code < column.ordered && column.ordered > 1 {
        code as f64 / (column.ordered - 1) as f64 - 0.5
    } else {
        0.0
    }
}

impl<'a> Design<'a> {
    pub(super) fn of(features: &'a Features) -> Self {
        Self { features }
    }

    pub(super) fn records(&self) -> usize {
        self.features.records()
    }

    /// Returns the number of inputs, `P`.
    pub(super) fn inputs(&self) -> usize {
        1 + self.features.size() + self.features.columns().len()
    }

    /// Returns `X w`, `[n]`.
    pub(super) fn scores(&self, weights: &[f64]) -> Vec<f64> {
        self.by_code(weights).scores(self.features)
    }

    /// Returns what each code adds by these weights, of itself and by its place, so that a column takes one look-up.
    pub(super) fn by_code(&self, weights: &[f64]) -> Linear {
        let (codes, places) = weights[1..].split_at(self.features.size());
        let mut adds = codes.to_vec();
        for (column, weight) in self.features.columns().iter().zip(places) {
            for code in 0..column.size {
                adds[column.start + code] += weight * place(column, code);
            }
        }
        Linear {
            intercept: weights[0],
            adds,
        }
    }

    /// Returns `X^T v`, `[P]`.
    pub(super) fn transposed(&self, values: &[f64]) -> Vec<f64> {
        self.of_sums(values, |place| place)
    }

    /// Returns `(X * X)^T v`, `[P]`, with the squares of the inputs.
    pub(super) fn squares_transposed(&self, values: &[f64]) -> Vec<f64> {
        self.of_sums(values, |place| place * place)
    }

    /// Returns `f(X)^T v` for an `f` that maps 0 to 0 and 1 to 1, from the sums of `v` over the records of each code.
    fn of_sums(&self, values: &[f64], f: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut out = vec![values.iter().sum()];
        out.extend(self.sums(values));
        for column in self.features.columns() {
            let sums = &out[1 + column.start..][..column.size];
            let parts = sums.iter().enumerate();
            let sum = parts.map(|(code, sum)| sum * f(place(column, code)));
            out.push(sum.sum());
        }
        out
    }

    /// Returns the sums of `values` over the records of each code.
    fn sums(&self, values: &[f64]) -> Vec<f64> {
        let chunks: Vec<Vec<f64>> = values
            .par_chunks(CHUNK)
            .enumerate()
            .map(|(chunk, values)| {
                let mut sums = vec![0.0; self.features.size()];
                for (i, value) in values.iter().enumerate() {
                    for place in self.features.places(chunk * CHUNK + i) {
                        sums[place] += value;
                    }
                }
                sums
            })
            .collect();
        let added = chunks.into_iter().reduce(|mut all, chunk| {
            all.iter_mut().zip(chunk).for_each(|(a, c)| *a += c);
            all
        });
        added.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CodedRecords;

    #[test]
    fn products_are_those_of_the_whole_matrix() {
        let codes = [0, 2, 1, 1, 0, 0, 2, 1, 1, 3, 2, 0, 3, 1, 0];
        let table = CodedRecords::new(&codes, &[4, 3, 2], &[3, 0, 0]).unwrap();
        let features = Features::of(&table, 2);
        let design = Design::of(&features);
        #[rustfmt::skip]
        let whole: [[f64; 10]; 5] = [
            [1.0,  1.0, 0.0, 0.0, 0.0,  0.0, 0.0, 1.0,  -0.5, 0.0],
            [1.0,  0.0, 1.0, 0.0, 0.0,  1.0, 0.0, 0.0,   0.0, 0.0],
            [1.0,  0.0, 0.0, 1.0, 0.0,  0.0, 1.0, 0.0,   0.5, 0.0],
            [1.0,  0.0, 0.0, 0.0, 1.0,  0.0, 0.0, 1.0,   0.0, 0.0],
            [1.0,  0.0, 0.0, 0.0, 1.0,  0.0, 1.0, 0.0,   0.0, 0.0],
        ];
        let weights: Vec<f64> = (0..10).map(|i| f64::from(i * i % 7) - 2.0).collect();
        let values: Vec<f64> = (0..5).map(|i| 0.5 + f64::from(i * i)).collect();
        let product = |row: &[f64; 10]| row.iter().zip(&weights).map(|(x, w)| x * w).sum();
        let scores: Vec<f64> = whole.iter().map(product).collect();
        assert_eq!(design.scores(&weights), scores);
        let transposed = |power| -> Vec<f64> {
            let input = |at: usize| {
                let rows = whole.iter().zip(&values);
                rows.map(|(x, v)| v * x[at].powi(power)).sum()
            };
            (0..10).map(input).collect()
        };
        assert_eq!(design.transposed(&values), transposed(1));
        assert_eq!(design.squares_transposed(&values), transposed(2));
    }
}
