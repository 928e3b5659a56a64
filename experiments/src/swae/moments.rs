//! The release of the class moments after training.

use dp_core::mechanism::Sensitivity;
use lab::diagnostic::Failure;
use lab::session::{Released, Session};
use model::swae::{ClassLatents, class_moments, moment_sensitivity};

use super::Settings;
use super::latents::encode;
use super::plan::MOMENTS;
use super::train::Swae;

impl Swae {
    /// The distribution that each class is sampled from; none in an unconditional run. Without
    /// `--prior-samples` it comes from the latent moments of each class, released once, over all private records.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the ledger or the folder cannot be written; [`Failure::Interrupted`]
    /// before anything is released.
    pub fn class_latents(
        &mut self,
        session: &mut Session,
    ) -> Result<Option<ClassLatents>, Failure> {
        let (settings, sizes) = (self.settings.clone(), self.batches.class_sizes.clone());
        class_latents(&settings, &sizes, || self.moments(session))
    }

    /// The latent moments of each class, released once.
    fn moments(&mut self, session: &mut Session) -> Result<Released, Failure> {
        let (latent, radius) = (self.settings.latent, self.settings.clip_activation);
        match Released::read(&session.folder, MOMENTS)? {
            Some(released) => Ok(released),
            None => {
                let model = self.training.averaged_weights()?;
                let mut sums = Vec::new();
                for class in self.data.train.indices_by_class() {
                    let mut latents = Vec::with_capacity(class.len() * latent);
                    for part in class.chunks(500) {
                        session.interrupt.check("records were encoded")?;
                        let pixels = self.data.train.gather(part).unwrap_or_default();
                        latents.extend(encode(&model, pixels, &session.chosen.device));
                    }
                    sums.extend(class_moments(&latents, latent, radius));
                }
                let released = match &mut self.training.releaser {
                    Some(releaser) => {
                        let sensitivity = Sensitivity::l2(moment_sensitivity(radius));
                        let sensitivity = sensitivity.map_err(Failure::failed)?;
                        let deviation = releaser.deviation_of(MOMENTS, sensitivity);
                        let noisy = releaser
                            .release_vector(MOMENTS, &sums, sensitivity, &mut session.ledger)
                            .map_err(Failure::failed)?;
                        Released {
                            groups: vec![noisy],
                            deviation: deviation.map_err(Failure::failed)?,
                        }
                    }
                    None => Released {
                        groups: vec![sums],
                        deviation: 0.0,
                    },
                };
                released.write(&session.folder, MOMENTS, session.ledger.releases())?;
                Ok(released)
            }
        }
    }
}

/// The distribution that each class of public size is sampled from, from what was released of its latents where the
/// settings have it so; none in an unconditional run.
///
/// # Errors
///
/// Those of `released`; [`Failure::Failed`] where it is of another length.
pub fn class_latents(
    settings: &Settings,
    sizes: &[usize],
    released: impl FnOnce() -> Result<Released, Failure>,
) -> Result<Option<ClassLatents>, Failure> {
    let (latent, radius) = (settings.latent, settings.clip_activation);
    if !settings.conditional {
        return Ok(None);
    }
    if !settings.class_moments {
        let prior = ClassLatents::prior(sizes, latent, radius);
        return prior.map(Some).map_err(Failure::failed);
    }
    ClassLatents::from_released(&released()?.groups.concat(), sizes, latent, radius, 0.0)
        .map(Some)
        .map_err(Failure::failed)
}
