//! Samples of a flow from its folder, at any time after its run.

use burn::tensor::Device;
use lab::diagnostic::Failure;
use lab::run_folder::RunFolder;
use lab::session::Session;

use super::mechanisms::Generated;
use super::run::Flow;
use super::shared::Settings;
use crate::decoded::{self, Decoded};
use crate::export::Source;
use crate::latents::Latents;
use crate::records::synthetic;
use crate::settings::OfAll;

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
    let space = run.space.as_ref();
    let space = space.ok_or_else(|| Failure::failed("no latent space"))?;
    decoded::keep(&latents, space, folder)?;
    let source = source(run, generated.labels.is_some());
    source.write(folder)?;
    Ok(source)
}

fn source(run: &Flow, labelled: bool) -> Source {
    let (public, name) = (&run.split.public, &run.split.public_name);
    let what = match run.shared.public.as_str() {
        "half" => "images of the kind of the private ones",
        _ if run.shared.photographs() => "photographs of another folder",
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

/// The samples of the run in a folder: particles where the flow left them.
pub(crate) fn sampler(
    folder: &RunFolder,
    source: &Source,
    device: &Device,
) -> Result<Decoded, Failure> {
    let OfAll { shared } = folder.read_toml("config.toml")?;
    let settings: Settings = shared;
    let (form, variation) = (settings.space(source.shape), settings.variation());
    Decoded::of(folder, source, form, variation, device)
}
