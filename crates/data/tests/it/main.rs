//! What the readers of data give, and what they refuse.

use std::fs;
use std::path::Path;

use data::DataError;
use serde::de::DeserializeOwned;

/// The files of a folder of `cases`, each by its name.
pub(crate) fn cases<T: DeserializeOwned>(folder: &str) -> Vec<(String, T)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cases")
        .join(folder);
    let files = fs::read_dir(folder).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let read = toml::from_str(&fs::read_to_string(&path).unwrap());
        (
            path.display().to_string(),
            read.unwrap_or_else(|error| panic!("{}: {error}", path.display())),
        )
    });
    files.collect()
}

/// What an error says to everybody, and beside that to the owner of the records.
pub(crate) fn told(error: &DataError) -> String {
    let Some(private) = error.private() else {
        return error.to_string();
    };
    let public = format!("{error} {error:?}");
    assert!(!public.contains(private), "{public}");
    format!("{error}; {private}")
}

/// Whether an error says these words, to its owner at least.
#[track_caller]
pub(crate) fn says(error: &impl Tells, words: &[&str]) {
    test_support::says(&error.all(), words);
}

pub(crate) trait Tells {
    fn all(&self) -> String;
}

impl Tells for DataError {
    fn all(&self) -> String {
        told(self)
    }
}

impl Tells for String {
    fn all(&self) -> String {
        self.clone()
    }
}

mod adult;
mod biased;
mod coded;
mod dataset;
mod draft;
mod export;
mod features;
mod fetch;
mod field;
mod folder;
mod gaussians;
mod glyphs;
mod idx;
mod images;
mod npy;
mod parquet;
mod parts;
mod pictures;
mod privatised;
mod published;
mod read;
mod refused;
mod reshape;
mod rows;
mod rules;
mod schema;
mod shapes;
mod split;
mod table;
mod usps;
