//! A plan whose guarantee has been computed.

use crate::DpError;
use crate::accounting::{
    Accountant, BandedInverse, Event, GaussianAccountant, Neighbours, PldAccountant,
};
use crate::ledger::{Entries, is_as_planned};
use crate::sampling::Sampler;

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
    pub(super) sampler: Sampler,
    pub(super) step: Event,
    pub(super) correlation: Option<BandedInverse>,
    pub(super) releases: Vec<Once>,
    pub(super) steps: u64,
    pub(super) noise_multiplier: f64,
    pub(super) delta: f64,
    pub(super) epsilon_upper: f64,
    pub(super) closed_form: bool,
}

/// A release of a checked plan.
#[derive(Debug)]
pub(super) struct Once {
    pub(super) name: String,
    pub(super) event: Event,
}

impl CheckedPlan {
    /// The one way out for what this plan promises, by a source of noise.
    pub fn releaser<N: NoiseFor>(self, noise: N) -> N::Releaser {
        noise.releaser(self)
    }

    /// What draws the batches.
    pub fn sampler(&self) -> &Sampler {
        &self.sampler
    }

    /// What one step releases; where batches are fixed, what all of them do.
    pub fn step_event(&self) -> &Event {
        &self.step
    }

    /// How the noise of steps is correlated; none where they are sampled, and each is a release of its own.
    pub fn correlation(&self) -> Option<&BandedInverse> {
        self.correlation.as_ref()
    }

    /// The other releases, once each: names and events.
    pub fn releases(&self) -> impl Iterator<Item = (&str, &Event)> {
        self.releases.iter().map(|r| (r.name.as_str(), &r.event))
    }

    /// How often the ledger of a finished run holds [`CheckedPlan::step_event`].
    fn lines(&self) -> u64 {
        match self.correlation {
            Some(_) => 1,
            None => self.steps,
        }
    }

    /// All that the plan releases, as one event.
    pub fn event(&self) -> Event {
        let steps = self.step.clone().repeated(self.lines());
        let others = self.releases.iter().map(|once| once.event.clone());
        Event::Composed {
            events: std::iter::once(steps).chain(others).collect(),
        }
    }

    /// The neighbour relation of the guarantee.
    pub fn neighbours(&self) -> Neighbours {
        self.sampler.neighbours()
    }

    /// The noise multiplier `z = sigma / Delta` of each step, of what is correlated before it is, and of what has all the shares.
    pub fn noise_multiplier(&self) -> f64 {
        self.noise_multiplier
    }

    /// The number of steps.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Steps, or all of them once where batches are fixed, and other releases, counted together: the lines that the ledger of a finished run holds.
    pub fn releases_in_all(&self) -> u64 {
        self.lines() + self.releases.len() as u64
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
        if self.closed_form {
            GaussianAccountant.name()
        } else {
            PldAccountant::default().name()
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
        let mut planned = vec![(self.step.clone(), self.lines())];
        planned.extend(self.releases.iter().map(|once| (once.event.clone(), 1)));
        if is_as_planned(&ledger.entries, &planned) {
            return Ok(self.epsilon_upper);
        }
        Ok(self.epsilon_so_far(ledger)?.max(self.epsilon_upper))
    }

    fn epsilon_of(&self, event: &Event) -> Result<f64, DpError> {
        Ok(PldAccountant::default().epsilon(event, self.delta)?)
    }
}
