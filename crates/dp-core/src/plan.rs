//! One checked value that couples sampler, neighbours, noise, steps and accountant.
//!
//! The sampler that draws the batches, the noise of the mechanism and the event in the ledger must
//! speak of the same thing; they are all taken from a [`CheckedPlan`].

use crate::DpError;
use crate::accounting::{
    Accountant, Event, FdpAccountant, Neighbours, Release, Sampler, is_as_planned,
    noise_multiplier_for, replay,
};
use crate::delta::check_delta;
use crate::mechanism::{GaussianMechanism, NoiseSource};

/// How much noise a plan asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// As much as this epsilon needs.
    TargetEpsilon(f64),
    /// This noise multiplier.
    Multiplier(f64),
}

/// A training run before it is checked.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingPlan {
    /// How each step's batch is drawn.
    pub sampler: Sampler,
    /// Steps, each one Gaussian release.
    pub steps: u64,
    /// The delta of the guarantee.
    pub delta: f64,
    /// The noise of a step.
    pub noise: Noise,
    /// What else is released of the same records, such as moments after training.
    pub besides: Vec<Event>,
}

/// A plan whose guarantee has been computed.
#[derive(Debug, Clone)]
pub struct CheckedPlan {
    step: Event,
    besides: Vec<Event>,
    steps: u64,
    noise_multiplier: f64,
    delta: f64,
    epsilon_upper: f64,
    neighbours: Neighbours,
    accountant: FdpAccountant,
}

impl TrainingPlan {
    /// `steps` steps within `(epsilon, delta)`, and nothing else of the same records.
    pub fn within(epsilon: f64, delta: f64, steps: u64, sampler: Sampler) -> Self {
        Self {
            sampler,
            steps,
            delta,
            noise: Noise::TargetEpsilon(epsilon),
            besides: Vec::new(),
        }
    }

    /// Checks every part of the plan and calibrates the noise where an epsilon is asked for.
    ///
    /// `delta` must lie in `(0, 1/n)` for `n` records: at `1/n` a mechanism that publishes one
    /// record outright would pass.
    ///
    /// # Errors
    ///
    /// [`DpError::OutOfRange`] and [`DpError::Batch`] name what is refused and its bound; the
    /// accountant's own refusals are passed on.
    pub fn check(self) -> Result<CheckedPlan, DpError> {
        let records = records(&self.sampler)?;
        if self.steps == 0 {
            return Err(out_of_range("steps", 0.0, "at least 1"));
        }
        check_delta(self.delta, records)?;
        let accountant = FdpAccountant::default();
        let step = |z: f64| {
            Event::Gaussian {
                noise_multiplier: z,
            }
            .sampled(self.sampler.clone())
        };
        let total = |z: f64| {
            let mut events = vec![step(z).repeated(self.steps)];
            events.extend(self.besides.iter().cloned());
            Event::Composed { events }
        };
        let noise_multiplier = match self.noise {
            Noise::Multiplier(z) if z.is_finite() && z > 0.0 => z,
            Noise::Multiplier(z) => {
                return Err(out_of_range("noise-multiplier", z, "positive and finite"));
            }
            Noise::TargetEpsilon(epsilon) if epsilon.is_finite() && epsilon > 0.0 => {
                noise_multiplier_for(&accountant, epsilon, self.delta, total)?
            }
            Noise::TargetEpsilon(epsilon) => {
                return Err(out_of_range("epsilon", epsilon, "positive and finite"));
            }
        };
        let epsilon_upper = accountant.epsilon(&total(noise_multiplier), self.delta)?;
        Ok(CheckedPlan {
            step: step(noise_multiplier),
            neighbours: self.sampler.neighbours(),
            besides: self.besides,
            steps: self.steps,
            noise_multiplier,
            delta: self.delta,
            epsilon_upper,
            accountant,
        })
    }
}

impl CheckedPlan {
    /// The mechanism of the plan's steps, on a noise source.
    ///
    /// # Errors
    ///
    /// As [`GaussianMechanism::new`].
    pub fn mechanism(&self, noise: NoiseSource) -> Result<GaussianMechanism, DpError> {
        let event = self.step_event().clone();
        GaussianMechanism::new(self.noise_multiplier(), event, self.neighbours(), noise)
    }

    /// What one step releases.
    pub fn step_event(&self) -> &Event {
        &self.step
    }

    /// The neighbour relation of the guarantee.
    pub fn neighbours(&self) -> Neighbours {
        self.neighbours
    }

    /// The noise multiplier `z = sigma / Delta` of each step.
    pub fn noise_multiplier(&self) -> f64 {
        self.noise_multiplier
    }

    /// The number of steps.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The delta of the guarantee.
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// An upper bound on the epsilon of the whole plan.
    pub fn epsilon_upper(&self) -> f64 {
        self.epsilon_upper
    }

    /// The accountant that answers, by name.
    pub fn accountant(&self) -> &'static str {
        self.accountant.name()
    }

    /// An upper bound on the epsilon spent by the first `steps` steps alone.
    ///
    /// # Errors
    ///
    /// The accountant's refusals.
    pub fn epsilon_after(&self, steps: u64) -> Result<f64, DpError> {
        Ok(self
            .accountant
            .epsilon(&self.step.clone().repeated(steps), self.delta)?)
    }

    /// An upper bound on the epsilon of everything that a ledger holds.
    ///
    /// # Errors
    ///
    /// The accountant's refusals.
    pub fn epsilon_of(&self, event: &Event) -> Result<f64, DpError> {
        Ok(self.accountant.epsilon(event, self.delta)?)
    }

    /// An upper bound on the epsilon of a finished run, by its ledger: that of the plan where it holds
    /// the plan's releases, and that of its own lines where that is more, because a killed run made
    /// steps again or another plan wrote some of them. Never less than planned: a finished run has
    /// released it all, whatever its ledger has lost.
    ///
    /// # Errors
    ///
    /// The accountant's refusals.
    pub fn epsilon_spent(&self, releases: &[Release]) -> Result<f64, DpError> {
        let mut planned = vec![(self.step.clone(), self.steps)];
        planned.extend(self.besides.iter().map(|event| (event.clone(), 1)));
        if is_as_planned(releases, &planned) {
            return Ok(self.epsilon_upper);
        }
        let found = self.epsilon_of(&replay(releases)?)?;
        Ok(found.max(self.epsilon_upper))
    }

    /// What is released besides the steps.
    pub fn besides(&self) -> &[Event] {
        &self.besides
    }
}

/// The number of records that a fixed-size sampler draws from.
fn records(sampler: &Sampler) -> Result<f64, DpError> {
    match sampler {
        Sampler::WithoutReplacement { records, batch } => {
            if *batch == 0 || batch > records {
                return Err(DpError::Batch {
                    batch: *batch,
                    records: *records,
                });
            }
            Ok(*records as f64)
        }
        Sampler::KEndGroups { groups } => {
            for group in groups {
                if group.batch == 0 || group.batch > group.records {
                    return Err(DpError::Batch {
                        batch: group.batch,
                        records: group.records,
                    });
                }
            }
            Ok(groups.iter().map(|g| g.records as f64).sum())
        }
        Sampler::WithoutReplacementRate { rate } | Sampler::Poisson { rate } => Err(out_of_range(
            "sampler",
            *rate,
            "given by its records and batch: a rate alone does not say what delta must stay below",
        )),
    }
}

fn out_of_range(name: &'static str, value: f64, bound: impl Into<String>) -> DpError {
    DpError::OutOfRange {
        name,
        value,
        bound: bound.into(),
    }
}
