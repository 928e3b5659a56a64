//! The release of the class moments after training.

use dp_core::mechanism::Sensitivity;
use lab::diagnostic::Failure;
use lab::session::{Released, Session};
use model::swae::{ClassLatents, class_moments, moment_sensitivity};

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
        if !self.settings.conditional {
            return Ok(None);
        }
        let (latent, radius) = (self.settings.latent, self.settings.clip_activation);
        let sizes = &self.batches.class_sizes;
        if !self.settings.class_moments {
            let prior = ClassLatents::prior(sizes, latent, radius);
            return prior.map(Some).map_err(Failure::failed);
        }
        let released = match Released::read(&session.folder, MOMENTS)? {
            Some(released) => released,
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
                released
            }
        };
        ClassLatents::from_released(&released.groups.concat(), sizes, latent, radius)
            .map(Some)
            .map_err(Failure::failed)
    }
}
