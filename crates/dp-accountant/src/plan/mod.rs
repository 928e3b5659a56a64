//! A plan couples sampler, neighbours, noise, steps, one-off releases and accountant in one checked value.
//!
//! The batches, the noise of the mechanism and the event in the ledger must agree: all three come from one [`CheckedPlan`],
//! and only the releaser of [`CheckedPlan::releaser`] can release.
//!
//! ```
//! use dp_accountant::plan::TrainingPlan;
//! use dp_accountant::sampling::Sampler;
//!
//! let plan = TrainingPlan::for_epsilon(1.0, 1e-6, 500, Sampler::fixed_size(60_000, 600)?).check()?;
//! assert!(plan.epsilon_upper() <= 1.0);
//! # Ok::<(), dp_accountant::DpError>(())
//! ```

mod checked;
mod once;

pub use checked::{CheckedPlan, NoiseFor};
pub use once::{PlannedRelease, ReleaseNoise};

use crate::DpError;
use crate::accounting::{
    Accountant, BandedInverse, Event, GaussianAccountant, PldAccountant, noise_multiplier_for,
};
use crate::delta::check_delta;
use crate::sampling::Sampler;
use checked::Once;
use once::{Due, gaussian, out_of_range};

/// The noise of the steps of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// The least noise that keeps the whole plan within this epsilon.
    TargetEpsilon(f64),
    /// Noise of this multiplier.
    Multiplier(f64),
}

/// A training run before its guarantee is checked.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingPlan {
    /// The sampler of each step's batch. Without steps it gives the records.
    pub sampler: Sampler,
    /// The number of steps, each one Gaussian release; it may be 0 if there are other releases.
    pub steps: u64,
    /// The delta of the guarantee.
    pub delta: f64,
    /// The noise of a step.
    pub noise: Noise,
    /// The other releases of the same records, such as moments after training.
    pub releases: Vec<PlannedRelease>,
    /// The number of steps over which noise is correlated ([`BandedInverse`]); 1 for independent noise.
    pub bandwidth: u64,
}

impl TrainingPlan {
    /// Plans `steps` steps within `(epsilon, delta)`, and no other release of the same records.
    pub fn for_epsilon(epsilon: f64, delta: f64, steps: u64, sampler: Sampler) -> Self {
        Self::with_noise(Noise::TargetEpsilon(epsilon), delta, steps, sampler)
    }

    /// Plans `steps` steps, each with noise of deviation `noise_multiplier` times the sensitivity, and no other release.
    pub fn with_noise_multiplier(
        noise_multiplier: f64,
        delta: f64,
        steps: u64,
        sampler: Sampler,
    ) -> Self {
        Self::with_noise(Noise::Multiplier(noise_multiplier), delta, steps, sampler)
    }

    fn with_noise(noise: Noise, delta: f64, steps: u64, sampler: Sampler) -> Self {
        Self {
            sampler,
            steps,
            delta,
            noise,
            releases: Vec::new(),
            bandwidth: 1,
        }
    }

    /// Correlates the noise over `bandwidth` steps ([`BandedInverse`]), so that sums of steps have less noise. This needs
    /// [`Sampler::cyclic`], whose records keep their order in all steps, and sampling amplifies nothing. A step samples the noise
    /// of `bandwidth` steps, with the memory of one.
    ///
    /// ```
    /// use dp_accountant::plan::TrainingPlan;
    /// use dp_accountant::sampling::Sampler;
    ///
    /// let sampler = Sampler::cyclic(60_000, 600)?;
    /// let plan = TrainingPlan::for_epsilon(8.0, 1e-6, 500, sampler).correlated(32).check()?;
    /// assert_eq!((plan.accountant(), plan.releases_in_all()), ("gaussian", 1));
    /// # Ok::<(), dp_accountant::DpError>(())
    /// ```
    #[must_use]
    pub fn correlated(mut self, bandwidth: u64) -> Self {
        self.bandwidth = bandwidth;
        self
    }

    /// Adds one release.
    #[must_use]
    pub fn with_release(mut self, name: impl Into<String>, noise: ReleaseNoise) -> Self {
        self.releases.push(PlannedRelease::new(name, noise));
        self
    }

    /// Checks every part of the plan, and calibrates the noise if the plan has a target epsilon.
    ///
    /// `delta` must be in `(0, 1/n)` for `n` records, or for the number that public values presume if the number of records is
    /// private. At `1/n` a mechanism that publishes one record outright would pass.
    ///
    /// # Errors
    ///
    /// Returns [`DpError::OutOfRange`] or [`DpError::SameName`] with the refused value and its bound, and the errors of the
    /// accountant.
    pub fn check(self) -> Result<CheckedPlan, DpError> {
        // The number is public or follows from public values, so an error may name it.
        let records = self.sampler.presumed_records();
        if self.steps == 0 && self.releases.is_empty() {
            return Err(out_of_range(
                "steps",
                0.0,
                "at least 1 where nothing else is released",
            ));
        }
        check_delta(self.delta, records)?;
        let correlation = self.correlation()?;
        let releases = self.releases.into_iter().map(Due::of);
        let releases = releases.collect::<Result<Vec<_>, _>>()?;
        for (place, release) in releases.iter().enumerate() {
            if releases[..place].iter().any(|r| r.name == release.name) {
                return Err(DpError::SameName {
                    name: release.name.clone(),
                });
            }
        }
        // Without sampling and without other noise, the guarantee has a closed form.
        let unsampled = self.steps == 0 || correlation.is_some();
        let closed_form = unsampled && releases.iter().all(|r| !r.is_laplace());
        let accountant: &dyn Accountant = if closed_form {
            &GaussianAccountant
        } else {
            &PldAccountant::default()
        };
        let distribution = self.sampler.distribution();
        let step = |z: f64| match (&distribution, &correlation) {
            (_, Some((_, period))) => Event::CorrelatedGaussian {
                noise_multiplier: z,
                bandwidth: self.bandwidth,
                steps: self.steps,
                separation: *period,
                participations: self.steps.div_ceil(*period),
            },
            (Some(sampler), None) => gaussian(z).sampled(sampler.clone()),
            (None, None) => gaussian(z),
        };
        // All steps with correlated noise are one release.
        let lines = match correlation {
            Some(_) => 1,
            None => self.steps,
        };
        // The accountants' model of correlated noise: its sensitivity is the same for all z.
        let whole = correlation
            .as_ref()
            .map(|(noise, period)| noise.release_of(*period, self.steps.div_ceil(*period)))
            .transpose()?;
        let total = |z: f64| {
            let one = || whole.as_ref().map_or_else(|| step(z), |whole| whole(z));
            let steps = (self.steps > 0).then(|| one().repeated(lines));
            let once = releases.iter().map(|release| release.event(z));
            Event::Composed {
                events: steps.into_iter().chain(once).collect(),
            }
        };
        let noise_multiplier = match self.noise {
            Noise::Multiplier(z) if z.is_finite() && z > 0.0 => z,
            Noise::Multiplier(z) => {
                return Err(out_of_range("noise multiplier", z, "positive and finite"));
            }
            Noise::TargetEpsilon(epsilon) if epsilon.is_finite() && epsilon > 0.0 => {
                noise_multiplier_for(accountant, epsilon, self.delta, total)?
            }
            Noise::TargetEpsilon(epsilon) => {
                return Err(out_of_range("epsilon", epsilon, "positive and finite"));
            }
        };
        let epsilon_upper = accountant.epsilon(&total(noise_multiplier), self.delta)?;
        Ok(CheckedPlan {
            step: step(noise_multiplier),
            releases: releases
                .into_iter()
                .map(|release| Once {
                    event: release.event(noise_multiplier),
                    name: release.name,
                })
                .collect(),
            correlation: correlation.map(|(correlation, _)| correlation),
            sampler: self.sampler,
            steps: self.steps,
            noise_multiplier,
            delta: self.delta,
            epsilon_upper,
            closed_form,
        })
    }

    /// Returns the correlation of the noise of steps on fixed batches, and the period of their cycle.
    fn correlation(&self) -> Result<Option<(BandedInverse, u64)>, DpError> {
        match self.sampler.period() {
            Some(period) if self.steps > 0 => {
                let noise = BandedInverse::new(self.bandwidth, self.steps)?;
                Ok(Some((noise, period)))
            }
            _ if self.bandwidth == 1 => Ok(None),
            _ => Err(out_of_range(
                "bandwidth of the noise",
                self.bandwidth as f64,
                "1, independent noise, but for steps on the fixed batches of Sampler::cyclic",
            )),
        }
    }
}
