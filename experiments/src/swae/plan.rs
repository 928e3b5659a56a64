//! What a run releases beside its steps.

use dp_core::delta::default_delta;
use dp_core::plan::ReleaseNoise;

use super::Settings;

/// The share of epsilon and of delta that the class moments may take.
const MOMENTS_SHARE: f64 = 0.1;

/// The release of the class moments, by its name in the plan.
pub(crate) const MOMENTS: &str = "class-moments";

/// The noise of the class moments, which are released beside the steps of a private training; none if they are not.
///
/// - `records`: private ones.
pub(crate) fn moments_noise(settings: &Settings, records: usize) -> Option<ReleaseNoise> {
    let epsilon = settings.epsilon.filter(|_| settings.releases_moments())?;
    let delta = settings.delta.unwrap_or(default_delta(records as f64));
    Some(ReleaseNoise::GaussianWithin {
        epsilon: MOMENTS_SHARE * epsilon,
        delta: MOMENTS_SHARE * delta,
    })
}
