//! The Gaussian mechanism: `N(0, (z Delta)^2 I)` on what has L2 sensitivity `Delta` (Rodriguez-Vitores
//! et al. 2025, arXiv 2502.01701, lemma 2.3).

use burn::tensor::{Tensor, TensorData};

use super::ParameterGradient;
use crate::DpError;

/// `gradient` with Gaussian noise of this deviation, `noise` being that of deviation 1 for each of its scalars.
pub(super) fn noisy_gradient(
    gradient: &ParameterGradient,
    deviation: f64,
    noise: Vec<f64>,
) -> Result<ParameterGradient, DpError> {
    let mut noisy = Vec::with_capacity(gradient.parts().len());
    let mut noise = noise.into_iter();
    for (slot, value) in gradient.parts() {
        let noise = noise.by_ref().take(slot.len());
        let noise: Vec<f32> = noise.map(|x| (x * deviation) as f32).collect();
        let noise = Tensor::from_data(TensorData::new(noise, [slot.len()]), &value.device());
        noisy.push((slot.clone(), value.clone() + noise));
    }
    let noisy = ParameterGradient::from_parts(noisy);
    match not_finite(&noisy)? {
        0 => Ok(noisy),
        count => Err(DpError::NotFinite {
            count,
            total: gradient.len(),
        }),
    }
}

/// `values` with Gaussian noise of this deviation, `noise` being that of deviation 1 for each.
pub(super) fn noisy_vector(
    values: &[f64],
    deviation: f64,
    noise: Vec<f64>,
) -> Result<Vec<f64>, DpError> {
    check_finite(values)?;
    let noisy = values.iter().zip(noise).map(|(v, x)| v + deviation * x);
    Ok(noisy.collect())
}

/// Refuses a NaN or an infinity.
pub(super) fn check_finite(values: &[f64]) -> Result<(), DpError> {
    match values.iter().filter(|v| !v.is_finite()).count() {
        0 => Ok(()),
        count => Err(DpError::NotFinite {
            count,
            total: values.len(),
        }),
    }
}

/// How many entries are not finite, with one number for each parameter read back.
///
/// It is the sum of sizes, and looked at here: a compiler for a device may take it for granted
/// that floats are finite, and fold a test for it.
fn not_finite(gradient: &ParameterGradient) -> Result<usize, DpError> {
    if gradient.is_empty() {
        return Ok(0);
    }
    let read = |values: Tensor<1>| {
        let device = |message: String| DpError::Device { message };
        let values = values.try_into_vec_as::<f32>();
        values.map_err(|error| device(error.to_string()))
    };
    let sizes = gradient.parts().iter();
    let sizes = sizes.map(|(_, value)| value.clone().abs().sum()).collect();
    if read(Tensor::cat(sizes, 0))?.iter().all(|x| x.is_finite()) {
        return Ok(0);
    }
    // A sum may overflow where no entry does.
    let mut count = 0;
    for (_, value) in gradient.parts() {
        let values = read(value.clone())?;
        count += values.iter().filter(|x| !x.is_finite()).count();
    }
    Ok(count)
}
