//! What a run promises each side.

use dp_core::accounting::{Event, PldAccountant, noise_multiplier_for};
use dp_core::plan::{Noise, TrainingPlan};
use dp_core::sampling::{BatchSampler, FixedSizeSampler, GroupSampler};
use lab::diagnostic::Failure;
use lab::session::refused_plan;
use private_training::penalty::ToSample;

use super::settings::{Method, Settings, Side};

/// What draws the private points of a step: of both sides by private gradients, of the circle otherwise.
pub(crate) fn sampler(settings: &Settings) -> Result<BatchSampler, Failure> {
    let (n, batch) = (settings.records, settings.batch);
    match settings.method {
        Method::Gradients => {
            let sides = vec![(0..n).collect(), (n..2 * n).collect()];
            GroupSampler::new(sides, &[batch, batch]).map(Into::into)
        }
        Method::Smoothed => FixedSizeSampler::new(n, batch).map(Into::into),
    }
    .map_err(Failure::failed)
}

/// How much less a point of the circle moves a step than what is declared.
pub(crate) fn share(settings: &Settings) -> Result<f64, Failure> {
    let batch = settings.batch;
    match settings.method {
        Method::Gradients => ToSample::share(2, batch, batch).map_err(Failure::failed),
        Method::Smoothed => Ok(1.0),
    }
}

/// So many releases as they reach a point of the circle, where those of the source have multiplier `z`.
pub(crate) fn event_of_target(settings: &Settings, share: f64, z: f64, releases: u64) -> Event {
    let (n, batch) = (settings.records as u64, settings.batch as u64);
    Event::dp_sgd(n, batch, releases, z / share)
}

/// The plan, by the budget of the side that it is of; none without privacy.
pub(crate) fn training_plan(settings: &Settings) -> Result<Option<TrainingPlan>, Failure> {
    let Some(epsilon) = settings.epsilon else {
        return Ok(None);
    };
    let gradients = settings.method == Method::Gradients;
    let (delta, releases) = (settings.delta(), if gradients { settings.steps } else { 1 });
    let mut plan = TrainingPlan::within(epsilon, delta, releases, sampler(settings)?);
    if gradients && settings.side == Side::Target {
        let share = share(settings)?;
        let event = |z| event_of_target(settings, share, z, releases);
        let noise = noise_multiplier_for(&PldAccountant::default(), epsilon, delta, event);
        plan.noise = Noise::Multiplier(noise.map_err(|e| refused_plan(e.into()))?);
    }
    Ok(Some(plan))
}
