//! A plan whose guarantee has been computed.

use crate::DpError;
use crate::accounting::{
    Accountant, BandedInverse, Event, GaussianAccountant, Neighbours, PldAccountant,
};
use crate::ledger::{Entries, is_as_planned};
use crate::sampling::Sampler;

/// A source of noise that turns a plan into a releaser, the only way to release what the plan promises.
///
/// `dp-core` implements it for its noise source. That releaser samples batches, adds the noise and writes the ledger.
pub trait NoiseFor {
    /// The releaser.
    type Releaser;

    /// Creates the releaser of `plan` with this noise.
    fn releaser(self, plan: CheckedPlan) -> Self::Releaser;
}

/// A plan with a computed guarantee.
///
/// It cannot be copied, and [`CheckedPlan::releaser`] consumes it, so no two trainings spend it:
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
    /// Creates the releaser of this plan from a source of noise; nothing else can release what the plan promises.
    pub fn releaser<N: NoiseFor>(self, noise: N) -> N::Releaser {
        noise.releaser(self)
    }

    /// Returns the sampler of the batches.
    pub fn sampler(&self) -> &Sampler {
        &self.sampler
    }

    /// Returns the event of one step, or of all steps together if batches are cyclic.
    pub fn step_event(&self) -> &Event {
        &self.step
    }

    /// Returns the correlation of the noise of steps, or `None` if batches are not cyclic and each step is a separate release.
    pub fn correlation(&self) -> Option<&BandedInverse> {
        self.correlation.as_ref()
    }

    /// Returns the names and events of the other releases, which are made once each.
    pub fn releases(&self) -> impl Iterator<Item = (&str, &Event)> {
        self.releases.iter().map(|r| (r.name.as_str(), &r.event))
    }

    /// Returns how often the ledger of a finished run holds [`CheckedPlan::step_event`].
    fn lines(&self) -> u64 {
        match self.correlation {
            Some(_) => 1,
            None => self.steps,
        }
    }

    /// Returns all releases of the plan as one event.
    pub fn event(&self) -> Event {
        let steps = self.step.clone().repeated(self.lines());
        let others = self.releases.iter().map(|once| once.event.clone());
        Event::Composed {
            events: std::iter::once(steps).chain(others).collect(),
        }
    }

    /// Returns the neighbour relation of the guarantee.
    pub fn neighbours(&self) -> Neighbours {
        self.sampler.neighbours()
    }

    /// Returns the noise multiplier `z = sigma / Delta` of each step (before correlation) and of a release with share 1.
    pub fn noise_multiplier(&self) -> f64 {
        self.noise_multiplier
    }

    /// Returns the number of steps.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Returns the number of releases, which is the number of lines in the ledger of a finished run: one per step, or one for all
    /// steps if batches are cyclic, and one per other release.
    pub fn releases_in_all(&self) -> u64 {
        self.lines() + self.releases.len() as u64
    }

    /// Returns the delta of the guarantee.
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// Returns an upper bound on the epsilon of the whole plan.
    pub fn epsilon_upper(&self) -> f64 {
        self.epsilon_upper
    }

    /// Returns the name of the accountant that computed the guarantee.
    pub fn accountant(&self) -> &'static str {
        if self.closed_form {
            GaussianAccountant.name()
        } else {
            PldAccountant::default().name()
        }
    }

    /// Returns an upper bound on the epsilon of the releases that the ledger of a run holds so far, repeated steps included.
    ///
    /// # Errors
    ///
    /// Returns the errors of the accountant.
    pub fn epsilon_so_far(&self, ledger: &Entries) -> Result<f64, DpError> {
        self.epsilon_of(&ledger.event()?)
    }

    /// Returns an upper bound on the epsilon of a finished run: the plan's if the ledger holds exactly the plan's releases, else
    /// the larger of the plan's and that of the ledger's lines. The ledger's is larger if a killed run repeated steps or another
    /// plan wrote some lines. It is never below the plan's, because a finished run has made every release even if lines are lost.
    ///
    /// # Errors
    ///
    /// Returns the errors of the accountant.
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
