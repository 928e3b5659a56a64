//! What is released after training, and what the model is sampled by then.

use lab::prelude::*;
use private_queries::Moments;

use super::Settings;
use super::latents::encode;
use super::plan::MOMENTS;
use super::samples::Origin;
use super::train::SwaeRun;

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
            session.measure(&query, &run.private_latents(session)?)
        })?;
        Ok(Origin::Classes(classes))
    }

    /// The latents of all private records, class by class, by the weights that are scored.
    fn private_latents(&self, session: &Session) -> Result<Vec<Vec<f32>>, Failure> {
        let model = self.steps.scored()?;
        let train = self.steps.records.private();
        let mut classes = Vec::new();
        for class in train.indices_by_class() {
            let mut latents = Vec::with_capacity(class.len() * self.settings.latent);
            for part in class.chunks(500) {
                session.interrupt.check("records were encoded")?;
                let pixels = train.gather(part).unwrap_or_default();
                latents.extend(encode(&model, pixels, &session.chosen.device));
            }
            classes.push(latents);
        }
        Ok(classes)
    }
}

/// The latent moments of each class of public size; none in an unconditional run.
pub(crate) fn moments(settings: &Settings, sizes: &[usize]) -> Option<Moments> {
    let query = Moments::of_groups(sizes.to_vec(), settings.latent, settings.clip_activation);
    // Samples stay those of every run before.
    settings.conditional.then(|| query.as_released())
}
