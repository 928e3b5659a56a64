//! What a run releases beside its steps.

use dp_core::accounting::{Event, GaussianAccountant, noise_multiplier_for};
use dp_core::delta::default_delta;
use dp_core::plan::ReleaseNoise;
use lab::diagnostic::Failure;
use lab::session::refused_plan;

use super::Settings;

/// The share of epsilon and of delta that the class moments may take where they are all that is sampled by.
const MOMENTS_SHARE: f64 = 0.1;

/// The share of the moments in what both releases take where there are marginals.
const AROUND_SHARE: f64 = 0.3;

/// The release of the class moments, by its name in the plan.
pub(crate) const MOMENTS: &str = "class-moments";
/// The release of the marginals around them, likewise.
pub(crate) const MARGINALS: &str = "class-marginals";

/// What is released beside the steps of a private training, and the noise of each.
///
/// - `records`: private ones.
pub(crate) fn releases(
    settings: &Settings,
    records: usize,
) -> Result<Vec<(&'static str, ReleaseNoise)>, Failure> {
    let Some(epsilon) = settings.epsilon.filter(|_| settings.releases_moments()) else {
        return Ok(Vec::new());
    };
    let delta = settings.delta.unwrap_or(default_delta(records as f64));
    if !settings.releases_marginals() {
        let own = ReleaseNoise::GaussianWithin {
            epsilon: MOMENTS_SHARE * epsilon,
            delta: MOMENTS_SHARE * delta,
        };
        return Ok(vec![(MOMENTS, own)]);
    }
    let gaussian = |noise_multiplier| Event::Gaussian { noise_multiplier };
    let whole = noise_multiplier_for(&GaussianAccountant, epsilon, delta, gaussian);
    let whole = whole.map_err(|e| refused_plan(e.into()))?;
    let parts = [(MOMENTS, AROUND_SHARE), (MARGINALS, 1.0 - AROUND_SHARE)];
    let noise = |(name, part): (_, f64)| {
        let noise_multiplier = whole / (settings.marginals_share * part).sqrt();
        (name, ReleaseNoise::Gaussian { noise_multiplier })
    };
    Ok(parts.map(noise).into())
}
