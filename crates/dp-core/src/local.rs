//! Local privacy: each owner privatises a record once, before anyone else sees it.
//!
//! A record is scaled into a ball, `x min(1, r / |x|)`, and gets noise in every coordinate: Laplace noise for a ball
//! of the norm `|.|_1`, Gaussian noise for one of `|.|_2`. Any two records in the ball are at most the diameter `2 r`
//! apart, and the noise is calibrated to it. The guarantee holds for every pair of records, whatever the other
//! records are.
//!
//! | mechanism | noise in each coordinate | promise for a record |
//! |---|---|---|
//! | Laplace | scale `b = 2 r / epsilon` | `(epsilon, 0)` |
//! | Gaussian | standard deviation `sigma`, the least with `delta(epsilon; 2 r / sigma) <= delta` | `(epsilon, delta)` |
//!
//! Computing with privatised records costs no further privacy. A record that is privatised twice from its clean form
//! costs the sum of both.
//!
//! ```
//! use dp_core::local::LocalMechanism;
//! use dp_core::mechanism::NoiseSource;
//!
//! let mechanism = LocalMechanism::gaussian(8.0, 1e-5, 1.0)?;
//! assert!((mechanism.scale(2)? - 1.2005).abs() < 1e-4);
//! // Reproducible, and so not private: a real one takes `NoiseSource::secret()`.
//! let mut noise = NoiseSource::insecure(1);
//! let privatised = mechanism.privatise(&[0.3, -0.4], &mut noise)?;
//! assert_eq!(privatised.values.len(), 2);
//! assert!(!privatised.projected);
//! # Ok::<(), dp_core::DpError>(())
//! ```
//!
//! Source: Reshetova, Chen and Ozgur 2023, arXiv 2306.09547, section 2.1; Dwork et al. 2006 for the Laplace mechanism;
//! Balle and Wang 2018, arXiv 1805.06530, theorem 8, for the exact Gaussian one.

use dp_accountant::accounting::{Event, GaussianAccountant, noise_multiplier_for};
use serde::{Deserialize, Serialize};

use crate::DpError;
use crate::mechanism::{NoiseSource, discrete, laplace};
use crate::per_sample::check_norm;

/// The relative slack that a diameter gets for rounding: norms and scales are computed in `f64` from `f32` values,
/// and a norm of `d` terms is off by at most `d 2^-53` of itself, which is less than this up to `d = 4 10^6`.
const ROUNDING: f64 = 1e-9;

/// The noise of a local mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LocalNoise {
    /// Laplace noise, for records in a ball of the L1 norm.
    Laplace,
    /// Gaussian noise, for records in a ball of the L2 norm.
    Gaussian,
}

/// A mechanism that privatises each record alone, with its guarantee.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LocalMechanism {
    noise: LocalNoise,
    epsilon: f64,
    delta: f64,
    radius: f64,
    noise_multiplier: f64,
}

/// A privatised record.
#[derive(Clone, PartialEq)]
pub struct Privatised {
    /// The noisy values, as many as the record had.
    pub values: Vec<f64>,
    /// Whether the record lay outside of the ball, or held a value that is not finite. **Private**: only its owner
    /// may know.
    pub projected: bool,
}

impl std::fmt::Debug for Privatised {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Privatised");
        shown.field("values", &self.values.len());
        shown.finish_non_exhaustive()
    }
}

impl LocalMechanism {
    /// Builds the Laplace mechanism, which is `(epsilon, 0)`-private for records in the ball `|x|_1 <= radius`.
    ///
    /// # Errors
    /// [`DpError::OutOfRange`] if epsilon is not positive and finite, or the radius is outside of
    /// [`NORMS`](crate::per_sample::NORMS).
    pub fn laplace(epsilon: f64, radius: f64) -> Result<Self, DpError> {
        check(epsilon, radius)?;
        Ok(Self {
            noise: LocalNoise::Laplace,
            epsilon,
            delta: 0.0,
            radius,
            noise_multiplier: 1.0 / epsilon,
        })
    }

    /// Builds the Gaussian mechanism with exact calibration: `(epsilon, delta)`-private for records in the ball
    /// `|x|_2 <= radius`, with a deviation at most a relative 1e-5 above the least one.
    ///
    /// # Errors
    /// Those of [`LocalMechanism::laplace`]; [`DpError::Accounting`] if delta is outside `(0, 1)`.
    pub fn gaussian(epsilon: f64, delta: f64, radius: f64) -> Result<Self, DpError> {
        check(epsilon, radius)?;
        let event = |noise_multiplier| Event::Gaussian { noise_multiplier };
        let multiplier = noise_multiplier_for(&GaussianAccountant, epsilon, delta, event)?;
        Ok(Self {
            noise: LocalNoise::Gaussian,
            epsilon,
            delta,
            radius,
            noise_multiplier: multiplier,
        })
    }

    /// Builds the Gaussian mechanism with the published calibration,
    /// `sigma = 2 r (c + sqrt(c^2 + epsilon)) / (epsilon sqrt 2)`, `c^2 = ln(2 / (sqrt(16 delta + 1) - 1))`, which is
    /// never below the exact one.
    ///
    /// # Errors
    /// Those of [`LocalMechanism::laplace`]; [`DpError::OutOfRange`] if delta is outside `(0, 1/2)`.
    ///
    /// Source: Reshetova, Chen and Ozgur 2023, arXiv 2306.09547, equation 4, after Zhao et al. 2019.
    pub fn gaussian_published(epsilon: f64, delta: f64, radius: f64) -> Result<Self, DpError> {
        check(epsilon, radius)?;
        if !(delta > 0.0 && delta < 0.5) {
            return Err(DpError::OutOfRange {
                name: "delta",
                value: delta,
                bound: "strictly between 0 and 1/2".into(),
            });
        }
        // sqrt(1 + x) - 1 without cancellation.
        let below = 16.0 * delta / ((16.0 * delta + 1.0).sqrt() + 1.0);
        let c = (2.0 / below).ln().sqrt();
        let multiplier = (c + (c * c + epsilon).sqrt()) / (epsilon * std::f64::consts::SQRT_2);
        Ok(Self {
            noise: LocalNoise::Gaussian,
            epsilon,
            delta,
            radius,
            noise_multiplier: multiplier,
        })
    }

    /// The kind of noise that is added.
    pub fn noise(&self) -> LocalNoise {
        self.noise
    }

    /// Epsilon, for each record.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// Delta, for each record; 0 for Laplace noise.
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// The radius of the ball, in units of the records and the norm of the noise.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// Returns the standard deviation of Gaussian noise, or the scale of Laplace noise, on each of the `values`
    /// values of a record, in units of the records: the noise multiplier times the diameter, raised for rounding the
    /// values to the grid of the noise.
    ///
    /// # Errors
    ///
    /// [`DpError::OutOfRange`] if the grid has no room for this number of values at this noise multiplier.
    pub fn scale(&self, values: usize) -> Result<f64, DpError> {
        let (z, diameter) = (self.noise_multiplier, self.diameter_upper());
        match self.noise {
            LocalNoise::Laplace => laplace::fine_scale(values, z, diameter),
            LocalNoise::Gaussian => discrete::fine_deviation(values, z, diameter),
        }
    }

    /// The diameter of the ball, `2 r`, rounded up, in the norm of the noise: no two records are further apart before noise.
    pub fn diameter_upper(&self) -> f64 {
        2.0 * self.radius * (1.0 + ROUNDING)
    }

    /// The scale of the noise divided by the diameter.
    pub fn noise_multiplier(&self) -> f64 {
        self.noise_multiplier
    }

    /// The event that the accountant counts for a record.
    pub fn event(&self) -> Event {
        let noise_multiplier = self.noise_multiplier;
        match self.noise {
            LocalNoise::Laplace => Event::Laplace { noise_multiplier },
            LocalNoise::Gaussian => Event::Gaussian { noise_multiplier },
        }
    }

    /// Projects the record into the ball and adds noise to every coordinate.
    ///
    /// A record with a value that is not finite counts as the origin, so that every record gives an output of its
    /// shape.
    ///
    /// # Errors
    /// [`DpError::Empty`] for a record without values, and the error of [`LocalMechanism::scale`] for one with too
    /// many: the number of values is public.
    pub fn privatise(
        &self,
        record: &[f32],
        noise: &mut NoiseSource,
    ) -> Result<Privatised, DpError> {
        let mut privatised = self.before_noise(record)?;
        let (z, diameter) = (self.noise_multiplier, self.diameter_upper());
        privatised.values = match self.noise {
            LocalNoise::Laplace => laplace::noisy_vector(&privatised.values, z, diameter, noise)?,
            LocalNoise::Gaussian => discrete::noisy_vector(&privatised.values, z, diameter, noise)?,
        }
        .0;
        // If the key leaks later, it tells nothing about this record.
        noise.advance();
        Ok(privatised)
    }

    /// Projects the record into the ball and adds no noise. **Not private**: for tests of the bound.
    ///
    /// # Errors
    /// [`DpError::Empty`] for a record without values.
    pub fn before_noise(&self, record: &[f32]) -> Result<Privatised, DpError> {
        if record.is_empty() {
            return Err(DpError::Empty {
                what: "a record".into(),
                expected: "value",
            });
        }
        let values = record.iter().map(|&x| f64::from(x));
        let norm = match self.noise {
            LocalNoise::Laplace => values.clone().map(f64::abs).sum::<f64>(),
            LocalNoise::Gaussian => values.clone().map(|x| x * x).sum::<f64>().sqrt(),
        };
        let share = match norm {
            norm if !norm.is_finite() => 0.0,
            norm if norm > self.radius => self.radius / norm,
            _ => 1.0,
        };
        let finite = |x: f64| if x.is_finite() { x * share } else { 0.0 };
        Ok(Privatised {
            values: values.map(finite).collect(),
            projected: share < 1.0,
        })
    }
}

fn check(epsilon: f64, radius: f64) -> Result<(), DpError> {
    if !(epsilon > 0.0 && epsilon.is_finite()) {
        return Err(DpError::OutOfRange {
            name: "epsilon",
            value: epsilon,
            bound: "positive and finite".into(),
        });
    }
    check_norm("radius of the records", radius)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_accountant::accounting::normal::gaussian_delta;
    use proptest::prelude::*;

    fn of(noise: LocalNoise, radius: f64) -> LocalMechanism {
        match noise {
            LocalNoise::Laplace => LocalMechanism::laplace(1.0, radius).unwrap(),
            LocalNoise::Gaussian => LocalMechanism::gaussian(1.0, 1e-5, radius).unwrap(),
        }
    }

    proptest! {
        /// No two records, of any size, are further apart before the noise than it is calibrated to.
        #[test]
        fn records_are_no_further_apart_than_the_diameter(
            pair in prop::collection::vec((any::<f32>(), any::<f32>()), 1..20),
            radius in 0.01_f64..100.0,
            laplace in any::<bool>(),
        ) {
            let noise = if laplace { LocalNoise::Laplace } else { LocalNoise::Gaussian };
            let mechanism = of(noise, radius);
            let (first, second): (Vec<f32>, Vec<f32>) = pair.into_iter().unzip();
            let [first, second] = [first, second].map(|r| mechanism.before_noise(&r).unwrap().values);
            let apart = first.iter().zip(&second).map(|(a, b)| a - b);
            let apart = match noise {
                LocalNoise::Laplace => apart.map(f64::abs).sum::<f64>(),
                LocalNoise::Gaussian => apart.map(|x| x * x).sum::<f64>().sqrt(),
            };
            prop_assert!(apart <= 2.0 * radius * (1.0 + ROUNDING));
        }

        #[test]
        fn the_exact_noise_keeps_delta_and_is_the_least(
            epsilon in 0.05_f64..50.0, power in -9.0_f64..-1.0, radius in 0.1_f64..10.0,
        ) {
            let delta = 10.0_f64.powf(power);
            let exact = LocalMechanism::gaussian(epsilon, delta, radius).unwrap();
            let mu = 2.0 * radius / exact.scale(1).unwrap();
            prop_assert!(gaussian_delta(mu, epsilon) <= delta);
            prop_assert!(gaussian_delta(mu * 1.0001, epsilon) > delta);
            let published = LocalMechanism::gaussian_published(epsilon, delta, radius).unwrap();
            prop_assert!(published.noise_multiplier() >= exact.noise_multiplier());
        }
    }

    /// The farthest two records, opposite each other, meet the bound: a smaller diameter would break it.
    #[test]
    fn the_diameter_is_attained() {
        for noise in [LocalNoise::Laplace, LocalNoise::Gaussian] {
            let mechanism = of(noise, 0.5);
            let [one, other] = [9.0, -9.0].map(|x| mechanism.before_noise(&[x]).unwrap());
            assert!(one.projected && (one.values[0] - other.values[0] - 1.0).abs() < 1e-12);
        }
    }

    /// Values of equation 4 by hand: epsilon 1, delta 1e-4 gives `c^2 = ln(2 / (sqrt 1.0016 - 1))`.
    #[test]
    fn scales_are_those_of_the_formulas() {
        let laplace = LocalMechanism::laplace(4.0, 0.5).unwrap();
        assert!((laplace.scale(1).unwrap() - 0.25).abs() < 1e-7);
        let c = (2.0 / (1.0016_f64.sqrt() - 1.0)).ln().sqrt();
        let expected = 2.0 * 3.0 * (c + (c * c + 1.0).sqrt()) / 2.0_f64.sqrt();
        let published = LocalMechanism::gaussian_published(1.0, 1e-4, 3.0).unwrap();
        assert!((published.scale(1).unwrap() / expected - 1.0).abs() < 2e-5);
    }

    /// Variances of 40000 draws are within 5 standard deviations of their own: a false alarm below 1e-6.
    #[test]
    fn noise_has_its_scale() {
        for (mechanism, kurtosis) in [
            (of(LocalNoise::Laplace, 1.0), 6.0),
            (of(LocalNoise::Gaussian, 1.0), 3.0),
        ] {
            let mut noise = NoiseSource::insecure(7);
            let noisy = mechanism.privatise(&[0.0; 40_000], &mut noise).unwrap();
            let variance = noisy.values.iter().map(|x| x * x).sum::<f64>() / 40_000.0;
            let scale = mechanism.scale(40_000).unwrap();
            let expected = match mechanism.noise() {
                LocalNoise::Laplace => 2.0 * scale.powi(2),
                LocalNoise::Gaussian => scale.powi(2),
            };
            let deviation = ((kurtosis - 1.0_f64) / 40_000.0).sqrt();
            assert!((variance / expected - 1.0).abs() < 5.0 * deviation);
        }
    }

    #[test]
    fn impossible_requests_are_refused_and_no_record_is() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(LocalMechanism::laplace(bad, 1.0).is_err());
            assert!(LocalMechanism::laplace(1.0, bad).is_err());
            assert!(LocalMechanism::gaussian(bad, 1e-5, 1.0).is_err());
            assert!(LocalMechanism::gaussian(1.0, bad, 1.0).is_err());
            assert!(LocalMechanism::gaussian_published(1.0, bad, 1.0).is_err());
        }
        assert!(LocalMechanism::gaussian_published(1.0, 0.5, 1.0).is_err());
        let mechanism = of(LocalNoise::Gaussian, 1.0);
        let mut noise = NoiseSource::insecure(1);
        assert!(mechanism.privatise(&[], &mut noise).is_err());
        let odd = mechanism.before_noise(&[f32::NAN, 1.0]).unwrap();
        assert_eq!((odd.values, odd.projected), (vec![0.0, 0.0], true));
    }
}
