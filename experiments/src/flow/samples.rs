//! Samples of a flow from its folder, at any time after its run.

use burn::tensor::Device;
use lab::diagnostic::Failure;
use lab::run_folder::RunFolder;
use lab::session::{Session, floats_of_bytes, floats_to_bytes};
use model::latent::ImageShape;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha20Rng;

use super::data_split::SHAPES;
use super::mechanisms::Generated;
use super::settings::{Settings, Start};
use super::space::Space;
use super::train::Flow;
use crate::export::{self, Source};

const LATENTS: &str = "latents.f32";
const LABELS: &str = "labels.u8";
/// The public autoencoder, whose decoder makes images of latents.
const SPACE: &str = "autoencoder.f32";

/// Keeps what samples are made from, and says what it is beside weights and latents.
///
/// # Errors
///
/// [`Failure::Failed`] names the file that could not be written.
pub fn keep(run: &Flow, session: &Session, generated: &Generated) -> Result<Source, Failure> {
    let folder = &session.folder;
    folder.write(LATENTS, &floats_to_bytes(&generated.rows))?;
    if let Some(labels) = &generated.labels {
        let bytes: Vec<u8> = labels.iter().map(|&l| l as u8).collect();
        folder.write(LABELS, &bytes)?;
    }
    if let Some(space) = &run.space {
        folder.write(SPACE, &floats_to_bytes(&space.weights()))?;
    }
    let source = source(run, generated.labels.is_some());
    source.write(folder)?;
    Ok(source)
}

fn source(run: &Flow, labelled: bool) -> Source {
    let (public, name) = (&run.split.public, &run.split.public_name);
    let what = match run.settings.public.as_str() {
        "half" => "images of the kind of the private ones",
        "glyphs" => "digits drawn by the program, which show what the ten classes look like",
        SHAPES => "lines, outlines and textures of no class",
        _ => "images of another data set",
    };
    let settings = &run.settings;
    let mut public_knowledge = format!(
        "An autoencoder was trained on {} records of {name}: {what}, without their labels.",
        public.len()
    );
    if settings.start == Start::Public {
        public_knowledge += " Particles start at latents of such records";
    }
    if settings.cells > 1 {
        public_knowledge += " Cells of latents are those of such records";
    }
    if settings.public_latents() {
        public_knowledge += if settings.public_classes() {
            ", class by class, by their labels."
        } else {
            "."
        };
    }
    if labelled && settings.within_classes() {
        public_knowledge += " The sizes of the classes are public.";
    }
    Source {
        shape: run.split.test.shape(),
        labelled,
        classes: if labelled { run.split.classes } else { 0 },
        class_sizes: Vec::new(),
        public_knowledge,
    }
}

/// Particles where the flow left them, each once.
struct Stored {
    space: Space,
    latents: Vec<f32>,
    labels: Option<Vec<u8>>,
    shape: ImageShape,
    device: Device,
    /// Those that were not yet given, in a random order; none before the first ones are.
    left: Option<Vec<usize>>,
}

impl Stored {
    fn count(&self) -> usize {
        self.latents.len() / self.space.dim()
    }
}

impl export::Sampler for Stored {
    fn sample(&mut self, count: usize, rng: &mut ChaCha20Rng) -> Result<export::Samples, Failure> {
        let (all, d) = (self.count(), self.space.dim());
        let left = self.left.get_or_insert_with(|| {
            let mut order: Vec<usize> = (0..all).collect();
            order.shuffle(rng);
            order
        });
        let chosen = left.split_off(left.len().saturating_sub(count));
        let rows = chosen
            .iter()
            .flat_map(|&i| &self.latents[i * d..(i + 1) * d]);
        let rows: Vec<f32> = rows.copied().collect();
        let label = |labels: &Vec<u8>| chosen.iter().map(|&i| usize::from(labels[i])).collect();
        Ok(export::Samples {
            pixels: self.space.decode_in(&rows, self.shape, &self.device),
            labels: self.labels.as_ref().map(label),
        })
    }

    fn most(&self) -> Option<usize> {
        Some(self.count())
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
    let weights = floats_of_bytes(&export::bytes(folder, SPACE)?);
    let space = Space::of_weights(&settings, &weights, device)
        .map_err(|e| export::damaged(&folder.file(SPACE), &e))?;
    let latents = floats_of_bytes(&export::bytes(folder, LATENTS)?);
    let count = latents.len() / settings.latent;
    let labels = match source.labelled {
        true => Some(export::bytes(folder, LABELS)?),
        false => None,
    };
    let fits = count > 0 && labels.as_ref().is_none_or(|labels| labels.len() == count);
    if !fits || latents.len() != count * settings.latent {
        let why = format!(
            "{} values are no rows of {}, a label each",
            latents.len(),
            settings.latent
        );
        return Err(export::damaged(&folder.file(LATENTS), &why));
    }
    Ok(Stored {
        space,
        latents,
        labels,
        shape: source.shape,
        device: device.clone(),
        left: None,
    })
}
