//! Samples of a flow from its folder, at any time after its run.

use burn::tensor::Device;
use lab::diagnostic::Failure;
use lab::run_folder::RunFolder;
use lab::session::{Session, floats_of_bytes, floats_to_bytes};
use model::latent::ImageShape;
use rand_chacha::ChaCha20Rng;

use super::mechanisms::Generated;
use super::run::Flow;
use super::shared::Settings;
use super::space::Space;
use crate::export::{self, Source};
use crate::latents::{Latents, Remaining};
use crate::records::synthetic;
use crate::settings::OfAll;
use crate::variation::Variation;

/// The weights of the public autoencoder, whose decoder makes images of latents; none of cosines.
const SPACE: &str = "autoencoder.f32";

/// Keeps what samples are made from, and says what it is beside weights and latents.
pub(crate) fn keep(
    run: &Flow,
    session: &Session,
    generated: &Generated,
) -> Result<Source, Failure> {
    let folder = &session.folder;
    let latents = Latents {
        rows: generated.rows.clone(),
        labels: generated.labels.clone(),
        dim: run.shared.latent,
    };
    latents.keep(folder)?;
    if let Some(space) = &run.space {
        folder.write(SPACE, &floats_to_bytes(&space.weights()))?;
    }
    let source = source(run, generated.labels.is_some());
    source.write(folder)?;
    Ok(source)
}

fn source(run: &Flow, labelled: bool) -> Source {
    let (public, name) = (&run.split.public, &run.split.public_name);
    let what = match run.shared.public.as_str() {
        "half" => "images of the kind of the private ones",
        other => synthetic(other).unwrap_or("images of another data set"),
    };
    let settings = &run.shared;
    const COSINES: &str = "latents are the lowest cosine frequencies of an image";
    let of = format!(
        "{} records of {name}: {what}, without their labels",
        public.len()
    );
    let mut public_knowledge = match (settings.cosines(), settings.refined()) {
        (true, false) => format!("Nothing was learned from any public record: {COSINES}."),
        (true, true) => format!("How to draw images was learned from {of}; {COSINES}."),
        (false, _) => format!("An autoencoder was trained on {of}."),
    };
    public_knowledge += match run.public_groups.len() {
        0 => "",
        1 => " Particles start at latents of such records.",
        _ => " Particles start at latents of such records, class by class, by their labels.",
    };
    if labelled && run.within_classes {
        public_knowledge += " The sizes of the classes are public.";
    }
    public_knowledge += &settings.variation().words();
    Source {
        shape: run.split.test.shape(),
        labelled,
        classes: if labelled { run.split.classes } else { 0 },
        class_sizes: Vec::new(),
        copy: None,
        public_knowledge,
    }
}

/// Particles where the flow left them, each once; again and again where samples vary.
struct Stored {
    space: Space,
    latents: Remaining,
    shape: ImageShape,
    variation: Variation,
    device: Device,
}

impl export::Sampler for Stored {
    fn sample(&mut self, count: usize, rng: &mut ChaCha20Rng) -> Result<export::Samples, Failure> {
        let chosen = self.latents.take(count, rng);
        let mut pixels = self.space.decode_in(&chosen.rows, self.shape, &self.device);
        self.variation.apply(&mut pixels, self.shape, rng);
        Ok(export::Samples {
            pixels,
            labels: chosen.labels,
        })
    }

    fn most(&self) -> Option<usize> {
        self.latents.most()
    }
}

/// The samples of the run in a folder.
pub(crate) fn sampler(
    folder: &RunFolder,
    source: &Source,
    device: &Device,
) -> Result<impl export::Sampler + 'static, Failure> {
    let OfAll { shared } = folder.read_toml("config.toml")?;
    let settings: Settings = shared;
    let weights = floats_of_bytes(&export::bytes(folder, SPACE)?);
    let space = Space::of_weights(&settings, source.shape, &weights, device)
        .map_err(|e| export::damaged(&folder.file(SPACE), &e))?;
    let latents = Latents::read(folder, settings.latent, source.labelled)?;
    Ok(Stored {
        space,
        latents: Remaining::of(latents, settings.variation().any()),
        shape: source.shape,
        variation: settings.variation(),
        device: device.clone(),
    })
}
