//! Squared distances between tensors.

use burn::tensor::{Tensor, TensorData};

use crate::breakpoints::{Overlap, overlaps};
use crate::check::check_length;
use crate::{SwdError, device};

/// Computes the squared sliced 2-Wasserstein distance between two empirical measures.
///
/// `SW_2^2(x, y) = (1/k) sum_l sum_ij R_ij (u_(i) - v_(j))^2` with the sorted projections
/// `u = x theta_l`, `v = y theta_l` and `R_ij = |((i-1)/n, i/n] and ((j-1)/m, j/m]|`, exact for any
/// `n` and `m`. `x`: `[n, d]`; `y`: `[m, d]`; `slices`: `[d, k]` ([`crate::Slices::tensor`]), whose columns
/// are scaled to unit norm. The result has one element, in squared units of the points (POT's
/// `sliced_wasserstein_distance` is its root). It is differentiable in `x` and `y`, with the gradient
/// `(2/(n k)) sum_l theta_l rho_{l,i}` in `x_i`.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use swd::transport::tensor::sliced_w2_squared;
///
/// let device = Device::flex();
/// let x = Tensor::<2>::from_data([[0.0, 0.0], [1.0, 0.0]], &device);
/// let y = x.clone() + Tensor::<2>::from_data([[3.0, 1.0]], &device);
/// // The two axes, of any length: the mean of 3^2 and 1^2.
/// let slices = Tensor::<2>::from_data([[2.0, 0.0], [0.0, 0.5]], &device);
/// assert_eq!(sliced_w2_squared(x, y, slices)?.into_scalar::<f32>(), 5.0);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// No points or slices, shapes that do not fit each other, or an error of [`device::stable_ranks`]. A slice
/// of norm zero is an error if slices lie in host memory; on a GPU the result is NaN
/// ([`crate::Slices::from_tensor`] refuses it everywhere).
///
/// Source: Rodriguez-Vitores et al. 2025, arXiv 2502.01701, propositions 3.1 and 3.2, appendix A.
pub fn sliced_w2_squared(
    x: Tensor<2>,
    y: Tensor<2>,
    slices: Tensor<2>,
) -> Result<Tensor<1>, SwdError> {
    check_samples(&x, &y, slices.dims())?;
    let directions = unit_rows(slices.transpose())?;
    let u = directions.clone().matmul(x.transpose());
    let v = directions.matmul(y.transpose());
    Ok(coupled(device::stable_sort(u)?, device::stable_sort(v)?).mean())
}

/// Computes the squared 2-Wasserstein distance between two empirical measures on the line.
///
/// `W_2^2(u, v) = sum_ij R_ij (u_(i) - v_(j))^2`. `u`: `[n]`; `v`: `[m]`. The result has one
/// element, in squared units of the values. It is differentiable in both, with the gradient
/// `(2/n) rho` in `u`. [`super::w2_squared_1d`] takes weights too.
///
/// # Errors
/// No values, or an error of [`device::stable_ranks`].
///
/// Source: Rodriguez-Vitores et al. 2025, arXiv 2502.01701, proposition 3.1.
pub fn w2_squared(u: Tensor<1>, v: Tensor<1>) -> Result<Tensor<1>, SwdError> {
    let (u, v): (Tensor<2>, Tensor<2>) = (u.unsqueeze(), v.unsqueeze());
    check_sizes(1, u.dims()[1], v.dims()[1])?;
    Ok(coupled(device::stable_sort(u)?, device::stable_sort(v)?))
}

/// Refuses empty samples, and samples and slices `[d, k]` of different dimensions.
pub(super) fn check_samples(
    x: &Tensor<2>,
    y: &Tensor<2>,
    [dim, k]: [usize; 2],
) -> Result<(), SwdError> {
    let ([n, d], [m, other]) = (x.dims(), y.dims());
    check_sizes(k, n, m)?;
    check_length("points of the second sample", other, d)?;
    check_length("slices", dim, d)
}

pub(super) fn check_sizes(k: usize, n: usize, m: usize) -> Result<(), SwdError> {
    let sizes = [("slices", k), ("first sample", n), ("second sample", m)];
    match sizes.into_iter().find(|(_, size)| *size == 0) {
        Some((what, _)) => Err(SwdError::Empty { what }),
        None => Ok(()),
    }
}

/// Scales the rows to unit norm.
fn unit_rows(directions: Tensor<2>) -> Result<Tensor<2>, SwdError> {
    let largest = directions.clone().detach().abs().max_dim(1);
    if !device::is_far(&directions.device()) {
        let largest = largest.clone().without_autodiff().try_into_vec_as::<f32>();
        let largest = largest.map_err(|error| SwdError::Device(error.to_string()))?;
        if let Some(index) = largest.iter().position(|&size| size == 0.0) {
            let what = "slice";
            return Err(SwdError::ZeroDirection { what, index });
        }
    }
    // Without this the squares of small numbers would vanish.
    let directions = directions / largest;
    let norms = directions.clone().square().sum_dim(1).sqrt();
    Ok(directions / norms)
}

/// Computes `W_2^2` between sorted rows, `[k, n]` and `[k, m]`: `[k]`.
pub(super) fn coupled(u: Tensor<2>, v: Tensor<2>) -> Tensor<1> {
    let ([k, n], [_, m]) = (u.dims(), v.dims());
    let on = u.device().without_autodiff();
    // If both sides have as many values, each rank is coupled to itself alone.
    if n == m {
        return (u - v).square().mean_dim(1).reshape([k]);
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
    (difference.square() * weights).sum_dim(1).reshape([k])
}
