//! What there is to privatise: files, folders, and data sets by name.

use std::path::Path;
use std::sync::Arc;

use data::idx::IdxStream;
use data::npy::NpyStream;
use data::privatised::Header;
use data::stream::{
    Chunk, First, Form, InMemory, Labelled, Photographs, RecordStream, SyntheticGlyphs,
};
use data::table::CsvStream;
use data::{DataError, Dataset, DatasetKind, Glyphs, ImageFolder, LoadOptions, Schema};
use lab::prelude::*;
use rand_chacha::ChaCha20Rng;

use super::arguments::Source;
use crate::records::options;

/// Records, with the shape that was asked for.
pub(super) struct Input {
    stream: Box<dyn RecordStream>,
    pub form: Form,
}

impl RecordStream for Input {
    fn form(&self) -> Form {
        self.form.clone()
    }

    fn next(&mut self, most: usize) -> Result<Chunk, DataError> {
        self.stream.next(most)
    }

    fn dropped(&self) -> u64 {
        self.stream.dropped()
    }
}

pub(super) fn open(
    path: &Path,
    source: &Source,
    labels: bool,
    epsilon: f64,
    rng: &mut ChaCha20Rng,
) -> Result<Input, Failure> {
    let name = path.display().to_string();
    let refuse = |e: DataError| private::refused(&e, "nothing was written");
    let stream = stream(path, source, labels, epsilon, rng)?;
    let stream: Box<dyn RecordStream> = match source.records {
        None => stream,
        Some(count) => Box::new(First::new(stream, &name, count).map_err(refuse)?),
    };
    let mut form = stream.form();
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
    Ok(Input { stream, form })
}

fn stream(
    path: &Path,
    source: &Source,
    labels: bool,
    epsilon: f64,
    rng: &mut ChaCha20Rng,
) -> Result<Box<dyn RecordStream>, Failure> {
    let name = &path.display().to_string();
    let refuse = |e: DataError| {
        private::refused(
            &e,
            "nothing was written; give idx images, .npy, .csv with --schema, a folder of images, or the name of a \
             data set: mnist, fashion-mnist, usps, glyphs",
        )
    };
    match name.parse() {
        Ok(DatasetKind::Glyphs) => {
            let count = source.records.unwrap_or(Glyphs::DEFAULT_TRAIN as u64);
            return Ok(Box::new(SyntheticGlyphs::train(source.seed, count)));
        }
        // They have at most 60000 images, and lie in memory as one byte a pixel.
        Ok(kind) => {
            let options = LoadOptions {
                test: Some(1),
                ..options(source.data_dir.as_deref())
            };
            let images = Dataset::load(kind, &options).map_err(refuse)?.train;
            return Ok(Box::new(InMemory::images(Arc::new(images))));
        }
        Err(_) => {}
    }
    if path.is_dir() {
        let mut folder = ImageFolder::scan(path, source.side).map_err(refuse)?;
        if !source.keeps_order() {
            // `--records` samples some of a set.
            folder.shuffle(rng);
        }
        return Ok(Box::new(Photographs::new(folder)));
    }
    if let Some(header) = Header::read(path).map_err(refuse)? {
        return Err(privatised_already(name, &header, epsilon));
    }
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    match ending.to_lowercase().as_str() {
        "npy" => {
            let records = NpyStream::open(path).map_err(refuse)?;
            let Some(label_file) = source.label_file.as_deref().filter(|_| labels) else {
                return Ok(Box::new(records));
            };
            let classes = source.classes.ok_or_else(|| {
                Failure::input(
                    "--label-file of an NPY array: the number of classes is not known",
                    "say --classes, a public number: it is not taken from the labels",
                )
            })?;
            let found = NpyStream::open(label_file).map_err(refuse)?;
            let labelled = Labelled::new(records, name, found, classes).map_err(refuse)?;
            Ok(Box::new(labelled))
        }
        "csv" | "txt" | "tsv" | "data" => {
            let schema = source.schema.as_deref().ok_or_else(|| {
                Failure::input(
                    format!("{name}: a table needs its columns described"),
                    "say --schema SCHEMA.toml (docs/schemas.md), with public ranges and levels",
                )
            })?;
            let schema = Schema::read(schema).map_err(refuse)?;
            let records = CsvStream::open(schema, path).map_err(refuse)?;
            Ok(Box::new(records))
        }
        _ => {
            let label_file = source.label_file.as_deref().filter(|_| labels);
            let images = IdxStream::open(path, label_file).map_err(refuse)?;
            Ok(Box::new(images))
        }
    }
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
