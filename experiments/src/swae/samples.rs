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
use super::moments::{MOMENTS, moments};
use crate::export::{self, Samples, Source};
use crate::variation::Variation;

/// What latents are sampled from.
pub(crate) enum Origin {
    Prior,
    /// The distribution of each class.
    Classes(Gaussians),
}

/// What samples are sampled from: a decoder, and where its latents come from.
pub(crate) struct Sampler {
    pub model: Swae,
    pub origin: Origin,
    pub device: Device,
    pub variation: Variation,
}

impl Sampler {
    /// `count` samples, and their latents: in equal parts from the distributions of the classes, rounded up, class after class, with
    /// their labels; or from the prior.
    pub(crate) fn draw(
        &self,
        count: usize,
        rng: &mut impl Rng,
    ) -> Result<(Samples, Vec<f32>), Failure> {
        match &self.origin {
            Origin::Prior => {
                let prior = UniformBall::new(self.model.latent).or_failed()?;
                let latents = prior.sample(count, rng);
                let pixels = self.decoded(latents.clone(), rng)?;
                let labels = None;
                Ok((Samples { pixels, labels }, latents))
            }
            Origin::Classes(classes) => {
                let each = count.div_ceil(classes.present().len().max(1));
                self.of_each_class(classes, each, rng)
            }
        }
    }

    /// One hundred samples, or ten of each class, a row each.
    pub(crate) fn rows(&self, rng: &mut impl Rng) -> Result<Samples, Failure> {
        let (samples, _) = match &self.origin {
            Origin::Prior => self.draw(100, rng)?,
            Origin::Classes(classes) => self.of_each_class(classes, 10, rng)?,
        };
        Ok(samples)
    }

    fn of_each_class(
        &self,
        classes: &Gaussians,
        each: usize,
        rng: &mut impl Rng,
    ) -> Result<(Samples, Vec<f32>), Failure> {
        let (mut latents, mut labels) = (Vec::new(), Vec::new());
        for class in classes.present() {
            latents.extend(classes.sample(class, each, rng));
            labels.extend(vec![class; each]);
        }
        let model = &self.model;
        let inputs = with_labels(&latents, model.latent, model.classes, &labels);
        let pixels = self.decoded(inputs, rng)?;
        let labels = Some(labels);
        Ok((Samples { pixels, labels }, latents))
    }

    fn decoded(&self, inputs: Vec<f32>, rng: &mut impl Rng) -> Result<Vec<f32>, Failure> {
        let mut pixels = decode(&self.model, inputs, &self.device)?;
        self.variation.apply(&mut pixels, SHAPE, rng);
        Ok(pixels)
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

impl export::Sampler for Sampler {
    fn sample(&mut self, count: usize, rng: &mut ChaCha20Rng) -> Result<Samples, Failure> {
        let (samples, _) = self.draw(count, rng)?;
        Ok(match &samples.labels {
            Some(labels) => Samples::in_turn(&samples.pixels, labels),
            None => samples,
        })
    }
}

/// The samples of the run in a folder.
pub(crate) fn sampler(
    folder: &RunFolder,
    source: &Source,
    device: &Device,
) -> Result<Sampler, Failure> {
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
    Ok(Sampler {
        model,
        origin,
        device: device.clone(),
        variation: settings.variation(),
    })
}
