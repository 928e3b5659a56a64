//! Stable sort-and-rank of tensors, on the device that they live on.

#[cfg(feature = "cubecl")]
mod cube;
mod extension;

use burn::backend::{Dispatch, DispatchDevice};
use burn::tensor::{Device, Int, Tensor, TensorData};
use extension::StableSort;

use crate::SwdError;
use crate::sort::{ranks, stable_orders};

/// Returns the stable order of each row of `keys`, `[k, n]`: at `[l, r]` the index of the key of rank `r`.
///
/// Keys compare by [`f32::total_cmp`], equal ones by index.
///
/// # Errors
/// Fails as [`stable_ranks`] does.
pub fn stable_order(keys: Tensor<2>) -> Result<Tensor<2, Int>, SwdError> {
    if !extended(&keys)? {
        return on_host(keys, |orders, _| Ok(orders));
    }
    let order = Dispatch::stable_order(keys.into_dispatch());
    Ok(Tensor::from_dispatch(order))
}

/// Returns the stable ranks of each row of `keys`, `[k, n]`: at `[l, i]` the rank of key `i`, counted from 0.
///
/// # Errors
/// More keys than a signed 32-bit index can address, or a NaN if keys lie in host memory (the row is the
/// slice, the index the point). On a GPU, where looking for one would cost a round trip, a NaN has the
/// rank that [`f32::total_cmp`] gives it, and results computed from it are NaN.
pub fn stable_ranks(keys: Tensor<2>) -> Result<Tensor<2, Int>, SwdError> {
    if !extended(&keys)? {
        return on_host(keys, |orders, n| ranks(&orders, n));
    }
    let ranks = Dispatch::stable_ranks(keys.into_dispatch());
    Ok(Tensor::from_dispatch(ranks))
}

/// Sorts each row of `rows`, `[k, n]`, in rising order: differentiable, on any device.
///
/// `sorted[l, r] = rows[l, order[l, r]]` with the stable order of [`stable_order`], which is locally
/// constant: the gradient is that of a permutation, `d f / d rows[l, order[l, r]] = d f / d sorted[l, r]`.
/// Equal keys keep the order of their index, so each keeps its own gradient, the same on every device.
///
/// # Errors
/// Fails as [`stable_ranks`] does.
pub(crate) fn stable_sort(rows: Tensor<2>) -> Result<Tensor<2>, SwdError> {
    let order = stable_order(rows.clone())?;
    Ok(rows.gather(1, order))
}

/// Computes `keys - cells[rank]`, `[k, n]`, in one pass if the device allows; `cells` is `[k, n]` or `[1, n]`.
pub(crate) fn residual(keys: Tensor<2>, cells: Tensor<2>) -> Result<Tensor<2>, SwdError> {
    if !extended(&keys)? {
        let shape = keys.shape();
        let ranks = on_host(keys.clone(), |orders, n| ranks(&orders, n))?;
        return Ok(keys - cells.expand(shape).gather(1, ranks));
    }
    let residual = Dispatch::residual(keys.into_dispatch(), cells.into_dispatch());
    Ok(Tensor::from_dispatch(residual))
}

/// Whether the backend of these keys has the extension; refuses bad keys if checking them is cheap.
fn extended(keys: &Tensor<2>) -> Result<bool, SwdError> {
    let [k, n] = keys.dims();
    // Indices are signed 32-bit integers, and kernels count the keys of all rows with them.
    let (most, found) = (i32::MAX as usize, k.saturating_mul(n));
    if found > most {
        return Err(SwdError::TooLong { found, most });
    }
    let device = keys.device().without_autodiff();
    Ok(match device.as_dispatch() {
        #[cfg(feature = "cubecl")]
        DispatchDevice::Cube(_) => true,
        // In host memory, looking costs little beside sorting, and an error is better than a silent NaN.
        DispatchDevice::Flex(_) => no_nan(keys)?,
        #[cfg(feature = "ndarray")]
        DispatchDevice::NdArray(_) => no_nan(keys)?,
        #[allow(unreachable_patterns)] // With every backend of this build named above.
        _ => false,
    })
}

/// Whether looking at a tensor of this device costs a round trip.
pub(crate) fn is_far(device: &Device) -> bool {
    match device.clone().without_autodiff().as_dispatch() {
        #[cfg(feature = "cubecl")]
        DispatchDevice::Cube(_) => true,
        _ => false,
    }
}

fn no_nan(keys: &Tensor<2>) -> Result<bool, SwdError> {
    let [_, n] = keys.dims();
    match host_keys(keys)?.iter().position(|key| key.is_nan()) {
        None => Ok(true),
        Some(place) => Err(SwdError::NotANumber {
            row: place / n,
            index: place % n,
        }),
    }
}

fn host_keys(keys: &Tensor<2>) -> Result<Vec<f32>, SwdError> {
    let keys = keys.clone().without_autodiff().try_into_vec_as::<f32>();
    keys.map_err(|error| SwdError::Device(error.to_string()))
}

/// Sorts on the host, for backends that the extension does not know.
fn on_host(
    keys: Tensor<2>,
    answer: impl Fn(Vec<u32>, usize) -> Result<Vec<u32>, SwdError>,
) -> Result<Tensor<2, Int>, SwdError> {
    let ([k, n], device) = (keys.dims(), keys.device().without_autodiff());
    let found = answer(stable_orders(&host_keys(&keys)?, n)?, n)?;
    Ok(indices(&found, [k, n], &device))
}

/// Returns public indices as a tensor.
pub(crate) fn indices(values: &[u32], shape: [usize; 2], device: &Device) -> Tensor<2, Int> {
    let values: Vec<i32> = values.iter().map(|&index| index as i32).collect();
    Tensor::from_data(
        TensorData::new(values, shape),
        &device.clone().without_autodiff(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rising values of equal keys: each key has its own gradient, by index.
    #[test]
    fn the_sort_passes_gradients_to_the_keys() {
        let device = Device::flex().autodiff();
        let keys = [[2.0, 0.5, 2.0, -1.0], [3.0; 4]];
        let keys = Tensor::<2>::from_data(keys, &device).require_grad();
        let sorted = stable_sort(keys.clone()).unwrap();
        let weights = Tensor::<2>::from_data([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]], &device);
        let gradients = (sorted.clone() * weights).sum().backward();
        assert_eq!(
            host_keys(&sorted).unwrap(),
            [-1.0, 0.5, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0]
        );
        let found = host_keys(&keys.grad(&gradients).unwrap()).unwrap();
        assert_eq!(found, [3.0, 2.0, 4.0, 1.0, 5.0, 6.0, 7.0, 8.0]);
        let nan = Tensor::<2>::from_data([[0.0, f64::NAN]], &device);
        assert!(stable_sort(nan).is_err());
    }
}
