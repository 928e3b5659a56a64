//! The private images of a copy: with `--public half`, one half of a data set by its name.

use std::path::Path;

use data::export::Format;
use data::split::Use;
use data::{DatasetKind, Form, Split, SplitPlan};
use lab::prelude::*;
use private_synth::images::PrivateImages;

use super::plan::{exportable, possible, within_classes};
use super::settings::{HALF, Settings};
use crate::apart;
use crate::export::ExportRequest;
use crate::images::{Input, names_data_set, sampling_key};

/// What `--input` names.
///
/// - `export`: what is asked for of the copy, refused before a split is written.
/// - `cache`: the folder that keeps which half of a data set is public.
pub(super) fn load(
    settings: &Settings,
    export: &ExportRequest,
    data_dir: Option<&Path>,
    cache: &Path,
) -> Result<Input, Failure> {
    let naming = settings.naming();
    let name = naming.input;
    let named = name.parse::<DatasetKind>().is_ok();
    let half = settings.public == HALF;
    let bound =
        "given with --input mnist, fashion-mnist, usps or glyphs alone: nothing else is split";
    bounded("public", HALF, !half || named, bound)?;
    let paths = !names_data_set(name) && !names_data_set(&settings.public);
    if settings.names_public() && paths {
        apart::check("public", Path::new(&settings.public), Path::new(name))?;
    }
    let mut input = naming.read(settings.records.filter(|_| !half), data_dir)?;
    if half {
        split(&mut input, settings, export, cache)?;
    }
    input.tested(&naming)?;
    // A secret sample has class sizes of its own, and is another one when the run resumes.
    if let Some(records) = settings.records.filter(|_| input.is_files()) {
        let way = settings.method.way();
        let holds = !within_classes(settings, !input.classes.is_empty()) && !way.keeps_steps;
        let method = name_of(settings.method);
        let bound = format!(
            "left out with --method {method}, which takes all files of a folder or an archive"
        );
        bounded("records", records, holds, &bound)?;
    }
    input.cut(&naming, settings.records, || key(settings))?;
    Ok(input)
}

/// A secret, unless noise is known or there is none.
fn key(settings: &Settings) -> Result<[u8; 32], Failure> {
    let public = settings.noise().is_none().then_some(settings.seed);
    sampling_key(settings.insecure_noise_seed.or(public))
}

/// Makes one half of a data set public.
fn split(
    input: &mut Input,
    settings: &Settings,
    export: &ExportRequest,
    cache: &Path,
) -> Result<(), Failure> {
    // Before the split is written: a run that is refused leaves none.
    let records = settings.records.unwrap_or(input.images.len() / 2);
    possible(settings, records)?;
    exportable(settings, export, input, records)?;
    let (plan, folder, used) = (
        SplitPlan::default(),
        splits_folder(cache),
        &mut input.used[0],
    );
    let split = Split::load_or_create(&folder, &used.name, &input.images, &plan);
    let split = split.map_err(|e| private::refused(&e, "see --cache-dir"))?;
    (used.sha256, used.used) = (split.sha256().to_string(), Use::Split);
    let half = |places| input.images.select(places).or_failed();
    input.half = Some(half(split.public())?);
    input.images = half(split.private())?;
    input.public += ", and the other half of its training images";
    Ok(())
}

/// The private images, and what is public of them.
pub(super) fn private<'a>(input: &'a Input, settings: &Settings) -> PrivateImages<'a> {
    PrivateImages {
        images: &input.images,
        units: input.units,
        most: settings.most(),
        signal: settings.signal(input.units),
    }
}

/// The forms of the copy: those of the images.
pub(super) fn formats(input: &Input) -> Vec<Format> {
    match input.form {
        Form::Folders | Form::Flat => vec![Format::Png],
        Form::Npz | Form::Rows => vec![Format::Npz],
        // Idx files hold grey images.
        Form::Idx if input.images.shape()[0] > 1 => vec![Format::Npz],
        Form::Idx => vec![Format::Idx],
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use lab::session::{Arguments, Settings as _};

    use super::*;

    /// A sample is secret wherever there is noise that nobody knows, however the budget is said.
    #[test]
    fn a_sample_is_secret_if_noise_is() {
        let repeats = |flags: &str| {
            let line = format!("synth --input scans --seed 7 {flags}");
            let settings = Settings::resolve(&Arguments::parse_from(line.split_whitespace()));
            let settings = settings.expect("settings");
            let [one, other] = [(); 2].map(|()| key(&settings).expect("a key"));
            one == other
        };
        for secret in ["", "--epsilon 2", "--noise-multiplier 4"] {
            assert!(!repeats(secret), "{secret}");
        }
        for known in ["--no-privacy", "--epsilon 2 --insecure-noise-seed 3"] {
            assert!(repeats(known), "{known}");
        }
    }
}
