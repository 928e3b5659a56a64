//! Samples of an autoencoder: at its end, and from its folder at any time after it.

use burn::tensor::Device;
use lab::prelude::*;
use model::latent::ImageShape;
use model::swae::{Swae, SwaeConfig};
use private_queries::Gaussians;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use swd::UniformBall;

use super::Settings;
use super::latents::{decode, with_labels};
use super::moments::moments;
use super::plan::MOMENTS;
use crate::export::{self, Source};
use crate::variation::Variation;

pub(crate) struct Samples {
    /// `[n, 784]`, in `[0, 1]`.
    pub pixels: Vec<f32>,
    /// If the model knows classes.
    pub labels: Option<Vec<usize>>,
    /// `[n, latent]`.
    pub latents: Vec<f32>,
}

/// What latents are sampled from.
pub(crate) enum Origin {
    Prior,
    /// The distribution of each class.
    Classes(Gaussians),
}

/// What samples are sampled from: a decoder, and where its latents come from.
pub(crate) struct Sampler<'a> {
    pub model: &'a Swae,
    /// Where latents come from.
    pub origin: &'a Origin,
    pub device: &'a Device,
    pub variation: Variation,
}

impl Sampler<'_> {
    /// `count` samples: in equal parts from the distributions of the classes, rounded up, class after class, with their
    /// labels; or from the prior.
    pub(crate) fn draw(&self, count: usize, rng: &mut impl Rng) -> Result<Samples, Failure> {
        match self.origin {
            Origin::Prior => {
                let prior = UniformBall::new(self.model.latent).or_failed()?;
                Ok(self.decoded(prior.sample(count, rng), None, rng))
            }
            Origin::Classes(classes) => {
                let each = count.div_ceil(classes.present().len().max(1));
                Ok(self.of_each_class(classes, each, rng))
            }
        }
    }

    /// One hundred samples, or ten of each class, a row each.
    pub(crate) fn rows(&self, rng: &mut impl Rng) -> Result<Samples, Failure> {
        match self.origin {
            Origin::Prior => self.draw(100, rng),
            Origin::Classes(classes) => Ok(self.of_each_class(classes, 10, rng)),
        }
    }

    fn of_each_class(&self, classes: &Gaussians, each: usize, rng: &mut impl Rng) -> Samples {
        let (mut latents, mut labels) = (Vec::new(), Vec::new());
        for class in classes.present() {
            latents.extend(classes.sample(class, each, rng));
            labels.extend(vec![class; each]);
        }
        self.decoded(latents, Some(labels), rng)
    }

    fn decoded(
        &self,
        latents: Vec<f32>,
        labels: Option<Vec<usize>>,
        rng: &mut impl Rng,
    ) -> Samples {
        let model = self.model;
        let inputs = match &labels {
            Some(labels) => with_labels(&latents, model.latent, model.classes, labels),
            None => latents.clone(),
        };
        let mut pixels = decode(model, inputs, self.device);
        self.variation.apply(&mut pixels, SHAPE, rng);
        Samples {
            pixels,
            labels,
            latents,
        }
    }
}

/// What samples are made from beside weights and what was released.
pub(crate) fn source(settings: &Settings, class_sizes: &[usize]) -> Source {
    let mut public_knowledge =
        "Nothing: no public record, and no weights that were trained on any.".to_string();
    if settings.conditional {
        public_knowledge += " The sizes of the classes are public.";
    }
    public_knowledge += &settings.variation().words();
    Source {
        shape: SHAPE,
        labelled: settings.conditional,
        classes: class_sizes.len(),
        class_sizes: match settings.conditional {
            true => class_sizes.to_vec(),
            false => Vec::new(),
        },
        copy: None,
        public_knowledge,
    }
}

/// The images that the autoencoder takes and gives.
pub(crate) const SHAPE: ImageShape = ImageShape {
    channels: 1,
    side: 28,
};

struct Stored {
    model: Swae,
    origin: Origin,
    device: Device,
    variation: Variation,
}

impl export::Sampler for Stored {
    fn sample(&mut self, count: usize, rng: &mut ChaCha20Rng) -> Result<export::Samples, Failure> {
        let sampler = Sampler {
            model: &self.model,
            origin: &self.origin,
            device: &self.device,
            variation: self.variation,
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
pub(crate) fn sampler(
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
    let model = load_weights(untrained, folder)?;
    let origin = match moments(&settings, &source.class_sizes) {
        Some(query) => {
            let gone = || {
                let path = folder.file(&format!("{MOMENTS}.bin"));
                export::damaged(&path, &"there is no such file")
            };
            let released = read_release(folder, MOMENTS, &query)?;
            Origin::Classes(released.ok_or_else(gone)?.0)
        }
        None => Origin::Prior,
    };
    Ok(Stored {
        model,
        origin,
        device: device.clone(),
        variation: settings.variation(),
    })
}
