//! Samples of an autoencoder: at its end, and from its folder at any time after it.

use burn::tensor::Device;
use lab::diagnostic::{Failure, OrFailed};
use lab::run_folder::RunFolder;
use lab::session::{load_weights, read_release};
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
use super::start;
use crate::export::{self, Source};
use crate::latents::{Latents, Remaining};
use crate::variation::Variation;

/// Samples with their latents.
pub(crate) struct Samples {
    /// `[n, 784]`, in `[0, 1]`.
    pub pixels: Vec<f32>,
    /// Where the model knows classes.
    pub labels: Option<Vec<usize>>,
    /// `[n, latent]`.
    pub latents: Vec<f32>,
}

/// What latents are sampled from.
pub(crate) enum Origin {
    Prior,
    /// The distribution of each class.
    Classes(Gaussians),
    Particles(Latents),
}

/// What samples are sampled from: a decoder, and where its latents come from.
pub(crate) struct Sampler<'a> {
    /// The decoder.
    pub model: &'a Swae,
    /// Where latents come from.
    pub origin: &'a Origin,
    /// Where it computes.
    pub device: &'a Device,
    /// How much samples vary.
    pub variation: Variation,
}

impl Sampler<'_> {
    /// `count` samples, with labels where the model is conditional: in equal parts from the distributions of the
    /// classes, rounded up, class after class; some of the particles, all where there are fewer; or from the prior.
    pub(crate) fn draw(&self, count: usize, rng: &mut impl Rng) -> Result<Samples, Failure> {
        let dim = self.model.latent;
        let latents = match self.origin {
            Origin::Prior => {
                let prior = UniformBall::new(dim).or_failed()?;
                let rows = prior.sample(count, rng);
                let labels = None;
                Latents { rows, labels, dim }
            }
            Origin::Classes(classes) => {
                let each = count.div_ceil(classes.present().len().max(1));
                of_each_class(classes, each, rng)
            }
            Origin::Particles(particles) => {
                let mut places = particles.shuffled(rng);
                places.truncate(count);
                particles.at(&places)
            }
        };
        Ok(self.decoded(latents, rng))
    }

    /// One hundred samples, or ten of each class, a row each.
    pub(crate) fn rows(&self, rng: &mut impl Rng) -> Result<Samples, Failure> {
        match self.origin {
            Origin::Prior => self.draw(100, rng),
            Origin::Classes(classes) => {
                let latents = of_each_class(classes, 10, rng);
                Ok(self.decoded(latents, rng))
            }
            Origin::Particles(particles) => {
                // Class after class.
                let labels = particles.labels.as_deref().unwrap_or_default();
                let mut seen = vec![0; self.model.classes];
                let first = |&place: &usize| {
                    seen[labels[place]] += 1;
                    seen[labels[place]] <= 10
                };
                let places: Vec<usize> = (0..particles.count()).filter(first).collect();
                Ok(self.decoded(particles.at(&places), rng))
            }
        }
    }

    fn decoded(&self, latents: Latents, rng: &mut impl Rng) -> Samples {
        let model = self.model;
        let inputs = match &latents.labels {
            Some(labels) => with_labels(&latents.rows, model.latent, model.classes, labels),
            None => latents.rows.clone(),
        };
        let mut pixels = decode(model, inputs, self.device);
        self.variation.apply(&mut pixels, SHAPE, rng);
        Samples {
            pixels,
            labels: latents.labels,
            latents: latents.rows,
        }
    }
}

fn of_each_class(classes: &Gaussians, each: usize, rng: &mut impl Rng) -> Latents {
    let (mut rows, mut labels) = (Vec::new(), Vec::new());
    for class in classes.present() {
        rows.extend(classes.sample(class, each, rng));
        labels.extend(vec![class; each]);
    }
    Latents {
        dim: rows.len() / labels.len().max(1),
        rows,
        labels: Some(labels),
    }
}

/// What samples are made from beside weights and what was released.
pub(crate) fn source(settings: &Settings, class_sizes: &[usize]) -> Result<Source, Failure> {
    let sampled = "Nothing: no public record, and no weights that were trained on any.";
    let mut public_knowledge = start::knowledge(settings)?.unwrap_or_else(|| sampled.to_string());
    if settings.conditional {
        public_knowledge += " The sizes of the classes are public.";
    }
    public_knowledge += &settings.variation().words();
    Ok(Source {
        shape: SHAPE,
        labelled: settings.conditional,
        classes: class_sizes.len(),
        class_sizes: match settings.conditional {
            true => class_sizes.to_vec(),
            false => Vec::new(),
        },
        copy: None,
        public_knowledge,
    })
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
    /// Particles that were not yet given.
    remaining: Option<Remaining>,
}

impl export::Sampler for Stored {
    fn sample(&mut self, count: usize, rng: &mut ChaCha20Rng) -> Result<export::Samples, Failure> {
        let sampler = Sampler {
            model: &self.model,
            origin: &self.origin,
            device: &self.device,
            variation: self.variation,
        };
        if let Some(remaining) = &mut self.remaining {
            let samples = sampler.decoded(remaining.take(count, rng), rng);
            return Ok(export::Samples {
                pixels: samples.pixels,
                labels: samples.labels,
            });
        }
        let samples = sampler.draw(count, rng)?;
        Ok(match samples.labels {
            Some(labels) => export::Samples::in_turn(&samples.pixels, &labels),
            None => export::Samples {
                pixels: samples.pixels,
                labels: None,
            },
        })
    }

    fn most(&self) -> Option<usize> {
        self.remaining.as_ref().and_then(Remaining::most)
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
    let (origin, remaining) = if settings.releases_marginals() {
        let latents = Latents::read(folder, settings.latent, true)?;
        let again = settings.variation().any();
        (Origin::Prior, Some(Remaining::of(latents, again)))
    } else {
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
        (origin, None)
    };
    Ok(Stored {
        model,
        origin,
        device: device.clone(),
        variation: settings.variation(),
        remaining,
    })
}
