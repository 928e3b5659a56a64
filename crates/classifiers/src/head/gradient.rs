//! The sum of clipped gradients.

use dp_core::mechanism::SensitiveVector;
use nalgebra::{DMatrix, DVectorViewMut};
use rayon::prelude::*;

use super::examples::{Targets, ValueLoss};
use super::{BLOCK, ClassWeights, Examples, HeadConfig, columns, logits, softmax};

/// The sum over all examples of `x P^T`, each clipped, with its sensitivity to one example, or to as many of them as a unit has. `P` is
/// the derivative of the loss by the outputs: of classes the difference between their probabilities and the label's one-hot vector. The
/// norm of one gradient is `|x| |P|`. Class weights, at most 1, multiply what is clipped.
///
/// - `count`: the number of records, or of units, which is public: the sensitivity must not tell how many records units have.
pub(super) fn clipped_sum(
    examples: &Examples,
    weights: &[f64],
    config: HeadConfig,
    balance: Option<&ClassWeights>,
    count: usize,
) -> SensitiveVector {
    let (width, outputs) = (examples.width(), examples.outputs());
    let (bound, most) = (config.max_grad_norm, config.most_per_unit);
    let blocks = examples.rows.par_chunks(BLOCK * width).enumerate();
    let sums = blocks.map(|(block, rows)| {
        let rows = columns(rows, width);
        let mut pulls = logits(weights, outputs, &rows);
        let each = pulls.column_iter_mut().zip(rows.column_iter());
        for (place, (mut pull, row)) in each.enumerate() {
            let weight =
                differentiate(&mut pull, &examples.targets, block * BLOCK + place, balance);
            let norm = pull.norm() * row.norm();
            match norm.is_finite() {
                true if norm > bound => pull *= weight * bound / norm,
                true => pull *= weight,
                // An error would tell of the record.
                false => pull.fill(0.0),
            }
        }
        pulls * rows.transpose()
    });
    // In the order of blocks, so that the sum does not depend on threads.
    let sums: Vec<DMatrix<f64>> = sums.collect();
    let mut sum = DMatrix::zeros(outputs, width);
    sums.iter().for_each(|part| sum += part);
    let sensitivity = 2.0 * bound * most as f64 * (1.0 + rounding(count * most));
    SensitiveVector::l2(sum.data.into(), sensitivity)
}

/// Makes the outputs of an example the derivative of its loss, and returns the weight of its class.
fn differentiate(
    outputs: &mut DVectorViewMut<'_, f64>,
    targets: &Targets,
    place: usize,
    balance: Option<&ClassWeights>,
) -> f64 {
    match targets {
        Targets::Classes { labels, .. } => {
            let label = usize::from(labels[place]);
            softmax(outputs);
            outputs[label] -= 1.0;
            balance.map_or(1.0, |balance| balance.of(label))
        }
        Targets::Values { values, loss } => {
            let residual = outputs[0] - f64::from(values[place]);
            outputs[0] = match loss {
                ValueLoss::Squared => residual,
                ValueLoss::Absolute if residual == 0.0 => 0.0,
                ValueLoss::Absolute => residual.signum(),
            };
            1.0
        }
    }
}

/// What rounding may add to the distance of two neighbouring sums of `count` gradients, relative to it: each term of a sum takes part
/// in at most `BLOCK + count / BLOCK` additions, and each addition is off by `2^-53` of its result.
fn rounding(count: usize) -> f64 {
    let count = count as f64;
    count * (BLOCK as f64 + count / BLOCK as f64 + 8.0) * f64::EPSILON
}
