//! The release of the class moments after training.

use lab::diagnostic::Failure;
use lab::session::{Released, Session};
use model::swae::{ClassLatents, class_moments, moment_sensitivity};

use super::Settings;
use super::latents::encode;
use super::plan::MOMENTS;
use super::samples::Origin;
use super::train::Swae;
use crate::release::{Values, release_and_store, stored};

impl Swae {
    /// What the model is sampled by: the prior, a Gaussian of each class, or particles. What that needs is released
    /// once, over all private records.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the ledger or the folder cannot be written; [`Failure::Interrupted`]
    /// before anything is released.
    pub fn origin(&mut self, session: &mut Session) -> Result<Origin, Failure> {
        let (settings, sizes) = (self.settings.clone(), self.batches.class_sizes.clone());
        let classes = class_latents(&settings, &sizes, || self.moments(session))?;
        match classes {
            Some(around) if settings.releases_marginals() => {
                self.particles(&around, session).map(Origin::Particles)
            }
            Some(classes) => Ok(Origin::Classes(classes)),
            None => Ok(Origin::Prior),
        }
    }

    /// The latents of all private records, class by class, by the weights that are scored.
    pub(super) fn private_latents(&mut self, session: &Session) -> Result<&[Vec<f32>], Failure> {
        if self.latents.is_empty() {
            let model = self.training.averaged().map_err(Failure::failed)?;
            for class in self.data.train.indices_by_class() {
                let mut latents = Vec::with_capacity(class.len() * self.settings.latent);
                for part in class.chunks(500) {
                    session.interrupt.check("records were encoded")?;
                    let pixels = self.data.train.gather(part).unwrap_or_default();
                    latents.extend(encode(&model, pixels, &session.chosen.device));
                }
                self.latents.push(latents);
            }
        }
        Ok(&self.latents)
    }

    /// The latent moments of each class, released once.
    fn moments(&mut self, session: &mut Session) -> Result<Released, Failure> {
        let (latent, radius) = (self.settings.latent, self.settings.clip_activation);
        if let Some(released) = stored(self.training.releaser(), MOMENTS, session)? {
            return Ok(released);
        }
        let latents = self.private_latents(session)?;
        let sums: Vec<Vec<f64>> = latents
            .iter()
            .map(|latents| class_moments(latents, latent, radius))
            .collect();
        let values = Values::new(&[sums.concat()], moment_sensitivity(radius));
        let releaser = self.training.releaser();
        release_and_store(releaser, MOMENTS, &values, None, session)
    }
}

/// The distribution that each class of public size is sampled from, from what was released of its latents where the
/// settings have it so; none in an unconditional run.
pub(crate) fn class_latents(
    settings: &Settings,
    sizes: &[usize],
    released: impl FnOnce() -> Result<Released, Failure>,
) -> Result<Option<ClassLatents>, Failure> {
    let (latent, radius) = (settings.latent, settings.clip_activation);
    if !settings.conditional {
        return Ok(None);
    }
    let released = released()?;
    // Marginals need the Gaussian as it is; samples of Gaussians alone are those of every run before.
    let deviation = match settings.releases_marginals() {
        true => released.deviation,
        false => 0.0,
    };
    ClassLatents::from_released(&released.groups.concat(), sizes, latent, radius, deviation)
        .map(Some)
        .map_err(Failure::failed)
}
