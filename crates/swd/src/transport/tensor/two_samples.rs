//! The gradients of a distance between two samples that are both trained.

use burn::tensor::{Tensor, TensorData};

use super::average;
use super::distance::{check_samples, coupled};
use crate::breakpoints::overlaps;
use crate::{SwdError, device};

/// Computes the gradients of the squared sliced distance between two samples in the points of both, and the
/// distance, on the device.
///
/// `c_i = (2/(n k)) sum_l theta_l (u_{l,i} - q_{l, rank(i)})` with the quantile cells `q` of the other
/// side. `x`: `[n, d]`; `y`: `[m, d]`; `slices`: `[d, k]` ([`crate::Slices::tensor`]). The results are
/// `[n, d]`, `[m, d]` and one element; none has a graph.
///
/// Sums are in `f32`. A cell that covers `w` values of the other side is rounded by `(w + 2) 2^-24` of
/// the largest of them; `w` is at most 2 more than the larger size over the smaller. The rest is
/// [`super::cotangent_rounding`].
///
/// # Errors
/// Fails as [`super::sliced_w2_squared`] does.
///
/// Source: Rodriguez-Vitores et al. 2025, arXiv 2502.01701, propositions 3.1 and 3.2.
pub fn two_sample_gradients(
    x: Tensor<2>,
    y: Tensor<2>,
    slices: Tensor<2>,
) -> Result<(Tensor<2>, Tensor<2>, Tensor<1>), SwdError> {
    check_samples(&x, &y, slices.dims())?;
    let slices = slices.without_autodiff();
    let [u, v] = [x, y].map(|points| {
        let points = points.without_autodiff();
        slices.clone().transpose().matmul(points.transpose())
    });
    let (to_v, to_u, distances) = residuals_of_sides(u, v)?;
    Ok((
        average(to_v, slices.clone()),
        average(to_u, slices),
        distances.mean(),
    ))
}

/// Returns how far each value of `u`, `[k, n]`, and of `v`, `[k, m]`, is from the cell of its rank on the other
/// side, and `W_2^2` between the rows, `[k]`.
pub(super) fn residuals_of_sides(
    u: Tensor<2>,
    v: Tensor<2>,
) -> Result<(Tensor<2>, Tensor<2>, Tensor<1>), SwdError> {
    let (n, m) = (u.dims()[1], v.dims()[1]);
    let ascending_u = device::stable_sort(u.clone())?;
    let ascending_v = device::stable_sort(v.clone())?;
    let to_v = device::residual(u, cells(ascending_v.clone(), n))?;
    let to_u = device::residual(v, cells(ascending_u.clone(), m))?;
    Ok((to_v, to_u, coupled(ascending_u, ascending_v)))
}

/// Computes the `n` quantile cells of each sorted row of `[k, m]`.
fn cells(sorted: Tensor<2>, n: usize) -> Tensor<2> {
    let [k, m] = sorted.dims();
    if n == m {
        return sorted;
    }
    // Each cell has as many places as the widest needs; the weight of a place without a value is zero.
    let wide = m.div_ceil(n) + 1;
    let (mut ranks, mut weights) = (vec![0; n * wide], vec![0.0; n * wide]);
    let mut filled = vec![0; n];
    for overlap in overlaps(n, m) {
        let place = overlap.i * wide + filled[overlap.i];
        ranks[place] = overlap.j as u32;
        weights[place] = (overlap.weight as f64 / m as f64) as f32;
        filled[overlap.i] += 1;
    }
    let device = sorted.device();
    let ranks = device::indices(&ranks, [1, n * wide], &device);
    let weights = Tensor::<2>::from_data(TensorData::new(weights, [1, n * wide]), &device);
    let parts = sorted.gather(1, ranks.expand([k, n * wide])) * weights;
    parts.reshape([k, n, wide]).sum_dim(2).reshape([k, n])
}
