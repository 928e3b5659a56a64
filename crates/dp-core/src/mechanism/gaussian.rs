//! The Gaussian mechanism: `N(0, (z Delta)^2 I)` noise on values of L2 sensitivity `Delta` (Rodriguez-Vitores et al.
//! 2025, arXiv 2502.01701, lemma 2.3).

use burn::tensor::{Tensor, TensorData};

use super::ParameterGradient;
use crate::DpError;

/// Adds `deviation` times `noise`, standard Gaussian numbers for each scalar, to `gradient`.
pub(super) fn noisy_gradient(
    gradient: &ParameterGradient,
    deviation: f64,
    noise: &[f64],
) -> Result<ParameterGradient, DpError> {
    let mut noisy = Vec::with_capacity(gradient.parts().len());
    let mut noise = noise.iter();
    for (slot, value) in gradient.parts() {
        let noise = noise.by_ref().take(slot.len());
        let noise: Vec<f32> = noise.map(|x| (x * deviation) as f32).collect();
        let noise = Tensor::from_data(TensorData::new(noise, [slot.len()]), &value.device());
        noisy.push((slot.clone(), value.clone() + noise));
    }
    let noisy = ParameterGradient::from_parts(noisy);
    match all_finite(&noisy)? {
        true => Ok(noisy),
        false => Err(DpError::NotFinite {
            total: gradient.len(),
        }),
    }
}

/// Adds `deviation` times `noise`, standard Gaussian numbers for each value, to `values`.
pub(super) fn noisy_vector(
    values: &[f64],
    deviation: f64,
    noise: &[f64],
) -> Result<Vec<f64>, DpError> {
    check_finite(values)?;
    let noisy = values.iter().zip(noise).map(|(v, x)| v + deviation * x);
    Ok(noisy.collect())
}

/// Refuses a NaN or an infinity.
pub(super) fn check_finite(values: &[f64]) -> Result<(), DpError> {
    match values.iter().all(|v| v.is_finite()) {
        true => Ok(()),
        false => Err(DpError::NotFinite {
            total: values.len(),
        }),
    }
}

/// Tells whether every entry is finite; it reads back one number for each parameter, the sum of absolute values.
///
/// The host looks at the sums, because a compiler for a device may assume that floats are finite and fold the test.
fn all_finite(gradient: &ParameterGradient) -> Result<bool, DpError> {
    if gradient.is_empty() {
        return Ok(true);
    }
    let read = |values: Tensor<1>| {
        let device = |message: String| DpError::Device { message };
        let values = values.try_into_vec_as::<f32>();
        let values = values.map_err(|error| device(error.to_string()))?;
        Ok::<_, DpError>(values.iter().all(|x| x.is_finite()))
    };
    let sizes = gradient.parts().iter();
    let sizes = sizes.map(|(_, value)| value.clone().abs().sum()).collect();
    if read(Tensor::cat(sizes, 0))? {
        return Ok(true);
    }
    // A sum may overflow although every entry is finite.
    for (_, value) in gradient.parts() {
        if !read(value.clone())? {
            return Ok(false);
        }
    }
    Ok(true)
}
