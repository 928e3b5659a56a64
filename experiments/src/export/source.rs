//! `samples.json`: what samples are made from beside weights and released values. All of it is public.

use std::path::Path;

use data::Arrays;
use data::export::Format;
use lab::prelude::*;
use model::latent::ImageShape;
use serde::{Deserialize, Serialize};

const FILE: &str = "samples.json";

/// What a run says of its samples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Their size.
    pub shape: ImageShape,
    /// Whether they have classes.
    pub labelled: bool,
    /// The classes of the data set.
    pub classes: usize,
    /// The sizes of the classes of private records, public or as they were released, if samples need them; else empty.
    #[serde(default)]
    pub class_sizes: Vec<usize>,
    /// What a copy of somebody's images has more of; none for samples of a data set that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<CopyOf>,
    /// What the public side knew, in words.
    pub public_knowledge: String,
}

/// What is public of the images that a copy was made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyOf {
    /// Dimensions of the latents that samples are decoded from, or of the code of a generator.
    pub latent: usize,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// Samples, and the forms that they have, if no others are asked for.
    pub count: usize,
    /// The forms.
    pub formats: Vec<Format>,
    /// The arrays of an archive of NumPy.
    pub arrays: Arrays,
    /// What the scores are of.
    pub scores_are_of: String,
}

impl Source {
    /// Keeps it in a run's folder.
    pub fn write(&self, folder: &RunFolder) -> Result<(), Failure> {
        folder.write_json(FILE, self).map(|_| ())
    }

    /// What [`Source::write`] kept.
    pub fn read(folder: &RunFolder) -> Result<Self, Failure> {
        let bytes = bytes(folder, FILE)?;
        serde_json::from_slice(&bytes).map_err(|e| damaged(&folder.file(FILE), &e))
    }
}

/// A file that samples are made from.
pub fn bytes(folder: &RunFolder, name: &str) -> Result<Vec<u8>, Failure> {
    let path = folder.file(name);
    if !path.exists() {
        let run = folder.path().display();
        return Err(Failure::input(
            format!("{run}: there is no {name}, so it keeps too little to make samples of"),
            "run it again with this version of the program; a run of swae is completed by swae --rescore",
        ));
    }
    std::fs::read(&path).map_err(|e| damaged(&path, &e))
}

/// The failure of a file that does not fit its run.
pub fn damaged(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::input(
        format!("{}: {why}", path.display()),
        "put the files of this run back and try again",
    )
}
