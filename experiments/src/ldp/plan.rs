//! What is promised to each record.

use data::privatised::NoiseKind;
use data::stream::Form;
use data::transform::Dct;
use dp_core::local::LocalMechanism;
use dp_core::plan::{Noise, ReleaseNoise, TrainingPlan};
use dp_core::sampling::FixedSizeSampler;
use lab::diagnostic::Failure;
use lab::session::refused_plan;

use crate::privatise::{Preprocessing, calibrated};

use super::Settings;

/// The one release of a record, by its name in the plan.
pub(crate) const RELEASE: &str = "privatised";

/// The delta at which pure Laplace noise is composed with nothing.
const PURE: f64 = 1e-12;

/// The mechanism that every record passes. Where no noise is asked for it is one of epsilon 1 that nothing passes.
pub(crate) fn mechanism(settings: &Settings, delta: f64) -> Result<LocalMechanism, Failure> {
    let epsilon = settings.epsilon.unwrap_or(1.0);
    let kind = (settings.mechanism, settings.calibration);
    let mechanism = calibrated(kind, [epsilon, delta, settings.radius]);
    mechanism.map_err(refused_plan)
}

/// What happens to a record of this form, before and with its noise.
pub(crate) fn preprocessing(
    settings: &Settings,
    form: &Form,
    mechanism: LocalMechanism,
) -> Result<Preprocessing, Failure> {
    let dct = match (settings.keep, form.shape) {
        (Some(keep), Some([channels, side, _])) => {
            let refuse = |e| Failure::input(format!("--keep {keep}: {e}"), "keep fewer");
            Some(Dct::new(channels, side, keep).map_err(refuse)?)
        }
        _ => None,
    };
    let weight = Some(settings.label_weight);
    let weight = weight.filter(|&weight| weight > 0.0 && form.classes.is_some());
    Ok(Preprocessing::new(
        mechanism,
        settings.calibration,
        dct,
        weight,
    ))
}

/// The plan of one record: it is a data set of its own, whatever the others are.
pub(super) fn plan(
    settings: &Settings,
    mechanism: &LocalMechanism,
    delta: f64,
) -> Result<TrainingPlan, Failure> {
    let alone = FixedSizeSampler::new(1, 1).map_err(refused_plan)?;
    let (noise_multiplier, epsilon) = (mechanism.noise_multiplier(), mechanism.epsilon());
    let (delta, noise) = match settings.mechanism {
        NoiseKind::Gaussian => (delta, ReleaseNoise::Gaussian { noise_multiplier }),
        NoiseKind::Laplace => (PURE, ReleaseNoise::Laplace { epsilon }),
    };
    // Nothing is left to calibrate: the mechanism has its noise.
    let plan = TrainingPlan::of(Noise::Multiplier(noise_multiplier), delta, 0, alone);
    Ok(plan.and(RELEASE, noise))
}
