//! The only way from a plan to released values.

use std::sync::atomic::{AtomicU64, Ordering};

use zeroize::Zeroizing;

use super::names::MOST_NAMES;
use super::vector::Norm;
use super::{
    BoundedGradient, NameCounts, NoiseSource, NoisyVector, ReleasedGradient, SensitiveVector,
    Sensitivity, discrete, gaussian, laplace,
};
use crate::DpError;
use crate::accounting::Event;
use crate::ledger::{Ledger, LedgerEntry};
use crate::plan::{CheckedPlan, NoiseFor};
use crate::sampling::{Draw, Made};

/// Draws the records of each planned step, and releases the planned values.
///
/// # Formal guarantee
///
/// A value is returned only after its event has been written to the ledger and flushed to the device that holds it;
/// on `Err` nothing was released. Only planned values are released: a step's value for its own last draw, as many
/// steps as planned, each other release once. If the noise of steps is correlated, one ledger line stands for all of
/// them; steps that do not continue the last step and its noise get a new line.
///
/// ```
/// use burn::module::ParamId;
/// use burn::tensor::Device;
/// use dp_core::ledger::Ledger;
/// use dp_core::mechanism::{BoundedGradient, NoiseSource, ParameterGradient, Sensitivity};
/// use dp_core::per_sample::ParameterSlot;
/// use dp_core::plan::TrainingPlan;
/// use dp_core::sampling::Sampler;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("ledger.jsonl");
/// let plan = TrainingPlan::for_epsilon(1.0, 1e-6, 500, Sampler::fixed_size(60_000, 600)?).check()?;
/// let mut releaser = plan.releaser(NoiseSource::secret()?);
/// let mut ledger = Ledger::create(&path)?;
///
/// let draw = releaser.draw()?;
/// // Here the mean of the gradients of draw.indices(), each clipped to norm 1: 0 as an example.
/// let slot = ParameterSlot { id: ParamId::new(), shape: vec![3] };
/// let mean = ParameterGradient::from_host(vec![slot], &[0.0; 3], &Device::flex())?;
/// let bounded = BoundedGradient::new(mean, Sensitivity::l2(2.0 / 600.0)?, &[600], draw)?;
/// let released = releaser.release(bounded, &mut ledger)?;
/// assert_eq!(ledger.releases(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Releaser {
    plan: CheckedPlan,
    noise: NoiseSource,
    run: u64,
    draws: u64,
    step: u64,
    made: Vec<bool>,
}

/// The number of releasers created by this process.
static RUNS: AtomicU64 = AtomicU64::new(0);

impl NoiseFor for NoiseSource {
    type Releaser = Releaser;

    fn releaser(self, plan: CheckedPlan) -> Releaser {
        Releaser {
            made: vec![false; plan.releases().count()],
            plan,
            noise: self,
            run: RUNS.fetch_add(1, Ordering::Relaxed) + 1,
            draws: 0,
            step: 0,
        }
    }
}

impl Releaser {
    /// The plan.
    pub fn plan(&self) -> &CheckedPlan {
        &self.plan
    }

    /// The noise source, for other secret draws of a step and for checkpoints.
    pub fn noise(&mut self) -> &mut NoiseSource {
        &mut self.noise
    }

    /// The number of steps released so far, including those of [`Releaser::at_step`].
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Resumes after the first `step` steps, which an earlier process made.
    ///
    /// # Errors
    ///
    /// [`DpError::BeyondPlan`] if the plan has fewer steps; [`DpError::OutOfRange`] if more steps were made here.
    pub fn at_step(&mut self, step: u64) -> Result<(), DpError> {
        if step > self.plan.steps() {
            return Err(DpError::BeyondPlan {
                step,
                steps: self.plan.steps(),
            });
        }
        if step < self.step {
            return Err(DpError::OutOfRange {
                name: "steps made before",
                value: step as f64,
                bound: format!("at least the {} steps made here", self.step),
            });
        }
        self.step = step;
        Ok(())
    }

    /// Draws the records of the next step, secretly. It voids an earlier draw that was not released.
    ///
    /// # Errors
    ///
    /// [`DpError::BeyondPlan`] once all steps of the plan were made.
    pub fn draw(&mut self) -> Result<Draw, DpError> {
        self.check_steps(self.step + 1)?;
        self.draws += 1;
        let made = Made {
            run: self.run,
            number: self.draws,
            step: self.step + 1,
        };
        let sampler = self.plan.sampler();
        let expected = sampler.expected_sizes();
        let batch = sampler.sample(made.step, self.noise.rng());
        Ok(Draw::new(made, batch, expected))
    }

    /// Records one step's release in the ledger and returns the gradient with noise.
    ///
    /// # Errors
    ///
    /// [`DpError::ForeignDraw`] or [`DpError::StaleDraw`] if the gradient is not of this releaser's last draw,
    /// [`DpError::BeyondPlan`] after the last step, [`DpError::NotFinite`] for a gradient with a NaN or an infinity,
    /// and [`DpError::Ledger`] if the ledger cannot be written. Nothing was released then, and a refused gradient is
    /// not in the ledger.
    pub fn release(
        &mut self,
        bounded: BoundedGradient,
        ledger: &mut Ledger,
    ) -> Result<ReleasedGradient, DpError> {
        self.check_draw(bounded.draw())?;
        let deviation = self.deviation(bounded.sensitivity());
        let noise = self.step_noise(bounded.gradient().len());
        let noisy = gaussian::noisy_gradient(bounded.gradient(), deviation, &noise)?;
        self.record_step(bounded.sensitivity(), ledger)?;
        Ok(ReleasedGradient::new(noisy))
    }

    /// Records one step's release of numbers in the ledger and returns them with Gaussian noise.
    ///
    /// - `sizes`: the number of records of each stratum of `draw` in the values.
    ///
    /// The released values must not depend on the order of the draw, or must lose that order before anyone sees them:
    /// the amplification by sampling holds for sets.
    ///
    /// # Errors
    ///
    /// Those of [`Releaser::release`]; [`DpError::SampledSizes`] if the sizes are not the draw's,
    /// [`DpError::OtherNoise`] for a bound in the L1 norm.
    pub fn release_step(
        &mut self,
        values: &SensitiveVector,
        sizes: &[usize],
        draw: &Draw,
        ledger: &mut Ledger,
    ) -> Result<NoisyVector, DpError> {
        draw.check(sizes)?;
        self.check_draw(draw)?;
        if values.norm() == Norm::L1 {
            return Err(other_noise("a step", "Gaussian", "Laplace"));
        }
        let sensitivity = values.l2_sensitivity()?;
        let deviation = self.deviation(sensitivity);
        let noise = self.step_noise(values.before_noise().len());
        let values = gaussian::noisy_vector(values.before_noise(), deviation, &noise)?;
        self.record_step(sensitivity, ledger)?;
        Ok(NoisyVector { values, deviation })
    }

    /// Records the planned release `name` of a vector of all records and returns it with discrete Gaussian or Laplace
    /// noise on a fine grid. The noise is accounted as the continuous one and protects no less. It has no
    /// floating-point leaks (Canonne, Kamath and Steinke 2020, arXiv 2004.00010; `docs/privacy.md`). Values that
    /// stand record by record ([`SensitiveVector::by_record`]) get a secret order.
    ///
    /// # Errors
    ///
    /// [`DpError::NotPlanned`] or [`DpError::ReleasedTwice`] if the plan does not hold the release or it was made;
    /// [`DpError::OtherNoise`] if the bound is not in the norm of the planned noise, the Euclidean one for Gaussian
    /// noise; [`DpError::OutOfRange`] for a bound that is not positive and finite; [`DpError::NotFinite`] for a value
    /// that is not finite; [`DpError::BeyondGrid`] for one of `2^28` and more deviations of its noise;
    /// [`DpError::Ledger`] if the ledger cannot be written. Nothing was released then.
    pub fn release_vector(
        &mut self,
        name: &str,
        values: &SensitiveVector,
        ledger: &mut Ledger,
    ) -> Result<NoisyVector, DpError> {
        let (place, event) = self.due(name)?;
        let exact = &*values.reordered(self.noise.rng());
        let (noisy, bound, deviation) = match (&event, values.norm()) {
            (Event::Gaussian { noise_multiplier }, Norm::L2) => {
                let bound = values.l2_sensitivity()?.l2_upper();
                let (noisy, deviation) =
                    discrete::noisy_vector(exact, *noise_multiplier, bound, &mut self.noise)?;
                (noisy, bound, deviation)
            }
            (Event::Laplace { noise_multiplier }, Norm::L1) => {
                let bound = values.sensitivity_upper();
                if !(bound.is_finite() && bound > 0.0) {
                    return Err(DpError::OutOfRange {
                        name: "L1 sensitivity",
                        value: bound,
                        bound: "positive and finite".into(),
                    });
                }
                let (noisy, scale) =
                    laplace::noisy_vector(exact, *noise_multiplier, bound, &mut self.noise)?;
                (noisy, bound, std::f64::consts::SQRT_2 * scale)
            }
            (planned, Norm::L2) => return Err(other_noise(name, kind(planned), "Gaussian")),
            (planned, Norm::L1) => return Err(other_noise(name, kind(planned), "Laplace")),
        };
        self.record(event, bound, deviation, ledger)?;
        self.made[place] = true;
        Ok(NoisyVector {
            values: noisy,
            deviation,
        })
    }

    /// Records the planned release `name` and returns the names of each table whose noisy count is above the threshold.
    ///
    /// # Errors
    ///
    /// Those of [`Releaser::release_vector`], for a release planned with a threshold; [`DpError::OutOfRange`] for
    /// more than 2^20 names.
    pub fn release_names(
        &mut self,
        name: &str,
        names: &NameCounts,
        ledger: &mut Ledger,
    ) -> Result<Vec<Vec<String>>, DpError> {
        let (place, event) = self.due(name)?;
        let parts = match &event {
            Event::Composed { events } => events.as_slice(),
            _ => &[],
        };
        let [
            Event::Gaussian { noise_multiplier },
            Event::Failure { delta },
        ] = parts
        else {
            return Err(other_noise(name, kind(&event), "thresholded"));
        };
        let (noise_multiplier, delta) = (*noise_multiplier, *delta);
        let counts = names.counts()?;
        let bound = counts.l2_sensitivity()?.l2_upper();
        let deviation = discrete::fine_deviation(MOST_NAMES, noise_multiplier, bound)?;
        let exact = counts.before_noise();
        let noisy = discrete::noisy_of_deviation(exact, deviation, &mut self.noise)?;
        self.record(event, bound, deviation, ledger)?;
        self.made[place] = true;
        Ok(names.above(&noisy, names.threshold(deviation, delta)))
    }

    /// The standard deviation `z Delta` of the noise on each coordinate of a step; of each independent part of the
    /// noise if it is correlated over steps.
    pub fn deviation(&self, sensitivity: Sensitivity) -> f64 {
        self.plan.noise_multiplier() * sensitivity.l2_upper()
    }

    fn check_steps(&self, step: u64) -> Result<(), DpError> {
        let steps = self.plan.steps();
        if step <= steps {
            return Ok(());
        }
        Err(DpError::BeyondPlan { step, steps })
    }

    fn check_draw(&self, draw: &Draw) -> Result<(), DpError> {
        let made = draw.made();
        if made.run != self.run {
            return Err(DpError::ForeignDraw {
                sampled: made.run,
                here: self.run,
            });
        }
        if (made.number, made.step) != (self.draws, self.step + 1) {
            return Err(DpError::StaleDraw {
                sampled: made.number,
                step: made.step,
                last: self.draws,
            });
        }
        self.check_steps(made.step)
    }

    /// The place and the event of a release that is planned and not yet made.
    fn due(&self, name: &str) -> Result<(usize, Event), DpError> {
        let mut releases = self.plan.releases().enumerate();
        let found = releases.find(|(_, (planned, _))| *planned == name);
        let (place, (_, event)) = found.ok_or_else(|| DpError::NotPlanned {
            name: name.into(),
            planned: self.plan.releases().map(|(n, _)| n.into()).collect(),
        })?;
        if self.made[place] {
            return Err(DpError::ReleasedTwice { name: name.into() });
        }
        Ok((place, event.clone()))
    }

    fn record_step(
        &mut self,
        sensitivity: Sensitivity,
        ledger: &mut Ledger,
    ) -> Result<(), DpError> {
        let deviation = self.deviation(sensitivity);
        let event = self.plan.step_event().clone();
        let mut entry = self.entry(event, sensitivity.l2_upper(), deviation);
        let Some(correlation) = self.plan.correlation() else {
            ledger.append(&entry)?;
            self.step += 1;
            // The key that made this noise is overwritten before the value leaves.
            self.noise.advance();
            return Ok(());
        };
        let mechanism = self.mechanism();
        // A line stands for several steps: it is written before the first, and again if they do not continue the last step.
        let goes_on = self.noise.goes_on(&mechanism, self.step);
        let name = self.noise.name(goes_on);
        entry.mechanism = Some(name.clone());
        // Another run of the same plan gets lines of its own.
        if !(goes_on && ledger.holds(&entry)?) {
            ledger.append(&entry)?;
        }
        self.step += 1;
        let later = match self.step < self.plan.steps() {
            true => correlation.inverse().len() - 1,
            // No later step uses this noise.
            false => 0,
        };
        self.noise.advance_from(mechanism, name, self.step, later);
        Ok(())
    }

    /// Standard Gaussian noise for the numbers of the next step. It is correlated with that of earlier steps if it
    /// continues them: the last step was one of the same plan and noise source. A step that is made again, is left
    /// out or comes with another noise source begins the mechanism anew.
    fn step_noise(&mut self, count: usize) -> Zeroizing<Vec<f64>> {
        let Some(correlation) = self.plan.correlation() else {
            return Zeroizing::new(self.noise.standard_normal(count));
        };
        if !self.noise.goes_on(&self.mechanism(), self.step) {
            self.noise.begin();
        }
        Zeroizing::new(self.noise.correlated_normal(correlation.inverse(), count))
    }

    /// Tells one mechanism of correlated steps from another.
    fn mechanism(&self) -> String {
        format!("{:?} of {:?}", self.plan.step_event(), self.plan.sampler())
    }

    fn record(
        &mut self,
        event: Event,
        sensitivity: f64,
        deviation: f64,
        ledger: &mut Ledger,
    ) -> Result<(), DpError> {
        ledger.append(&self.entry(event, sensitivity, deviation))?;
        // The key that made this noise is overwritten before the value leaves.
        self.noise.advance();
        Ok(())
    }

    fn entry(&self, event: Event, sensitivity: f64, deviation: f64) -> LedgerEntry {
        LedgerEntry {
            event,
            count: 1,
            neighbours: self.plan.neighbours(),
            sensitivity: Some(sensitivity),
            deviation: Some(deviation),
            secret_noise: self.noise.is_secret(),
            mechanism: None,
        }
    }
}

/// The noise of a planned release.
fn kind(event: &Event) -> &'static str {
    match event {
        Event::Gaussian { .. } => "Gaussian",
        Event::Laplace { .. } => "Laplace",
        _ => "thresholded",
    }
}

fn other_noise(name: &str, planned: &'static str, asked: &'static str) -> DpError {
    DpError::OtherNoise {
        name: name.into(),
        planned,
        asked,
    }
}
