//! Squared distances between tensors.

use burn::tensor::{Tensor, TensorData};

use super::fits;
use crate::breakpoints::{Overlap, overlaps};
use crate::{SwdError, device};

/// The squared sliced 2-Wasserstein distance between two empirical measures.
///
/// `SW_2^2(x, y) = (1/k) sum_l sum_ij R_ij (u_(i) - v_(j))^2` with the sorted projections
/// `u = x theta_l`, `v = y theta_l` and `R_ij = |((i-1)/n, i/n] and ((j-1)/m, j/m]|`: exact for any
/// `n` and `m`. `x`: `[n, d]`; `y`: `[m, d]`; `slices`: `[d, k]` ([`crate::Slices::tensor`]). The
/// answer has one element, in squared units of the points, and is differentiable in `x` and `y`,
/// with the gradient `(2/(n k)) sum_l theta_l rho_{l,i}` in `x_i`.
///
/// # Errors
/// No points or slices, shapes that do not fit each other, or what [`device::stable_ranks`] refuses.
///
/// Source: paper 004, propositions 3.1 and 3.2, appendix A.
pub fn sliced_w2_squared(
    x: Tensor<2>,
    y: Tensor<2>,
    slices: Tensor<2>,
) -> Result<Tensor<1>, SwdError> {
    let [_, d] = x.dims();
    fits("points of the second sample", y.dims()[1], d)?;
    fits("slices", slices.dims()[0], d)?;
    let directions = slices.transpose();
    let u = directions.clone().matmul(x.transpose());
    let v = directions.matmul(y.transpose());
    mean_w2_squared(u, v)
}

/// The squared 2-Wasserstein distance between two empirical measures on the line.
///
/// `W_2^2(u, v) = sum_ij R_ij (u_(i) - v_(j))^2`. `u`: `[n]`; `v`: `[m]`. The answer has one
/// element, in squared units of the values, and is differentiable in both, with the gradient
/// `(2/n) rho` in `u`.
///
/// # Errors
/// No values, or what [`device::stable_ranks`] refuses.
///
/// Source: paper 004, proposition 3.1.
pub fn w2_squared(u: Tensor<1>, v: Tensor<1>) -> Result<Tensor<1>, SwdError> {
    mean_w2_squared(u.unsqueeze(), v.unsqueeze())
}

/// The mean over the rows of `W_2^2` between a row of `u`, `[k, n]`, and that of `v`, `[k, m]`.
fn mean_w2_squared(u: Tensor<2>, v: Tensor<2>) -> Result<Tensor<1>, SwdError> {
    let ([k, n], [_, m]) = (u.dims(), v.dims());
    for (what, size) in [("slices", k), ("first sample", n), ("second sample", m)] {
        if size == 0 {
            return Err(SwdError::Empty { what });
        }
    }
    Ok(coupled(sorted(u)?, sorted(v)?))
}

/// Rows in rising order, with the gradient of a permutation.
pub(super) fn sorted(rows: Tensor<2>) -> Result<Tensor<2>, SwdError> {
    let order = device::stable_order(rows.clone())?;
    Ok(rows.gather(1, order))
}

/// The mean over the rows of `W_2^2` between sorted rows, `[k, n]` and `[k, m]`.
pub(super) fn coupled(u: Tensor<2>, v: Tensor<2>) -> Tensor<1> {
    let ([k, n], [_, m]) = (u.dims(), v.dims());
    let on = u.device().without_autodiff();
    // With as many values on both sides each rank is coupled to itself alone.
    if n == m {
        return (u - v).square().mean();
    }
    let coupling: Vec<Overlap> = overlaps(n, m).collect();
    let paired = |values: Tensor<2>, rank: fn(&Overlap) -> usize| {
        let ranks: Vec<u32> = coupling.iter().map(|o| rank(o) as u32).collect();
        let ranks = device::indices(&ranks, [1, coupling.len()], &on);
        values.gather(1, ranks.expand([k, coupling.len()]))
    };
    let difference = paired(u, |overlap| overlap.i) - paired(v, |overlap| overlap.j);
    let whole = n as f64 * m as f64;
    let weights: Vec<f32> = coupling
        .iter()
        .map(|overlap| (overlap.weight as f64 / whole) as f32)
        .collect();
    let weights = TensorData::new(weights, [1, coupling.len()]);
    let weights = Tensor::<2>::from_data(weights, &on);
    (difference.square() * weights).sum() / k as f64
}
