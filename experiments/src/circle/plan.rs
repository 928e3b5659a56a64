//! What a run promises each side, checked before it starts.

use dp_core::accounting::{Accountant, Event, PldAccountant, noise_multiplier_for};
use dp_core::plan::{CheckedPlan, Noise, TrainingPlan};
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
            let both = GroupSampler::new(sides, &[batch, batch]);
            both.map(Into::into).map_err(Failure::failed)
        }
        Method::Smoothed => {
            let one = FixedSizeSampler::new(n, batch);
            one.map(Into::into).map_err(Failure::failed)
        }
    }
}

/// How much less a point of the circle moves a step than what is declared.
pub(crate) fn share(settings: &Settings) -> Result<f64, Failure> {
    let batch = settings.batch;
    match settings.method {
        Method::Gradients => ToSample::share(2, batch, batch).map_err(Failure::failed),
        Method::Smoothed => Ok(1.0),
    }
}

/// Releases of a run.
pub(crate) fn releases(settings: &Settings) -> u64 {
    match settings.method {
        Method::Gradients => settings.steps,
        Method::Smoothed => 1,
    }
}

/// `steps` releases as they reach a point of the circle, where those of the source have multiplier `z`.
fn of_target(settings: &Settings, share: f64, z: f64, steps: u64) -> Event {
    let (n, batch) = (settings.records as u64, settings.batch as u64);
    Event::dp_sgd(n, batch, steps, z / share)
}

/// The checked plan; none without privacy.
pub(crate) fn plan(
    settings: &Settings,
    sampler: &BatchSampler,
) -> Result<Option<CheckedPlan>, Failure> {
    let Some(epsilon) = settings.epsilon else {
        return Ok(None);
    };
    let (delta, releases) = (settings.delta(), releases(settings));
    let mut plan = TrainingPlan::within(epsilon, delta, releases, sampler.clone());
    if settings.method == Method::Gradients && settings.side == Side::Target {
        let share = share(settings)?;
        let event = |z| of_target(settings, share, z, releases);
        let noise = noise_multiplier_for(&PldAccountant::default(), epsilon, delta, event);
        plan.noise = Noise::Multiplier(noise.map_err(|e| refused_plan(e.into()))?);
    }
    plan.check().map(Some).map_err(refused_plan)
}

/// An upper bound on the epsilon of the circle's points after `steps` releases; none before the first.
pub(crate) fn target_epsilon(
    settings: &Settings,
    plan: Option<&CheckedPlan>,
    steps: u64,
) -> Result<Option<f64>, Failure> {
    let Some(plan) = plan.filter(|_| steps > 0) else {
        return Ok(None);
    };
    let event = of_target(settings, share(settings)?, plan.noise_multiplier(), steps);
    let epsilon = PldAccountant::default().epsilon(&event, plan.delta());
    epsilon.map(Some).map_err(Failure::failed)
}
