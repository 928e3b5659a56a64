//! What a run promises each side.

use dp_core::accounting::{Event, PldAccountant, noise_multiplier_for};
use dp_core::plan::{Noise, TrainingPlan};
use dp_core::sampling::{BatchSampler, FixedSizeSampler, GroupSampler};
use lab::diagnostic::Failure;
use lab::session::refused_plan;
use private_training::penalty::ToSample;

use super::settings::{Method, Settings, Side};

impl<M: Method> Settings<M> {
    /// Delta: `0.1/n` where none is given.
    fn delta(&self) -> f64 {
        let records = self.shared.records.max(1);
        self.shared.delta.unwrap_or(0.1 / records as f64)
    }

    /// What draws the private points of a step: of both sides by private gradients, of the circle otherwise.
    pub(super) fn sampler(&self) -> Result<BatchSampler, Failure> {
        let (n, batch) = (self.shared.records, self.shared.batch);
        match self.gradients() {
            Some(_) => {
                let sides = vec![(0..n).collect(), (n..2 * n).collect()];
                GroupSampler::new(sides, &[batch, batch]).map(Into::into)
            }
            None => FixedSizeSampler::new(n, batch).map(Into::into),
        }
        .map_err(Failure::failed)
    }

    /// How much less a point of the circle moves a step than what is declared.
    pub(super) fn share(&self) -> Result<f64, Failure> {
        let batch = self.shared.batch;
        let share = self.gradients();
        let share = share.map(|_| ToSample::share(2, batch, batch).map_err(Failure::failed));
        share.unwrap_or(Ok(1.0))
    }

    /// Releases after `step` steps of a run that was never killed.
    pub(super) fn planned(&self, step: u64) -> u64 {
        self.gradients().map_or(1, |_| step)
    }

    /// So many releases as they reach a point of the circle, where those of the source have multiplier `z`.
    pub(super) fn event_of_target(&self, share: f64, z: f64, releases: u64) -> Event {
        let (n, batch) = (self.shared.records as u64, self.shared.batch as u64);
        Event::dp_sgd(n, batch, releases, z / share)
    }

    /// The plan, by the budget of the side that it is of; none without privacy.
    pub(super) fn plan(&self) -> Result<Option<TrainingPlan>, Failure> {
        let Some(epsilon) = self.shared.epsilon else {
            return Ok(None);
        };
        let (delta, releases) = (self.delta(), self.planned(self.shared.steps));
        let mut plan = TrainingPlan::within(epsilon, delta, releases, self.sampler()?);
        if let Some(Side::Target) = self.gradients().map(|own| own.side) {
            let share = self.share()?;
            let event = |z| self.event_of_target(share, z, releases);
            let noise = noise_multiplier_for(&PldAccountant::default(), epsilon, delta, event);
            plan.noise = Noise::Multiplier(noise.map_err(|e| refused_plan(e.into()))?);
        }
        Ok(Some(plan))
    }
}
