//! The Laplace mechanism.

use super::NoiseSource;
use crate::DpError;
use crate::accounting::{Event, Neighbours};
use crate::ledger::{Ledger, LedgerEntry};

/// Adds independent Laplace noise of scale `Delta_1 / epsilon` to what has L1 sensitivity `Delta_1`:
/// `(epsilon, 0)`-differentially private.
///
/// # Formal guarantee
///
/// As [`super::GaussianMechanism`]: the ledger has the event before the value leaves. The noise is
/// floating-point Laplace noise, not the continuous one of the theory; see `docs/privacy.md`.
pub struct LaplaceMechanism<'a> {
    epsilon: f64,
    neighbours: Neighbours,
    noise: &'a mut NoiseSource,
}

impl<'a> LaplaceMechanism<'a> {
    /// A mechanism whose releases are each `(epsilon, 0)`-differentially private.
    ///
    /// # Errors
    ///
    /// [`DpError::OutOfRange`] unless `epsilon` is positive and finite.
    pub fn new(
        epsilon: f64,
        neighbours: Neighbours,
        noise: &'a mut NoiseSource,
    ) -> Result<Self, DpError> {
        check("epsilon", epsilon)?;
        Ok(Self {
            epsilon,
            neighbours,
            noise,
        })
    }

    /// The event of a release at `epsilon`, as accountants read it.
    pub fn event(epsilon: f64) -> Event {
        Event::Laplace {
            noise_multiplier: 1.0 / epsilon,
        }
    }

    /// Records one release of `values`, whose L1 sensitivity is at most `l1_upper`, and adds the noise.
    ///
    /// # Errors
    ///
    /// [`DpError::OutOfRange`] for a sensitivity that is not positive and finite,
    /// [`DpError::NotFinite`] for a value that is not finite, [`DpError::Ledger`] where the ledger
    /// cannot be written. Nothing was released then.
    pub fn release_vector(
        &mut self,
        values: &[f64],
        l1_upper: f64,
        ledger: &mut Ledger,
    ) -> Result<Vec<f64>, DpError> {
        check("L1 sensitivity", l1_upper)?;
        let bad = values.iter().filter(|v| !v.is_finite()).count();
        if bad > 0 {
            return Err(DpError::NotFinite {
                count: bad,
                total: values.len(),
            });
        }
        let scale = l1_upper / self.epsilon;
        let noise = self.noise.standard_laplace(values.len());
        let noisy = values.iter().zip(noise).map(|(v, x)| v + scale * x);
        let noisy = noisy.collect();
        ledger.append(&LedgerEntry {
            event: Self::event(self.epsilon),
            count: 1,
            neighbours: self.neighbours,
            sensitivity: Some(l1_upper),
            deviation: Some(std::f64::consts::SQRT_2 * scale),
            failure_probability: 0.0,
            secret_noise: self.noise.is_secret(),
        })?;
        // The key that made this noise is gone from memory before the value leaves.
        self.noise.advance();
        Ok(noisy)
    }
}

fn check(name: &'static str, value: f64) -> Result<(), DpError> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(DpError::OutOfRange {
        name,
        value,
        bound: "positive and finite".into(),
    })
}
