//! The release of the class moments after training.

use dp_core::ledger::Ledger;
use dp_core::mechanism::Sensitivity;
use lab::diagnostic::Failure;
use lab::interrupt::Interrupt;
use lab::run_folder::RunFolder;
use model::swae::{ClassLatents, class_moments, moment_sensitivity};
use serde::{Deserialize, Serialize};

use crate::spent::{damaged, stored};

use super::latents::encode;
use super::plan::MOMENTS;
use super::run::Run;

const FILE: &str = "class-moments.json";

/// The moments as released: with noise, so that they may be kept and used at will.
#[derive(Debug, Serialize, Deserialize)]
struct Released {
    /// How many releases the ledger held with this one; 0 without privacy.
    #[serde(default)]
    releases: u64,
    released: Vec<f64>,
    sizes: Vec<usize>,
    latent: usize,
    radius: f64,
}

impl Released {
    fn latents(&self) -> Result<ClassLatents, String> {
        ClassLatents::from_released(&self.released, &self.sizes, self.latent, self.radius)
            .map_err(|e| e.to_string())
    }
}

/// The class Gaussians of a run whose moments were released; none in an unconditional run.
///
/// # Errors
///
/// [`Failure::BadInput`] for a file that is damaged.
pub fn read(folder: &RunFolder) -> Result<Option<ClassLatents>, Failure> {
    let path = folder.file(FILE);
    stored::<Released>(&path)?
        .map(|moments| moments.latents().map_err(|e| damaged(&path, &e)))
        .transpose()
}

impl Run {
    /// The law that each class is sampled from. Without `--prior-samples` it comes from the latent
    /// moments of each class, released once, over all private records. A run that was
    /// killed after it goes on with what was released.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the ledger or the folder cannot be written; [`Failure::Interrupted`]
    /// before anything is released.
    pub fn class_latents(
        &mut self,
        folder: &RunFolder,
        ledger: &mut Ledger,
        interrupt: &Interrupt,
    ) -> Result<Option<ClassLatents>, Failure> {
        if !self.settings.conditional {
            return Ok(None);
        }
        if !self.settings.class_moments {
            let sizes = &self.batches.class_sizes;
            let radius = self.settings.clip_activation;
            return ClassLatents::prior(sizes, self.settings.latent, radius)
                .map(Some)
                .map_err(Failure::run);
        }
        if let Some(latents) = read(folder)? {
            return Ok(Some(latents));
        }
        let model = self.evaluated()?;
        let radius = self.settings.clip_activation;
        let mut sums = Vec::new();
        for class in self.data.train.indices_by_class() {
            let mut latents = Vec::with_capacity(class.len() * self.settings.latent);
            for part in class.chunks(500) {
                interrupt.check("records were encoded")?;
                let pixels = self.data.train.gather(part).unwrap_or_default();
                latents.extend(encode(&model, pixels, &self.chosen.device));
            }
            sums.extend(class_moments(&latents, self.settings.latent, radius));
        }
        let released = match &mut self.releaser {
            Some(releaser) => {
                let sensitivity =
                    Sensitivity::l2(moment_sensitivity(radius)).map_err(Failure::run)?;
                releaser
                    .release_vector(MOMENTS, &sums, sensitivity, ledger)
                    .map_err(Failure::run)?
            }
            None => sums,
        };
        let released = Released {
            releases: ledger.releases(),
            released,
            sizes: self.batches.class_sizes.clone(),
            latent: self.settings.latent,
            radius,
        };
        folder.write_json(FILE, &released)?;
        released.latents().map(Some).map_err(Failure::run)
    }
}
