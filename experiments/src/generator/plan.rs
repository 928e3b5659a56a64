//! What a generator promises, checked before it starts.

use dp_core::plan::{CheckedPlan, ReleaseNoise, TrainingPlan};
use dp_core::sampling::{BatchSampler, FixedSizeSampler};
use lab::diagnostic::Failure;
use lab::session::refused_plan;

use super::Settings;

/// The one release of all records, by its name in the plan.
pub(crate) const RELEASE: &str = "release";

/// What draws the private records of a step: a batch of fixed size, or all of them where there is one release.
pub(crate) fn sampler(settings: &Settings, records: usize) -> Result<BatchSampler, Failure> {
    let batch = match settings.releases_each_step() {
        true => settings.batch.unwrap_or(0),
        false => records,
    };
    FixedSizeSampler::new(records, batch)
        .map(Into::into)
        .map_err(|e| {
            Failure::input(
                format!("--batch {batch}: {e}"),
                format!("choose --batch between 1 and {records}"),
            )
        })
}

/// The checked plan; none without noise.
pub(crate) fn plan(
    settings: &Settings,
    sampler: BatchSampler,
) -> Result<Option<CheckedPlan>, Failure> {
    let Some(epsilon) = settings.epsilon else {
        return Ok(None);
    };
    let plan = match settings.releases_each_step() {
        true => TrainingPlan::within(epsilon, settings.delta, settings.steps, sampler),
        false => TrainingPlan::within(epsilon, settings.delta, 0, sampler)
            .and(RELEASE, ReleaseNoise::Share(1.0)),
    };
    plan.check().map(Some).map_err(refused_plan)
}
