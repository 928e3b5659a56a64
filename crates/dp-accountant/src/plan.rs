//! One checked value that couples sampler, neighbours, noise, steps, one-off releases and accountant.
//!
//! The sampler that draws the batches, the noise of the mechanism and the event in the ledger must
//! speak of the same thing: they are all a [`CheckedPlan`]'s, and the releaser that
//! [`CheckedPlan::releaser`] makes of it is the only way out.
//!
//! ```
//! use dp_accountant::plan::TrainingPlan;
//! use dp_accountant::sampling::FixedSizeSampler;
//!
//! let plan = TrainingPlan::within(1.0, 1e-6, 500, FixedSizeSampler::new(60_000, 600)?).check()?;
//! assert!(plan.epsilon_upper() <= 1.0);
//! # Ok::<(), dp_accountant::DpError>(())
//! ```

use crate::DpError;
use crate::accounting::{
    Accountant, Event, FdpAccountant, GaussianAccountant, Neighbours, is_as_planned,
    noise_multiplier_for,
};
use crate::delta::check_delta;
use crate::ledger::Entries;
use crate::sampling::BatchSampler;

/// How much noise a plan asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// As much as this epsilon needs, in all.
    TargetEpsilon(f64),
    /// This noise multiplier.
    Multiplier(f64),
}

/// The noise of a release that is made once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReleaseNoise {
    /// Gaussian noise of this multiplier.
    Gaussian {
        /// Standard deviation over L2 sensitivity.
        noise_multiplier: f64,
    },
    /// As much Gaussian noise as this budget of its own needs.
    GaussianWithin {
        /// Epsilon of the release alone.
        epsilon: f64,
        /// Delta of the release alone.
        delta: f64,
    },
    /// Gaussian noise of multiplier `z / sqrt(share)`, `z` that of the plan: this share of the `1/z^2` of a
    /// release at `z`. Releases whose shares add up to 1 cost what one at `z` does.
    Share(f64),
    /// Laplace noise of scale `L1 sensitivity / epsilon`.
    Laplace {
        /// Epsilon of the release alone.
        epsilon: f64,
    },
}

/// A release that is made once, of all records: moments, counts, a histogram.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRelease {
    /// The name that it is asked for by.
    pub name: String,
    /// Its noise.
    pub noise: ReleaseNoise,
}

impl PlannedRelease {
    /// A release of this name and noise.
    pub fn new(name: impl Into<String>, noise: ReleaseNoise) -> Self {
        Self {
            name: name.into(),
            noise,
        }
    }
}

/// A training run before it is checked.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingPlan {
    /// What draws each step's batch. Without steps it says which records there are.
    pub sampler: BatchSampler,
    /// Steps, each one Gaussian release. None are needed where there are other releases.
    pub steps: u64,
    /// The delta of the guarantee.
    pub delta: f64,
    /// The noise of a step.
    pub noise: Noise,
    /// What else is released of the same records, such as moments after training.
    pub releases: Vec<PlannedRelease>,
    /// The probability, over public randomness, that the sensitivity of one release is exceeded: 0 for a
    /// proved bound; 1 where nothing is proved, so that nothing is promised.
    pub failure_probability: f64,
}

impl TrainingPlan {
    /// `steps` steps within `(epsilon, delta)`, and nothing else of the same records.
    pub fn within(epsilon: f64, delta: f64, steps: u64, sampler: impl Into<BatchSampler>) -> Self {
        Self {
            sampler: sampler.into(),
            steps,
            delta,
            noise: Noise::TargetEpsilon(epsilon),
            releases: Vec::new(),
            failure_probability: 0.0,
        }
    }

    /// This plan with one more release.
    #[must_use]
    pub fn and(mut self, name: impl Into<String>, noise: ReleaseNoise) -> Self {
        self.releases.push(PlannedRelease::new(name, noise));
        self
    }

    /// Checks every part of the plan and calibrates the noise where an epsilon is asked for.
    ///
    /// `delta` must lie in `(0, 1/n)` for `n` records: at `1/n` a mechanism that publishes one
    /// record outright would pass. So must delta in all, with the failures of the sensitivities, unless
    /// nothing is proved of them.
    ///
    /// # Errors
    ///
    /// [`DpError::OutOfRange`], [`DpError::SameName`] and [`DpError::DeltaInAll`] name what is refused and
    /// its bound; the accountant's own refusals are passed on.
    pub fn check(self) -> Result<CheckedPlan, DpError> {
        let records = self.sampler.records();
        if self.steps == 0 && self.releases.is_empty() {
            return Err(out_of_range(
                "steps",
                0.0,
                "at least 1 where nothing else is released",
            ));
        }
        check_delta(self.delta, records as f64)?;
        let failure = self.failure_probability;
        if !(0.0..=1.0).contains(&failure) {
            return Err(out_of_range("failure probability", failure, "in [0, 1]"));
        }
        let releases = self.releases.into_iter().map(Due::of);
        let releases = releases.collect::<Result<Vec<_>, _>>()?;
        for (place, release) in releases.iter().enumerate() {
            if releases[..place].iter().any(|r| r.name == release.name) {
                return Err(DpError::SameName {
                    name: release.name.clone(),
                });
            }
        }
        // Without sampling and without other noise there is a closed form.
        let closed_form = self.steps == 0 && releases.iter().all(|r| !r.is_laplace());
        let accountant: &dyn Accountant = if closed_form {
            &GaussianAccountant
        } else {
            &FdpAccountant::default()
        };
        let distribution = self.sampler.distribution();
        let step = |z: f64| {
            let gaussian = gaussian(z);
            match &distribution {
                Some(sampler) => gaussian.sampled(sampler.clone()),
                None => gaussian,
            }
        };
        let total = |z: f64| {
            let steps = (self.steps > 0).then(|| step(z).repeated(self.steps));
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
        let plan = CheckedPlan {
            step: step(noise_multiplier),
            releases: releases
                .into_iter()
                .map(|release| Once {
                    event: release.event(noise_multiplier),
                    name: release.name,
                })
                .collect(),
            sampler: self.sampler,
            steps: self.steps,
            noise_multiplier,
            delta: self.delta,
            failure_probability: failure,
            epsilon_upper,
            closed_form,
        };
        let (in_all, total) = (plan.releases_in_all(), plan.delta_in_all(0));
        if plan.is_unproved() || total < 1.0 / records as f64 {
            return Ok(plan);
        }
        Err(DpError::DeltaInAll {
            total,
            delta: plan.delta,
            failure_probability: failure,
            releases: in_all,
            records,
        })
    }
}

/// A planned release; a share of it waits for the plan's noise.
struct Due {
    name: String,
    noise: DueNoise,
}

enum DueNoise {
    Event(Event),
    Share(f64),
}

impl Due {
    fn of(planned: PlannedRelease) -> Result<Self, DpError> {
        let positive = |name, value: f64| {
            if value.is_finite() && value > 0.0 {
                Ok(value)
            } else {
                Err(out_of_range(name, value, "positive and finite"))
            }
        };
        let noise = match planned.noise {
            ReleaseNoise::GaussianWithin { epsilon, delta } => {
                let z = noise_multiplier_for(&GaussianAccountant, epsilon, delta, gaussian)?;
                DueNoise::Event(gaussian(z))
            }
            ReleaseNoise::Gaussian { noise_multiplier } => {
                let z = positive("noise multiplier of a release", noise_multiplier)?;
                DueNoise::Event(gaussian(z))
            }
            ReleaseNoise::Laplace { epsilon } => DueNoise::Event(Event::Laplace {
                noise_multiplier: 1.0 / positive("epsilon of a release", epsilon)?,
            }),
            ReleaseNoise::Share(share) if share > 0.0 && share <= 1.0 => DueNoise::Share(share),
            ReleaseNoise::Share(share) => {
                let (name, bound) = ("share of a release", "above 0 and at most 1");
                return Err(out_of_range(name, share, bound));
            }
        };
        Ok(Self {
            name: planned.name,
            noise,
        })
    }

    fn is_laplace(&self) -> bool {
        matches!(self.noise, DueNoise::Event(Event::Laplace { .. }))
    }

    /// The event where the plan's noise multiplier is `z`.
    fn event(&self, z: f64) -> Event {
        match &self.noise {
            DueNoise::Event(event) => event.clone(),
            DueNoise::Share(share) => gaussian(z / share.sqrt()),
        }
    }
}

fn gaussian(noise_multiplier: f64) -> Event {
    Event::Gaussian { noise_multiplier }
}

/// A source of noise, with which a plan becomes the one way out of what it promises.
///
/// `dp-core` implements it for its noise source, whose releaser draws, adds the noise and writes the ledger.
pub trait NoiseFor {
    /// What releases.
    type Releaser;

    /// The way out of `plan` by this noise.
    fn releaser(self, plan: CheckedPlan) -> Self::Releaser;
}

/// A plan whose guarantee has been computed.
///
/// It cannot be copied, and [`CheckedPlan::releaser`] takes it, so that no two trainings spend it:
///
/// ```compile_fail,E0382
/// # fn twice<N: dp_accountant::plan::NoiseFor>(plan: dp_accountant::plan::CheckedPlan, one: N, two: N) {
/// let first = plan.releaser(one);
/// let second = plan.releaser(two); // the plan is gone
/// # }
/// ```
#[derive(Debug)]
pub struct CheckedPlan {
    sampler: BatchSampler,
    step: Event,
    releases: Vec<Once>,
    steps: u64,
    noise_multiplier: f64,
    delta: f64,
    failure_probability: f64,
    epsilon_upper: f64,
    closed_form: bool,
}

/// A release of a checked plan.
#[derive(Debug)]
struct Once {
    name: String,
    event: Event,
}

impl CheckedPlan {
    /// The one way out for what this plan promises, by a source of noise.
    pub fn releaser<N: NoiseFor>(self, noise: N) -> N::Releaser {
        noise.releaser(self)
    }

    /// What draws the batches.
    pub fn sampler(&self) -> &BatchSampler {
        &self.sampler
    }

    /// What one step releases.
    pub fn step_event(&self) -> &Event {
        &self.step
    }

    /// The other releases, once each: names and events.
    pub fn releases(&self) -> impl Iterator<Item = (&str, &Event)> {
        self.releases.iter().map(|r| (r.name.as_str(), &r.event))
    }

    /// The neighbour relation of the guarantee.
    pub fn neighbours(&self) -> Neighbours {
        self.sampler.neighbours()
    }

    /// The noise multiplier `z = sigma / Delta` of each step, and of what has all the shares.
    pub fn noise_multiplier(&self) -> f64 {
        self.noise_multiplier
    }

    /// The number of steps.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Steps and other releases, counted together: the lines that the ledger of a finished run holds.
    pub fn releases_in_all(&self) -> u64 {
        self.steps + self.releases.len() as u64
    }

    /// The delta of the noise.
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// The probability that the sensitivity of one release is exceeded; 1 where nothing is proved of it.
    pub fn failure_probability(&self) -> f64 {
        self.failure_probability
    }

    /// Whether no bound on the sensitivity is proved, with any probability.
    pub fn is_unproved(&self) -> bool {
        self.failure_probability >= 1.0
    }

    /// Delta in all: that of the noise, and the failures of so many releases, or of those planned where that
    /// is more.
    pub fn delta_in_all(&self, releases: u64) -> f64 {
        let releases = releases.max(self.releases_in_all());
        (self.delta + self.failure_probability * releases as f64).min(1.0)
    }

    /// An upper bound on the epsilon of the whole plan.
    pub fn epsilon_upper(&self) -> f64 {
        self.epsilon_upper
    }

    /// The accountant that answers, by name.
    pub fn accountant(&self) -> &'static str {
        if self.closed_form {
            GaussianAccountant.name()
        } else {
            FdpAccountant::default().name()
        }
    }

    /// An upper bound on the epsilon of what the ledger of a run holds so far, steps made again included.
    ///
    /// # Errors
    ///
    /// The accountant's refusals.
    pub fn epsilon_so_far(&self, ledger: &Entries) -> Result<f64, DpError> {
        self.epsilon_of(&ledger.event()?)
    }

    /// An upper bound on the epsilon of a finished run, by its ledger: that of the plan where it holds
    /// the plan's releases, and that of its own lines where that is more, because a killed run made
    /// steps again or another plan wrote some of them. Never less than planned: a finished run has
    /// released it all, whatever its ledger has lost.
    ///
    /// # Errors
    ///
    /// The accountant's refusals.
    pub fn epsilon_spent(&self, ledger: &Entries) -> Result<f64, DpError> {
        let mut planned = vec![(self.step.clone(), self.steps)];
        planned.extend(self.releases.iter().map(|once| (once.event.clone(), 1)));
        if is_as_planned(&ledger.entries, &planned) {
            return Ok(self.epsilon_upper);
        }
        Ok(self.epsilon_so_far(ledger)?.max(self.epsilon_upper))
    }

    fn epsilon_of(&self, event: &Event) -> Result<f64, DpError> {
        Ok(FdpAccountant::default().epsilon(event, self.delta)?)
    }
}

fn out_of_range(name: &'static str, value: f64, bound: impl Into<String>) -> DpError {
    DpError::OutOfRange {
        name,
        value,
        bound: bound.into(),
    }
}
