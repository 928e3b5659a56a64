//! What a run promises, checked before it starts.

use dp_core::accounting::{Event, GaussianAccountant, noise_multiplier_for};
use dp_core::plan::{CheckedPlan, ReleaseNoise, TrainingPlan};
use lab::diagnostic::Failure;
use lab::session::refused_plan;

use super::Settings;
use super::batches::Batches;

/// The share of epsilon and of delta that the class moments may take where they are all that is sampled by.
const MOMENTS_SHARE: f64 = 0.1;

/// The share of the moments in what both releases take where there are marginals.
const AROUND_SHARE: f64 = 0.3;

/// The release of the class moments, by its name in the plan.
pub(crate) const MOMENTS: &str = "class-moments";
/// The release of the marginals around them, likewise.
pub(crate) const MARGINALS: &str = "class-marginals";

/// The checked plan; none without privacy.
pub(crate) fn plan(settings: &Settings, batches: &Batches) -> Result<Option<CheckedPlan>, Failure> {
    let Some(epsilon) = settings.epsilon else {
        return Ok(None);
    };
    let mut plan = TrainingPlan::within(
        epsilon,
        settings.delta,
        settings.steps,
        batches.sampler.clone(),
    );
    if settings.releases_marginals() {
        let (share, delta) = (settings.marginals_share, settings.delta);
        let gaussian = |noise_multiplier| Event::Gaussian { noise_multiplier };
        let whole = noise_multiplier_for(&GaussianAccountant, epsilon, delta, gaussian);
        let whole = whole.map_err(|e| refused_plan(e.into()))?;
        for (name, part) in [(MOMENTS, AROUND_SHARE), (MARGINALS, 1.0 - AROUND_SHARE)] {
            let noise_multiplier = whole / (share * part).sqrt();
            plan = plan.and(name, ReleaseNoise::Gaussian { noise_multiplier });
        }
    } else if settings.releases_moments() {
        let own = ReleaseNoise::GaussianWithin {
            epsilon: MOMENTS_SHARE * epsilon,
            delta: MOMENTS_SHARE * settings.delta,
        };
        plan = plan.and(MOMENTS, own);
    }
    plan.check().map(Some).map_err(refused_plan)
}
