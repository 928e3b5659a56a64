//! What a run promises, checked before it starts.

use dp_core::accounting::{Event, GaussianAccountant, Neighbours, noise_multiplier_for};
use dp_core::plan::{CheckedPlan, Noise, TrainingPlan};
use lab::diagnostic::Failure;

use super::Settings;
use super::batches::Batches;

/// The share of epsilon and of delta that the class moments may take.
const MOMENTS_SHARE: f64 = 0.1;

/// The checked plan; none without privacy.
///
/// # Errors
///
/// [`Failure::BadInput`] for a request that cannot be met.
pub fn plan(settings: &Settings, batches: &Batches) -> Result<Option<CheckedPlan>, Failure> {
    let Some(epsilon) = settings.epsilon else {
        return Ok(None);
    };
    let refuse = |e: &dyn std::fmt::Display| {
        Failure::input(
            format!("the privacy plan is refused: {e}"),
            "change --epsilon, --delta, --batch or --steps, or say --no-privacy",
        )
    };
    let besides = if settings.conditional && settings.class_moments {
        let z = noise_multiplier_for(
            &GaussianAccountant,
            MOMENTS_SHARE * epsilon,
            MOMENTS_SHARE * settings.delta,
            |z| Event::Gaussian {
                noise_multiplier: z,
            },
        )
        .map_err(|e| refuse(&e))?;
        vec![Event::Gaussian {
            noise_multiplier: z,
        }]
    } else {
        Vec::new()
    };
    TrainingPlan {
        sampler: batches.sampler.clone(),
        steps: settings.steps,
        delta: settings.delta,
        noise: Noise::TargetEpsilon(epsilon),
        besides,
    }
    .check()
    .map(Some)
    .map_err(|e| refuse(&e))
}

/// A neighbour relation in words.
pub fn neighbours(relation: Neighbours) -> &'static str {
    match relation {
        Neighbours::ReplaceOne => "replace one record",
        Neighbours::KEnd => "replace one record by one of its class, class sizes public",
        Neighbours::AddRemove => "add or remove one record",
    }
}
