//! Distances between weighted values on the line.

use burn::tensor::{Tensor, TensorData};

use super::distance::check_sizes;
use crate::breakpoints::{WeightedOverlap, weighted_overlaps};
use crate::check::{check_length, check_weights};
use crate::{SwdError, device};

/// Computes the squared 2-Wasserstein distance between two weighted samples on the line.
///
/// It is [`wp_power_1d`] with `p = 2`, with the same arguments, errors and gradient. With equal weights it is
/// [`super::w2_squared`].
///
/// It is not private: no sensitivity bound is proved for weights.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use swd::transport::tensor::w2_squared_1d;
///
/// let device = Device::flex();
/// let x = Tensor::<1>::from_data([0.0, 1.0], &device);
/// let y = Tensor::<1>::from_data([2.0], &device);
/// // A quarter of the mass goes 2 far, three quarters 1.
/// let distance = w2_squared_1d(x, &[1.0, 3.0], y, &[1.0])?;
/// assert_eq!(distance.into_scalar::<f32>(), 1.75);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// Fails as [`wp_power_1d`] does.
pub fn w2_squared_1d(
    x: Tensor<1>,
    weights_x: &[f64],
    y: Tensor<1>,
    weights_y: &[f64],
) -> Result<Tensor<1>, SwdError> {
    wp_power_1d(x, weights_x, y, weights_y, 2.0)
}

/// Computes the `p`-th power of the `p`-Wasserstein distance between two weighted samples on the line.
///
/// `W_p^p(x, y) = sum_ij R_ij |x_i - y_j|^p`. Lay the weights of each sorted sample, divided by their sum, end to
/// end: `R_ij` is the length that the intervals of `i` and of `j` share. `x`: `[n]`; `y`: `[m]`; weights: one a
/// value, constants. The result has one element, in the units of the values to the power `p` (the value that POT's
/// `wasserstein_1d` returns). It is differentiable in `x` and `y`, with the gradient
/// `p sum_j R_ij sign(x_i - y_j) |x_i - y_j|^(p-1)` in `x_i`. The orders of both are read back from the device, and
/// weights are merged in `f64` on the host.
///
/// It is not private by itself. With equal weights [`crate::sensitivity::Norms::line_bound`] bounds the sensitivity of its
/// gradient for every `p` above 1; no bound exists for `W_p` itself, the root.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use swd::transport::tensor::wp_power_1d;
///
/// let device = Device::flex();
/// let x = Tensor::<1>::from_data([4.0, 0.0], &device);
/// let y = Tensor::<1>::from_data([1.0, 2.0], &device);
/// let distance = wp_power_1d(x, &[0.5, 0.5], y, &[0.5, 0.5], 3.0)?;
/// assert_eq!(distance.into_scalar::<f32>(), (1.0 + 8.0) / 2.0);
/// # Ok::<(), swd::SwdError>(())
/// ```
///
/// # Errors
/// No values, a number of weights other than that of the values, a weight that is negative or not finite, weights
/// whose sum is zero or not finite, a `p` below 1 or not finite, or an error of [`device::stable_ranks`].
///
/// Source: Peyre and Cuturi, Computational Optimal Transport, 2019, section 2.6.
pub fn wp_power_1d(
    x: Tensor<1>,
    weights_x: &[f64],
    y: Tensor<1>,
    weights_y: &[f64],
    p: f64,
) -> Result<Tensor<1>, SwdError> {
    let ([n], [m]) = (x.dims(), y.dims());
    check_sizes(1, n, m)?;
    if !(p.is_finite() && p >= 1.0) {
        return Err(SwdError::NotAnOrder { value: p });
    }
    check_length("list of weights of the first sample", weights_x.len(), n)?;
    check_length("list of weights of the second sample", weights_y.len(), m)?;
    let (order_x, shares_x) = in_order(&x, weights_x)?;
    let (order_y, shares_y) = in_order(&y, weights_y)?;
    let coupling: Vec<WeightedOverlap> = weighted_overlaps(&shares_x, &shares_y).collect();
    let on = x.device().without_autodiff();
    let paired = |values: Tensor<1>, place: &dyn Fn(&WeightedOverlap) -> u32| {
        let places: Vec<u32> = coupling.iter().map(place).collect();
        let places = device::indices(&places, [1, coupling.len()], &on);
        values.unsqueeze::<2>().gather(1, places)
    };
    let apart = paired(x, &|o| order_x[o.i]) - paired(y, &|o| order_y[o.j]);
    let cost = if p == 2.0 {
        apart.square()
    } else if p == 1.0 {
        apart.abs()
    } else {
        apart.abs().powf_scalar(p)
    };
    let weights: Vec<f32> = coupling.iter().map(|o| o.weight as f32).collect();
    let weights = TensorData::new(weights, [1, coupling.len()]);
    Ok((cost * Tensor::<2>::from_data(weights, &on)).sum())
}

/// Returns the stable order of the values, and in it their weights divided by the sum of all.
fn in_order(values: &Tensor<1>, weights: &[f64]) -> Result<(Vec<u32>, Vec<f64>), SwdError> {
    let sum = check_weights(weights)?;
    let order = device::stable_order(values.clone().unsqueeze())?;
    let order = order.try_into_vec_as::<u32>();
    let order = order.map_err(|error| SwdError::Device(error.to_string()))?;
    let shares = order.iter().map(|&i| weights[i as usize] / sum).collect();
    Ok((order, shares))
}
