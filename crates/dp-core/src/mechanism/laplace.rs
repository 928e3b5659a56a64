//! The Laplace mechanism: noise of scale `Delta_1 / epsilon` on what has L1 sensitivity `Delta_1` is
//! `(epsilon, 0)`-differentially private.

use super::NoiseSource;
use super::gaussian::check_finite;
use crate::DpError;

/// `values` with Laplace noise of this scale: floating-point noise, not the continuous one of the theory;
/// see `docs/privacy.md`.
pub(super) fn noisy_vector(
    values: &[f64],
    scale: f64,
    noise: &mut NoiseSource,
) -> Result<Vec<f64>, DpError> {
    check_finite(values)?;
    let noise = noise.standard_laplace(values.len());
    let noisy = values.iter().zip(noise).map(|(v, x)| v + scale * x);
    Ok(noisy.collect())
}
