//! What there is to privatise: files, folders, and data sets by name.

use std::path::Path;

use data::privatised::Header;
use data::{Asked, Classes, DataError, Dataset, DatasetKind, Glyphs, LoadOptions, Records, Schema};
use lab::prelude::*;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha20Rng;

use super::Form;
use super::arguments::Source;
use crate::records::options;

/// Records, with the shape that was asked for.
pub(super) struct Input {
    pub records: Records,
    pub form: Form,
    /// Records that the source's own rules left out. **Private.**
    pub dropped: u64,
}

pub(super) fn read(
    path: &Path,
    source: &Source,
    labels: bool,
    epsilon: f64,
    rng: &mut ChaCha20Rng,
) -> Result<Input, Failure> {
    let name = path.display().to_string();
    let (records, labelled, dropped) = records(path, source, labels, epsilon, rng)?;
    let mut form = Form::of(&records, labelled);
    if let Some(asked) = source.shape {
        let fits = match form.shape {
            Some(shape) => shape == asked,
            None => asked.iter().product::<usize>() == form.width,
        };
        if !fits {
            let found = match form.shape {
                Some([c, h, w]) => format!("images of {c}x{h}x{w}"),
                None => format!("{} values a record", form.width),
            };
            let [c, h, w] = asked;
            return Err(Failure::input(
                format!("--shape {c}x{h}x{w}: the header of {name} says {found}"),
                "ask for what the file has, or give the file that was meant",
            ));
        }
        form.shape = Some(asked);
    }
    Ok(Input {
        records,
        form,
        dropped,
    })
}

/// Records, whether they have labels, and how many were left out.
fn records(
    path: &Path,
    source: &Source,
    labels: bool,
    epsilon: f64,
    rng: &mut ChaCha20Rng,
) -> Result<(Records, bool, u64), Failure> {
    let name = &path.display().to_string();
    let refuse = |e: DataError| {
        private::refused(
            &e,
            "nothing was written; give idx images, .npy, .csv with --schema, a folder of images, or the name of a \
             data set: mnist, fashion-mnist, usps, glyphs",
        )
    };
    let first = source.records;
    match name.parse() {
        Ok(DatasetKind::Glyphs) => {
            let count = first.unwrap_or(Glyphs::DEFAULT_TRAIN);
            let drawn = Glyphs::generate(count, source.seed).map_err(refuse)?;
            return Ok((drawn, true, 0));
        }
        Ok(kind) => {
            let options = LoadOptions {
                train: first,
                test: Some(1),
                ..options(source.data_dir.as_deref())
            };
            let images = Dataset::load(kind, &options).map_err(refuse)?.train;
            return Ok((images, true, 0));
        }
        Err(_) => {}
    }
    let mut asked = Asked {
        classes: Classes::Unread,
        first,
        not_finite: true,
        ..Asked::default()
    };
    let read = |asked: &Asked| data::read(path, asked, &|_| {}).map_err(refuse);
    if path.is_dir() {
        (asked.side, asked.channels) = (Some(source.side), Some(3));
        asked.levels = Some([0, u16::MAX.into()]);
        if !source.keeps_order() {
            // `--records` samples some of a set.
            let mut places: Vec<usize> = (0..data::count_files(path).map_err(refuse)?).collect();
            places.shuffle(rng);
            let count = first.unwrap_or(places.len());
            let bound = format!("between 1 and {}, the images that there are", places.len());
            bounded(
                "records",
                count,
                (1..=places.len()).contains(&count),
                &bound,
            )?;
            places.truncate(count);
            (asked.first, asked.places) = (None, Some(places));
        }
        return Ok((read(&asked)?.records, false, 0));
    }
    if let Some(header) = Header::read(path).map_err(refuse)? {
        return Err(privatised_already(name, &header, epsilon));
    }
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    asked.labels = source.label_file.clone().filter(|_| labels);
    match ending.to_lowercase().as_str() {
        "npy" if asked.labels.is_some() => {
            let classes = source.classes.ok_or_else(|| {
                Failure::input(
                    "--label-file of an NPY array: the number of classes is not known",
                    "say --classes, a public number: it is not taken from the labels",
                )
            })?;
            asked.classes = Classes::Counted(classes);
        }
        "csv" | "txt" | "tsv" | "data" => {
            let schema = source.schema.as_deref().ok_or_else(|| {
                Failure::input(
                    format!("{name}: a table needs its columns described"),
                    "say --schema SCHEMA.toml (docs/schemas.md), with public ranges and levels",
                )
            })?;
            let schema = Schema::read(schema).map_err(refuse)?;
            let read = schema.read_features(path, labels, first);
            let found = read.map_err(refuse)?;
            let dropped = found.skipped.iter().map(|skipped| skipped.count as u64);
            let (labelled, dropped) = (!found.classes.is_empty(), dropped.sum());
            return Ok((found.records, labelled, dropped));
        }
        _ if asked.labels.is_some() => asked.classes = Classes::Counted(10),
        _ => {}
    }
    let labelled = asked.labels.is_some();
    Ok((read(&asked)?.records, labelled, 0))
}

fn privatised_already(name: &str, header: &Header, epsilon: f64) -> Failure {
    let (before, delta) = (header.epsilon, header.delta);
    Failure::input(
        format!(
            "{name}: these records were privatised already, at epsilon {before:?}, delta {delta:?}: their promise \
             would stay what it is, and they would only get more noise"
        ),
        format!(
            "use the file as it is. Privatising the clean records a second time would cost their owners the sum of \
             both: epsilon {:?} with the {epsilon:?} asked for, and the sum of both deltas",
            before + epsilon
        ),
    )
}
