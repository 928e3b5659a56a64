//! Published files: found on this machine, or downloaded, and always checked.
//!
//! A file is looked for as `<folder>/<data set>/<name>` and `<folder>/<name>`, where `<folder>` is, in
//! this order, the data directory that the user named, the environment variable `SLIVER_DATA`, and
//! `sliver/` in the user's cache folder. A file that is there but has not its pinned size and SHA-256
//! is refused by name, never replaced. A file that is nowhere is downloaded from the first mirror
//! that serves it whole, to a temporary file in the destination folder that is renamed once its sum
//! is right, so that no reader ever sees part of it.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::catalogue::is_published;
use crate::error::io;
use crate::sums::{file_sum, hex, sha256};
use crate::{DataError, PinnedFile, Progress, download};

/// The environment variable that names a folder of data files.
pub const DATA_VARIABLE: &str = "SLIVER_DATA";

/// The folder that [`DATA_VARIABLE`] names; none where it is unset or empty, as it is after
/// `SLIVER_DATA= command`.
pub fn named_folder() -> Option<PathBuf> {
    std::env::var_os(DATA_VARIABLE)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// The folders to search, in order, and the one to download to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchPath {
    folders: Vec<PathBuf>,
    destination: Option<PathBuf>,
}

impl SearchPath {
    /// The user's data directory if there is one, `SLIVER_DATA` if set, the user's cache folder;
    /// downloads go to the data directory if there is one, else to the cache folder.
    pub fn from_environment(data_dir: Option<&Path>) -> Self {
        Self::new(
            data_dir.map(Path::to_path_buf),
            named_folder(),
            cache_folder(),
        )
    }

    /// The same search with each folder given.
    pub fn new(
        data_dir: Option<PathBuf>,
        variable: Option<PathBuf>,
        cache: Option<PathBuf>,
    ) -> Self {
        let destination = data_dir.clone().or_else(|| cache.clone());
        Self {
            folders: [data_dir, variable, cache].into_iter().flatten().collect(),
            destination,
        }
    }
}

/// Gives the bytes of a published file: found by `search`, else downloaded from the first of
/// `mirrors` (base addresses that end in `/`) that serves it whole; with no mirror, only found.
///
/// # Errors
/// [`DataError::Fetch`] for a file on this machine that is not the published one, when no folder and no mirror has it,
/// with where to put it, and where there is no folder to put it; [`DataError::Io`].
pub fn fetch(
    file: &PinnedFile,
    search: &SearchPath,
    mirrors: &[String],
    progress: &dyn Fn(&Progress),
) -> Result<Vec<u8>, DataError> {
    if let Some((path, bytes)) = find(file, search)? {
        progress(&Progress::Found { path });
        return Ok(bytes);
    }
    let Some(destination) = &search.destination else {
        return Err(DataError::Fetch(format!(
            "no folder to keep {} in: this user has no home folder; name one",
            file.name
        )));
    };
    let folder = destination.join(&*file.folder);
    download::download(file, &folder, mirrors, progress)?.map_err(|attempts| {
        let looked: Vec<_> = search
            .folders
            .iter()
            .map(|folder| folder.display().to_string())
            .collect();
        DataError::Fetch(format!(
            "{}/{} not found in {}; downloading it failed: {attempts}; get the file with {} bytes and SHA-256 {} and put \
             it at {}, or name the folder that holds it with --data-dir or the environment variable SLIVER_DATA",
            file.folder,
            file.name,
            looked.join(", "),
            file.bytes,
            file.sha256,
            folder.join(&*file.name).display()
        ))
    })
}

/// Looks for a file, and gives its path and bytes if it is there and right.
fn find(file: &PinnedFile, search: &SearchPath) -> Result<Option<(PathBuf, Vec<u8>)>, DataError> {
    for folder in &search.folders {
        let sorted = folder.join(&*file.folder).join(&*file.name);
        if let Some(bytes) = read(&sorted, file.bytes)? {
            check(file, &sorted, &bytes)?;
            return Ok(Some((sorted, bytes)));
        }
        let flat = folder.join(&*file.name);
        if let Some(bytes) = read(&flat, file.bytes)? {
            match check(file, &flat, &bytes) {
                Ok(()) => return Ok(Some((flat, bytes))),
                // MNIST and Fashion-MNIST share their file names: this one is the other set's.
                Err(_) if is_other(&flat)? => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(None)
}

/// The bytes of a file, one more than `limit` at most, or `None` if it does not exist.
fn read(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, DataError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(limit + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io(path, "read the file")(error)),
    }
}

fn check(file: &PinnedFile, path: &Path, bytes: &[u8]) -> Result<(), DataError> {
    if bytes.len() as u64 != file.bytes {
        let found = std::fs::metadata(path).map_or(bytes.len() as u64, |data| data.len());
        return Err(DataError::Fetch(format!(
            "{}: expected {} bytes, found {found}; remove the file, or replace it with the one whose SHA-256 is {}",
            path.display(),
            file.bytes,
            file.sha256
        )));
    }
    if sha256(bytes) != file.sha256 {
        // That of the file is left out: it may be another one's records.
        return Err(DataError::Fetch(format!(
            "{}: wrong SHA-256: expected {}; remove the file, or replace it with the published one",
            path.display(),
            file.sha256
        )));
    }
    Ok(())
}

fn is_other(path: &Path) -> Result<bool, DataError> {
    Ok(is_published(&hex(file_sum(path)?)))
}

/// `sliver/` in the user's cache folder, where the system names one.
pub fn cache_folder() -> Option<PathBuf> {
    directories::ProjectDirs::from("", "", "sliver")
        .map(|project| project.cache_dir().to_path_buf())
}
