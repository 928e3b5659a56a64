//! Samples of a copy from its run's folder, at any time after the run.

use burn::tensor::Device;
use lab::prelude::*;
use model::latent::{ImageShape, LatentSpace};
use private_synth::images::Space;
use rand::Rng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha20Rng;

use super::generated::Generated;
use super::settings::Settings;
use crate::export::{self, Sampler, Samples, Source};
use crate::variation::Variation;

const ROWS: &str = "latents.f32";
const LABELS: &str = "labels.u8";
/// The weights of the latent space, whose decoder makes images of latents; none of cosines.
const SPACE: &str = "autoencoder.f32";

/// Latents that may be published, with their classes if there are some.
pub(super) struct Latents {
    /// `[n, d]` in rows.
    pub rows: Vec<f32>,
    /// The class of each row.
    pub labels: Option<Vec<usize>>,
    /// `d`.
    pub dim: usize,
}

impl Latents {
    /// Keeps what samples are made from in a run's folder.
    pub(super) fn keep(&self, space: &Space, folder: &RunFolder) -> Result<(), Failure> {
        if let Some(labels) = &self.labels {
            let bytes: Vec<u8> = labels.iter().map(|&l| l as u8).collect();
            folder.write(LABELS, &bytes)?;
        }
        folder.write(ROWS, &floats_to_bytes(&self.rows))?;
        let weights = floats_to_bytes(&space.weights());
        folder.write(SPACE, &weights).map(drop)
    }

    fn count(&self) -> usize {
        self.rows.len() / self.dim
    }

    /// The rows at some places.
    pub(super) fn at(&self, places: &[usize]) -> Self {
        let d = self.dim;
        let rows = places.iter().flat_map(|&i| &self.rows[i * d..][..d]);
        let labels = self.labels.as_ref();
        Self {
            rows: rows.copied().collect(),
            labels: labels.map(|labels| places.iter().map(|&i| labels[i]).collect()),
            dim: d,
        }
    }

    /// All places, in a random order.
    pub(super) fn shuffled(&self, rng: &mut impl Rng) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.count()).collect();
        order.shuffle(rng);
        order
    }
}

/// Latents that are decoded, each once; again and again if samples vary.
struct Decoded {
    space: Space,
    latents: Latents,
    /// Those that were not yet given, in a random order; none before the first ones are.
    left: Option<Vec<usize>>,
    shape: ImageShape,
    variation: Variation,
    device: Device,
}

impl Sampler for Decoded {
    fn sample(&mut self, count: usize, rng: &mut ChaCha20Rng) -> Result<Samples, Failure> {
        let over = self.left.as_ref().is_some_and(Vec::is_empty);
        if over && self.variation.any() {
            self.left = None;
        }
        let left = self.left.get_or_insert_with(|| self.latents.shuffled(rng));
        let chosen = left.split_off(left.len().saturating_sub(count));
        let Latents { rows, labels, .. } = self.latents.at(&chosen);
        let mut pixels = self.space.decode_in(&rows, self.shape, &self.device);
        self.variation.apply(&mut pixels, self.shape, rng);
        Ok(Samples { pixels, labels })
    }

    fn most(&self) -> Option<usize> {
        (!self.variation.any()).then(|| self.latents.count())
    }
}

/// The samples of the run in a folder.
pub(crate) fn sampler(
    folder: &RunFolder,
    source: &Source,
    device: &Device,
) -> Result<Box<dyn Sampler>, Failure> {
    let settings: Settings = folder.read_toml("config.toml")?;
    let way = settings.method.way();
    if !way.has_latents {
        let generated = Generated::of(folder, source, way.points, device)?;
        return Ok(Box::new(generated));
    }
    let latent = source.copy.as_ref().map_or(0, |copy| copy.latent);
    let weights = floats_of_bytes(&export::bytes(folder, SPACE)?);
    let space = settings
        .form(source.shape, latent)
        .of_weights(&weights, device);
    let rows = floats_of_bytes(&export::bytes(folder, ROWS)?);
    let count = rows.len() / latent;
    let labels = match source.labelled {
        true => Some(export::bytes(folder, LABELS)?),
        false => None,
    };
    let fits = count > 0 && labels.as_ref().is_none_or(|labels| labels.len() == count);
    if !fits || rows.len() != count * latent {
        let why = format!(
            "{} values are no rows of {latent}, a label each",
            rows.len()
        );
        return Err(export::damaged(&folder.file(ROWS), &why));
    }
    Ok(Box::new(Decoded {
        space: space.map_err(|e| export::damaged(&folder.file(SPACE), &e))?,
        latents: Latents {
            rows,
            labels: labels.map(|labels| labels.into_iter().map(usize::from).collect()),
            dim: latent,
        },
        left: None,
        shape: source.shape,
        variation: settings.variation(source.shape),
        device: device.clone(),
    }))
}
