//! Finds published files on this machine or downloads them, and always checks them.
//!
//! The search looks for `<folder>/<data set>/<name>` and `<folder>/<name>`. It tries as `<folder>`, in this
//! order, the data directory that the user names, the environment variable `SLIVER_DATA`, and `sliver/` in
//! the user's cache folder. A file with another size or SHA-256 than the pinned one gives an error and is
//! never replaced. If no folder holds the file, the first mirror that serves it whole is used. The download
//! goes to a temporary file in the destination folder, which is renamed when its checksum is right, so that
//! no reader ever sees part of it.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::catalogue::is_published;
use crate::error::io;
use crate::sums::{file_sum, hex, sha256};
use crate::{DataError, PinnedFile, Progress, download};

/// The environment variable that names a folder of data files.
pub const DATA_VARIABLE: &str = "SLIVER_DATA";

/// Returns the folder that [`DATA_VARIABLE`] names, or `None` if it is unset or empty (as in
/// `SLIVER_DATA= command`).
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
    /// Searches the user's data directory if given, `SLIVER_DATA` if set, and the user's cache folder.
    /// Downloads go to the data directory if given, else to the cache folder.
    pub fn from_environment(data_dir: Option<&Path>) -> Self {
        Self::new(
            data_dir.map(Path::to_path_buf),
            named_folder(),
            cache_folder(),
        )
    }

    /// Searches the folders that the caller gives, as [`SearchPath::from_environment`] does.
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

/// Returns the bytes of a published file from the folders of `search`, else from the first of
/// `mirrors` (base addresses that end in `/`) that serves it whole. Without mirrors nothing is downloaded.
///
/// # Errors
/// [`DataError::Fetch`] if a file on this machine is not the published one, if no folder and no mirror has the file (the
/// message says where to put it), and if there is no folder to download to; [`DataError::Io`].
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

/// Looks for a file, and returns its path and bytes if it is there and right.
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

/// Returns the bytes of a file, at most `limit + 1` of them, or `None` if it does not exist.
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
        // The message leaves out the SHA-256 that was found: the file may hold somebody's records.
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

/// Returns `sliver/` in the user's cache folder, if the system names one.
pub fn cache_folder() -> Option<PathBuf> {
    directories::ProjectDirs::from("", "", "sliver")
        .map(|project| project.cache_dir().to_path_buf())
}
