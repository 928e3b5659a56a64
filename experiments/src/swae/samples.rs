//! Samples of an autoencoder: at its end, and from its folder at any time after it.

use burn::tensor::Device;
use lab::diagnostic::Failure;
use lab::run_folder::RunFolder;
use lab::session::{Released, load_weights};
use model::latent::ImageShape;
use model::swae::{ClassLatents, Swae, SwaeConfig};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use swd::UniformBall;

use super::Settings;
use super::latents::{decode, with_labels};
use super::moments::class_latents;
use super::plan::MOMENTS;
use crate::export::{self, Source};

/// Samples with their latents.
pub struct Samples {
    /// `[n, 784]`, in `[0, 1]`.
    pub pixels: Vec<f32>,
    /// Where the model knows classes.
    pub labels: Option<Vec<usize>>,
    /// `[n, latent]`.
    pub latents: Vec<f32>,
}

/// What samples are drawn from: a decoder, and the latents of its classes or the prior.
pub struct Sampler<'a> {
    /// The decoder.
    pub model: &'a Swae,
    /// The latents of each class; none for the prior.
    pub classes: Option<&'a ClassLatents>,
    /// Where it computes.
    pub device: &'a Device,
}

impl Sampler<'_> {
    /// `count` samples, with labels where the model is conditional: in equal parts from the class Gaussians, rounded
    /// up, class after class, or from the prior.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the prior refuses the dimension.
    pub fn draw(&self, count: usize, rng: &mut impl Rng) -> Result<Samples, Failure> {
        let model = self.model;
        let Some(classes) = self.classes else {
            let prior = UniformBall::new(model.latent).map_err(Failure::failed)?;
            let latents = prior.sample(count, rng);
            return Ok(Samples {
                pixels: decode(model, latents.clone(), self.device),
                labels: None,
                latents,
            });
        };
        let present = classes.present();
        let (mut latents, mut labels) = (Vec::new(), Vec::new());
        for &class in &present {
            let each = count.div_ceil(present.len());
            latents.extend(classes.sample(class, each, rng));
            labels.extend(vec![class; each]);
        }
        let inputs = with_labels(&latents, model.latent, model.classes, &labels);
        Ok(Samples {
            pixels: decode(model, inputs, self.device),
            labels: Some(labels),
            latents,
        })
    }
}

/// What samples are made from beside weights and moments.
pub fn source(settings: &Settings, class_sizes: &[usize]) -> Source {
    let mut public_knowledge =
        "Nothing: no public record, and no weights that were trained on any.".to_string();
    if settings.conditional {
        public_knowledge += " The sizes of the classes are public.";
    }
    Source {
        shape: SHAPE,
        labelled: settings.conditional,
        classes: class_sizes.len(),
        class_sizes: match settings.conditional {
            true => class_sizes.to_vec(),
            false => Vec::new(),
        },
        public_knowledge,
    }
}

/// The images that the autoencoder takes and gives.
pub const SHAPE: ImageShape = ImageShape {
    channels: 1,
    side: 28,
};

struct Stored {
    model: Swae,
    classes: Option<ClassLatents>,
    device: Device,
}

impl export::Sampler for Stored {
    fn sample(&mut self, count: usize, rng: &mut ChaCha20Rng) -> Result<export::Samples, Failure> {
        let sampler = Sampler {
            model: &self.model,
            classes: self.classes.as_ref(),
            device: &self.device,
        };
        let samples = sampler.draw(count, rng)?;
        Ok(match samples.labels {
            Some(labels) => export::Samples::in_turn(&samples.pixels, &labels),
            None => export::Samples {
                pixels: samples.pixels,
                labels: None,
            },
        })
    }
}

/// The samples of the run in a folder.
///
/// # Errors
///
/// [`Failure::BadInput`] names a file that is missing or damaged.
pub fn sampler(
    folder: &RunFolder,
    source: &Source,
    device: &Device,
) -> Result<impl export::Sampler + 'static, Failure> {
    let settings: Settings = folder.read_toml("config.toml")?;
    let config = SwaeConfig {
        latent: settings.latent,
        classes: match settings.conditional {
            true => source.classes,
            false => 0,
        },
    };
    let untrained = config.init(&mut ChaCha20Rng::seed_from_u64(0), device);
    let released = || {
        Released::read(folder, MOMENTS)?.ok_or_else(|| {
            export::damaged(
                &folder.file(&format!("{MOMENTS}.bin")),
                &"there is no such file",
            )
        })
    };
    Ok(Stored {
        classes: class_latents(&settings, &source.class_sizes, released)?,
        model: load_weights(untrained, folder)?,
        device: device.clone(),
    })
}
