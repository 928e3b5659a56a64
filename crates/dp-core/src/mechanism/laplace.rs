//! The Laplace mechanism: noise of scale `Delta_1 / epsilon` on values of L1 sensitivity `Delta_1` is
//! `(epsilon, 0)`-differentially private.

use zeroize::Zeroizing;

use super::NoiseSource;
use super::discrete::{FINE, add_on_grid};
use super::gaussian::check_finite;
use crate::DpError;

/// Returns `values` with discrete Laplace noise on a grid of [`FINE`] steps to its scale, and this scale in their units.
///
/// # Formal guarantee
///
/// `(1 / noise_multiplier, 0)`, exactly. On whole numbers, noise with `P(k) ~ exp(-|k| / t)` makes no output more
/// likely than `exp(Delta / t)` times as likely as for a neighbour at L1 distance `Delta`. Values are rounded to the
/// grid of step `g = scale / 2^24`, each by less than `g` in each of two data sets, so `2 n g` is added to the
/// sensitivity. No floating point lies between the rounded values and the output.
pub(crate) fn noisy_vector(
    values: &[f64],
    noise_multiplier: f64,
    l1_upper: f64,
    noise: &mut NoiseSource,
) -> Result<(Vec<f64>, f64), DpError> {
    check_finite(values)?;
    let scale = fine_scale(values.len(), noise_multiplier, l1_upper)?;
    let noise = Zeroizing::new(noise.discrete_laplace(FINE, values.len()));
    Ok((add_on_grid(values, scale / FINE as f64, &noise)?, scale))
}

/// The scale of [`noisy_vector`] for this many values, in their units.
pub(crate) fn fine_scale(
    count: usize,
    noise_multiplier: f64,
    l1_upper: f64,
) -> Result<f64, DpError> {
    // scale = multiplier (sensitivity + 2 n scale / 2^24); the factor covers the rounding of this `f64` computation.
    let multiplier = noise_multiplier * (1.0 + 1e-9);
    let rounding = 2.0 * multiplier * count as f64 / FINE as f64;
    if rounding >= 0.5 {
        return Err(DpError::OutOfRange {
            name: "noise multiplier of a Laplace release",
            value: noise_multiplier,
            bound: format!(
                "below {:e} for {count} values",
                0.25 * FINE as f64 / count as f64
            ),
        });
    }
    Ok(multiplier * l1_upper / (1.0 - rounding))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_released_lies_on_the_grid_with_its_noise() {
        let values: Vec<f64> = (0..4_000).map(|i| f64::from(i) * 0.37 - 500.0).collect();
        let mut source = NoiseSource::insecure(3);
        let (noisy, scale) = noisy_vector(&values, 2.0, 3.0, &mut source).unwrap();
        assert!((6.0..6.0 * 1.002).contains(&scale), "{scale}");
        let step = scale / FINE as f64;
        assert!(noisy.iter().all(|x| (x / step).round() * step == *x));
        let sizes = noisy.iter().zip(&values).map(|(a, b)| (a - b).abs());
        let ratio = sizes.sum::<f64>() / scale / 4_000.0;
        // 6 deviations of a mean of exponential sizes: a false alarm of 2e-9.
        assert!((ratio - 1.0).abs() < 6.0 / 4_000.0_f64.sqrt(), "{ratio}");
        for refused in [f64::NAN, f64::NEG_INFINITY, 6.0 * f64::powi(2.0, 28) * 1.01] {
            assert!(noisy_vector(&[refused], 2.0, 3.0, &mut source).is_err());
        }
        assert!(noisy_vector(&[0.0], 1e7, 2.0, &mut source).is_err());
    }
}
