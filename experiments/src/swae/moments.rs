//! What is released after training, and what the model is sampled by then.

use dp_core::delta::default_delta;
use dp_core::plan::ReleaseNoise;
use lab::prelude::*;
use private_queries::Moments;

use super::Settings;
use super::latents::encode_at;
use super::samples::Origin;
use super::train::SwaeRun;

/// The share of epsilon and of delta that the class moments may take.
const MOMENTS_SHARE: f64 = 0.1;

/// The release of the class moments, by its name in the plan.
pub(crate) const MOMENTS: &str = "class-moments";

impl SwaeRun {
    /// What the model is sampled by: the prior, or a Gaussian of each class, whose moments are released once, over all
    /// private records.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] if the ledger or the folder cannot be written; [`Failure::Interrupted`]
    /// before anything is released.
    pub(crate) fn origin(&mut self, session: &mut Session) -> Result<Origin, Failure> {
        let Some(query) = moments(&self.settings, &self.steps.records.class_sizes) else {
            return Ok(Origin::Prior);
        };
        let (classes, _) = session.release(self, MOMENTS, &query, |run, session| {
            // By the weights that are scored.
            let model = run.steps.scored()?;
            let train = run.steps.records.private();
            let classes = train.indices_by_class().into_iter();
            let latents = classes.map(|class| encode_at(&model, train, &class, session));
            session.measure(&query, &latents.collect::<Result<Vec<_>, _>>()?)
        })?;
        Ok(Origin::Classes(classes))
    }
}

/// The latent moments of each class of public size; none in an unconditional run.
pub(crate) fn moments(settings: &Settings, sizes: &[usize]) -> Option<Moments> {
    let query = Moments::of_groups(sizes.to_vec(), settings.latent, settings.clip_activation);
    // Samples stay those of every run before.
    settings.conditional.then(|| query.as_released())
}

/// The noise of the class moments, which are released beside the steps of a private training; none if they are not.
///
/// - `records`: private ones.
pub(crate) fn moments_noise(settings: &Settings, records: usize) -> Option<ReleaseNoise> {
    let epsilon = settings.epsilon.filter(|_| settings.conditional)?;
    let delta = settings.delta.unwrap_or(default_delta(records as f64));
    Some(ReleaseNoise::GaussianWithin {
        epsilon: MOMENTS_SHARE * epsilon,
        delta: MOMENTS_SHARE * delta,
    })
}
