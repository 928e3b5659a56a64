//! The sum of clipped gradients.

use dp_core::mechanism::SensitiveVector;
use nalgebra::DMatrix;
use rayon::prelude::*;

use super::{BLOCK, Examples, columns, probabilities};

/// The sum over all examples of `x P^T`, each clipped to `bound`, with its sensitivity to one example, or to `most` of them that
/// come and go together; `P` is the difference between the probabilities of the classes and the label's one-hot vector. The norm of
/// one gradient is `|x| |P|`.
///
/// - `count`: the number of records, or of units, which is public: the sensitivity must not tell how many records units have.
pub(super) fn clipped_sum(
    examples: &Examples,
    weights: &[f64],
    bound: f64,
    most: usize,
    count: usize,
) -> SensitiveVector {
    let (width, classes) = (examples.width(), examples.classes());
    let rows = examples.rows.par_chunks(BLOCK * width);
    let blocks = rows.zip(examples.labels.par_chunks(BLOCK));
    let sums = blocks.map(|(rows, labels)| {
        let rows = columns(rows, width);
        let mut pulls = probabilities(weights, classes, &rows);
        let each = pulls.column_iter_mut().zip(rows.column_iter()).zip(labels);
        for ((mut pull, row), &label) in each {
            pull[usize::from(label)] -= 1.0;
            let norm = pull.norm() * row.norm();
            match norm.is_finite() {
                true if norm > bound => pull *= bound / norm,
                true => {}
                // An error would tell of the record.
                false => pull.fill(0.0),
            }
        }
        pulls * rows.transpose()
    });
    // In the order of blocks, so that the sum does not depend on threads.
    let sums: Vec<DMatrix<f64>> = sums.collect();
    let mut sum = DMatrix::zeros(classes, width);
    sums.iter().for_each(|part| sum += part);
    let sensitivity = 2.0 * bound * most as f64 * (1.0 + rounding(count * most));
    SensitiveVector::l2(sum.data.into(), sensitivity)
}

/// What rounding may add to the distance of two neighbouring sums of `count` gradients, relative to it: each term of a sum takes part
/// in at most `BLOCK + count / BLOCK` additions, and each addition is off by `2^-53` of its result.
fn rounding(count: usize) -> f64 {
    let count = count as f64;
    count * (BLOCK as f64 + count / BLOCK as f64 + 8.0) * f64::EPSILON
}
