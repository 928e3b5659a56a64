//! What a run promises, checked before it starts.

use dp_core::plan::{CheckedPlan, TrainingPlan};
use dp_core::sampling::FixedSizeSampler;
use lab::diagnostic::Failure;
use lab::session::{bounded, refused_plan};

use super::settings::Settings;

/// What draws the target records of each release.
pub(crate) fn sampler(settings: &Settings, records: usize) -> Result<FixedSizeSampler, Failure> {
    let batch = settings.batch.unwrap_or(records);
    let bound = format!("between 1 and the {records} private target records");
    bounded("batch", batch, (1..=records).contains(&batch), &bound)?;
    FixedSizeSampler::new(records, batch).map_err(Failure::failed)
}

/// The checked plan: each release is one step. None without noise or releases.
pub(crate) fn plan(
    settings: &Settings,
    sampler: FixedSizeSampler,
) -> Result<Option<CheckedPlan>, Failure> {
    let Some(epsilon) = settings.epsilon.filter(|_| settings.steps > 0) else {
        return Ok(None);
    };
    let plan = TrainingPlan::within(epsilon, settings.delta, settings.steps, sampler);
    plan.check().map(Some).map_err(refused_plan)
}
