//! The Gaussian mechanism.

use burn::tensor::{Tensor, TensorData};

use super::{BoundedGradient, NoiseSource, ParameterGradient, ReleasedGradient, Sensitivity};
use crate::DpError;
use crate::accounting::{Event, Neighbours};
use crate::ledger::{Ledger, LedgerEntry};

/// Adds `N(0, (z Delta)^2 I)` to what has L2 sensitivity `Delta` (paper 004, lemma 2.3).
///
/// # Formal guarantee
///
/// A value is returned only after the event has been written to the ledger and flushed to the
/// device that holds it; on `Err` nothing was released.
pub struct GaussianMechanism {
    noise_multiplier: f64,
    event: Event,
    neighbours: Neighbours,
    noise: NoiseSource,
    failure_probability: f64,
    releases: u64,
}

impl GaussianMechanism {
    /// A mechanism of noise multiplier `z > 0` whose releases are each recorded as `event`.
    ///
    /// # Errors
    ///
    /// [`DpError::OutOfRange`] unless `z` is positive and finite.
    pub fn new(
        noise_multiplier: f64,
        event: Event,
        neighbours: Neighbours,
        noise: NoiseSource,
    ) -> Result<Self, DpError> {
        if !(noise_multiplier.is_finite() && noise_multiplier > 0.0) {
            return Err(DpError::OutOfRange {
                name: "noise_multiplier",
                value: noise_multiplier,
                bound: "positive and finite".into(),
            });
        }
        Ok(Self {
            noise_multiplier,
            event,
            neighbours,
            noise,
            failure_probability: 0.0,
            releases: 0,
        })
    }

    /// Sensitivities that hold but for this probability at each release: the papers' high-probability
    /// values, for comparison. The ledger says so, and whoever reads it adds as much to delta: 1 for a
    /// value of which nothing is proved, so that nothing is promised.
    pub fn with_failure_probability(mut self, probability: f64) -> Self {
        self.failure_probability = probability;
        self
    }

    /// The same noise source for another kind of release, such as moments after training: the
    /// noise goes on where it stopped.
    ///
    /// # Errors
    ///
    /// As [`GaussianMechanism::new`].
    pub fn next_phase(self, noise_multiplier: f64, event: Event) -> Result<Self, DpError> {
        Self::new(noise_multiplier, event, self.neighbours, self.noise)
    }

    /// How many releases this mechanism has made.
    pub fn releases(&self) -> u64 {
        self.releases
    }

    /// The noise source, for the other secret draws of a step.
    pub fn noise(&mut self) -> &mut NoiseSource {
        &mut self.noise
    }

    /// Records one release, adds the noise and lets the gradient go.
    ///
    /// # Errors
    ///
    /// [`DpError::NotFinite`] for a gradient with a NaN or an infinity, and [`DpError::Ledger`]
    /// where the ledger cannot be written. In both cases nothing was released; a gradient that is
    /// refused is not in the ledger.
    pub fn release(
        &mut self,
        bounded: BoundedGradient,
        ledger: &mut Ledger,
    ) -> Result<ReleasedGradient, DpError> {
        let sensitivity = bounded.sensitivity();
        let gradient = bounded.gradient();
        let total = gradient.len();
        let mut noisy = Vec::with_capacity(gradient.parts().len());
        let deviation = self.deviation(sensitivity);
        for (slot, value) in gradient.parts() {
            let noise: Vec<f32> = self
                .noise
                .standard_normal(slot.len())
                .into_iter()
                .map(|x| (x * deviation) as f32)
                .collect();
            let noise = Tensor::from_data(TensorData::new(noise, [slot.len()]), &value.device());
            noisy.push((slot.clone(), value.clone() + noise));
        }
        let noisy = ParameterGradient::from_parts(noisy);
        let bad = not_finite(&noisy)?;
        if bad > 0 {
            return Err(DpError::NotFinite { count: bad, total });
        }
        self.record(sensitivity, ledger)?;
        Ok(ReleasedGradient::new(noisy))
    }

    /// Records one release of a plain vector of the given sensitivity and adds the noise.
    ///
    /// # Errors
    ///
    /// As [`GaussianMechanism::release`].
    pub fn release_vector(
        &mut self,
        values: &[f64],
        sensitivity: Sensitivity,
        ledger: &mut Ledger,
    ) -> Result<Vec<f64>, DpError> {
        let bad = values.iter().filter(|v| !v.is_finite()).count();
        if bad > 0 {
            return Err(DpError::NotFinite {
                count: bad,
                total: values.len(),
            });
        }
        let deviation = self.deviation(sensitivity);
        let noise = self.noise.standard_normal(values.len());
        let noisy = values
            .iter()
            .zip(noise)
            .map(|(v, x)| v + deviation * x)
            .collect();
        self.record(sensitivity, ledger)?;
        Ok(noisy)
    }

    /// The standard deviation `z Delta` of the noise on each coordinate.
    pub fn deviation(&self, sensitivity: Sensitivity) -> f64 {
        self.noise_multiplier * sensitivity.l2_upper()
    }

    fn record(&mut self, sensitivity: Sensitivity, ledger: &mut Ledger) -> Result<(), DpError> {
        ledger.append(&LedgerEntry {
            event: self.event.clone(),
            count: 1,
            neighbours: self.neighbours,
            sensitivity: Some(sensitivity.l2_upper()),
            deviation: Some(self.deviation(sensitivity)),
            failure_probability: self.failure_probability,
            secret_noise: self.noise.is_secret(),
        })?;
        self.releases += 1;
        // The key that made this noise is gone from memory before the value leaves.
        self.noise.advance();
        Ok(())
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
