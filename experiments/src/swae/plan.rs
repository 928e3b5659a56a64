//! What a run promises, checked before it starts.

use dp_core::plan::{CheckedPlan, ReleaseNoise, TrainingPlan};
use lab::diagnostic::Failure;
use lab::session::refused_plan;

use super::Settings;
use super::batches::Batches;

/// The share of epsilon and of delta that the class moments may take.
const MOMENTS_SHARE: f64 = 0.1;

/// The release of the class moments, by its name in the plan.
pub const MOMENTS: &str = "class-moments";

/// The checked plan; none without privacy.
///
/// # Errors
///
/// [`Failure::BadInput`] for a request that cannot be met.
pub fn plan(settings: &Settings, batches: &Batches) -> Result<Option<CheckedPlan>, Failure> {
    let Some(epsilon) = settings.epsilon else {
        return Ok(None);
    };
    let mut plan = TrainingPlan::within(
        epsilon,
        settings.delta,
        settings.steps,
        batches.sampler.clone(),
    );
    if settings.releases_moments() {
        let own = ReleaseNoise::GaussianWithin {
            epsilon: MOMENTS_SHARE * epsilon,
            delta: MOMENTS_SHARE * settings.delta,
        };
        plan = plan.and(MOMENTS, own);
    }
    plan.check().map(Some).map_err(refused_plan)
}
