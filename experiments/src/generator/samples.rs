//! Samples of a generator from its folder, at any time after its run.

use burn::tensor::Device;
use lab::diagnostic::{Failure, OrFailed};
use lab::run_folder::RunFolder;
use lab::session::floats_of_bytes;
use private_synth::images::Generator;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::release::Release;
use super::settings::Shared;
use super::train::{Generate, untrained};
use crate::export::{self, Source};
use crate::settings::OfAll;

/// The weights that samples are made by.
pub(crate) const WEIGHTS: &str = "weights.f32";

/// What samples are made from beside weights.
pub(crate) fn source<R: Release>(run: &Generate<R>) -> Source {
    Source {
        shape: run.data.records.shape(),
        labelled: run.data.classes > 0,
        classes: run.data.classes,
        class_sizes: Vec::new(),
        copy: None,
        public_knowledge: format!(
            "Nothing: no public record, and no weights that were trained on any.{}",
            run.settings.variation().words()
        ),
    }
}

struct Stored {
    model: Generator,
    settings: Shared,
    source: Source,
}

impl export::Sampler for Stored {
    fn sample(&mut self, count: usize, rng: &mut ChaCha20Rng) -> Result<export::Samples, Failure> {
        let each = self.settings.points / self.model.groups();
        let (mut pixels, groups) = self.model.sample(count, each, rng).or_failed()?;
        let variation = self.settings.variation();
        variation.apply(&mut pixels, self.source.shape, rng);
        let labels = None;
        Ok(match self.source.labelled {
            true => export::Samples::in_turn(&pixels, &groups),
            false => export::Samples { pixels, labels },
        })
    }
}

/// The samples of the run in a folder.
pub(crate) fn sampler(
    folder: &RunFolder,
    source: &Source,
    device: &Device,
) -> Result<impl export::Sampler + 'static, Failure> {
    let OfAll { shared: settings } = folder.read_toml("config.toml")?;
    let rng = &mut ChaCha20Rng::seed_from_u64(0);
    let mut model = untrained(&settings, source.classes, source.shape, None, rng, device)?;
    let weights = floats_of_bytes(&export::bytes(folder, WEIGHTS)?);
    model
        .set_weights(&weights)
        .map_err(|e| export::damaged(&folder.file(WEIGHTS), &e))?;
    Ok(Stored {
        model,
        settings,
        source: source.clone(),
    })
}
