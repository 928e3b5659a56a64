//! Squared distances between tensors, differentiable on any device.
//!
//! [`crate::device`] computes ranks where the tensors live: nothing is read back, except the orders of weighted
//! values. Ranks are locally constant, so the gradient is `(2/n) rho` (Rodriguez-Vitores et al. 2025,
//! arXiv 2502.01701, proposition 3.2).
//!
//! ```
//! use burn::tensor::{Device, Tensor};
//! use swd::transport::tensor::w2_squared;
//!
//! let device = Device::flex().autodiff();
//! let u = Tensor::<1>::from_data([3.0, 1.0], &device).require_grad();
//! let v = Tensor::<1>::from_data([0.0, 0.0], &device);
//! let distance = w2_squared(u.clone(), v)?;
//! assert_eq!(distance.clone().into_scalar::<f32>(), 5.0); // (3^2 + 1^2) / 2
//! let gradient = u.grad(&distance.backward()).map(|gradient| gradient.into_data());
//! assert_eq!(gradient.map(|data| data.iter::<f32>().collect()), Some(vec![3.0, 1.0]));
//! # Ok::<(), swd::SwdError>(())
//! ```

mod distance;
mod two_samples;
mod weighted;

use burn::tensor::Tensor;

pub use distance::{sliced_w2_squared, w2_squared};
pub use two_samples::two_sample_gradients;
pub use weighted::{w2_squared_1d, wp_power_1d};

use crate::check::check_length;
use crate::{SwdError, device};

/// Computes the residuals `rho_{l,i} = u_{l,i} - q_{l, rank(i)}` of projected records.
///
/// `projected`: `[n, k]`, one column a slice; `cells`: `[k, n]`, or `[1, n]` for a row that all
/// slices share ([`crate::TargetQuantiles::tensor`]), not decreasing along a row. The result is `[n, k]`, in the
/// order of the records and in their units; its gradient in `projected` is the identity.
///
/// # Errors
/// Shapes that do not fit each other, or an error of [`device::stable_ranks`].
///
/// Source: Rodriguez-Vitores et al. 2025, arXiv 2502.01701, proposition 3.2.
pub fn transport_residual(projected: Tensor<2>, cells: Tensor<2>) -> Result<Tensor<2>, SwdError> {
    let [n, k] = projected.dims();
    let [rows, width] = cells.dims();
    check_length("cells of a slice", width, n)?;
    if rows != 1 {
        check_length("rows of cells", rows, k)?;
    }
    Ok(device::residual(projected.transpose(), cells)?.transpose())
}

/// Computes the gradient of the squared sliced distance in each record's activation, and the distance, on the device.
///
/// `c_i = (2/(n k)) sum_l theta_l rho_{l,i}`, as [`crate::transport::host::sliced_cotangents_and_distance`] has on the
/// host. `u`: `[n, d]`; `slices`: `[d, k]` ([`crate::Slices::tensor`]); `cells`: `[k, n]` or `[1, n]`; `within`: the
/// public variance inside the cells. The first result is `[n, d]`, the second has one element. Neither has a graph.
///
/// Sums are in `f32`, each within [`cotangent_rounding`] of the exact one.
///
/// # Errors
/// Fails as [`transport_residual`] does.
pub fn sliced_cotangents_and_distance(
    u: Tensor<2>,
    slices: Tensor<2>,
    cells: Tensor<2>,
    within: f64,
) -> Result<(Tensor<2>, Tensor<1>), SwdError> {
    let ([n, d], [dim, k]) = (u.dims(), slices.dims());
    check_length("slices", dim, d)?;
    check_length("cells of a slice", cells.dims()[1], n)?;
    if cells.dims()[0] != 1 {
        check_length("rows of cells", cells.dims()[0], k)?;
    }
    let (u, slices) = (u.without_autodiff(), slices.without_autodiff());
    // The rounding errors of a projection depend on one record alone, whatever its rank.
    let projected = slices.clone().transpose().matmul(u.transpose());
    let residuals = device::residual(projected, cells.without_autodiff())?;
    let distance = residuals.clone().square().mean() + within;
    Ok((average(residuals, slices), distance))
}

/// Computes `(2/(n k)) Theta rho`, one row a record: `residuals` `[k, n]`, `slices` `[d, k]`.
fn average(residuals: Tensor<2>, slices: Tensor<2>) -> Tensor<2> {
    let ([k, n], [d, _]) = (residuals.dims(), slices.dims());
    // Not a product of matrices, whose units may round each residual differently from its neighbours.
    let columns = (0..d)
        .map(|a| {
            let along = slices.clone().slice([a..a + 1, 0..k]).reshape([k, 1]);
            (residuals.clone() * along).sum_dim(0)
        })
        .collect();
    Tensor::cat(columns, 0).transpose() * (2.0 / (n as f64 * k as f64))
}

/// Bounds how far a cotangent of [`sliced_cotangents_and_distance`] or of [`two_sample_gradients`] may be from the
/// exact one, times `n / 2`: `(k + d + 16) 2^-24 (M + Q)` for `k` slices of `d` dimensions, activations at
/// most `M` and cells at most `Q`. The exact one has the same ranks: projections that differ by rounding alone may
/// be in the other order, which is a valid order, because a record's keys depend on that record alone.
///
/// A sum of `k` products in any order is within `k 2^-24` of the sum of their sizes, which is at most
/// `k (M + Q)`; a projection is within `d 2^-24 M`; the rest is for residuals, cells and factors. Later
/// rounding in a step, such as that of clipping, is not included.
pub fn cotangent_rounding(slices: usize, dim: usize, m_bound: f64, q_bound: f64) -> f64 {
    (slices + dim + 16) as f64 * f64::powi(2.0, -24) * (m_bound + q_bound)
}
