//! Trained weights on disk, in a file whose name depends on what they were trained on.
//!
//! A file holds a line that names the format, the SHA-256 of the weights, and the weights as little-endian `f32`.
//! It is written whole or not at all, so a reader never sees half of it.

use std::io::Write;
use std::path::{Path, PathBuf};

use data::Records;
use files::atomic::{NewFile, folder};
use sha2::{Digest, Sha256};

use super::{Settings, lenet};
use crate::EvaluateError;

/// The first line of a file. The number goes up when training changes, so that old files are not found.
const FORMAT: &[u8] = b"sliver classifier 2\n";
/// Bytes of a SHA-256.
const DIGEST: usize = 32;

/// Returns the path in `folder` of a classifier trained on `data` with `settings`.
pub(super) fn path(
    folder: &Path,
    data: &Records,
    settings: &Settings,
) -> Result<PathBuf, EvaluateError> {
    let mut digest = Sha256::new();
    digest.update(FORMAT);
    // Lengths go before contents, so that no two different trainings give the same bytes.
    let described = format!(
        "{}\n{}{}x{} classes {} records {}\n{settings:?}\n",
        lenet::ARCHITECTURE,
        match data.channels() {
            1 => String::new(),
            several => format!("{several}x"),
        },
        data.height(),
        data.width(),
        data.classes(),
        data.len(),
    );
    digest.update(described.as_bytes());
    digest.update(data.pixels()?);
    digest.update(data.labels());
    let name: String = digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(folder.join(format!("classifier-{name}.weights")))
}

/// Reads `count` weights; `None` if the file does not exist.
pub(super) fn read(path: &Path, count: usize) -> Result<Option<Vec<f32>>, EvaluateError> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(EvaluateError::file(path, error)),
    };
    let body = bytes
        .strip_prefix(FORMAT)
        .ok_or_else(|| EvaluateError::file(path, "this is no cached classifier"))?;
    if body.len() != DIGEST + 4 * count {
        let reason = format!(
            "expected {} bytes for {count} weights, found {}",
            FORMAT.len() + DIGEST + 4 * count,
            bytes.len()
        );
        return Err(EvaluateError::file(path, reason));
    }
    let (expected, payload) = body.split_at(DIGEST);
    if Sha256::digest(payload).as_slice() != expected {
        return Err(EvaluateError::file(
            path,
            "the weights do not match their checksum",
        ));
    }
    let (words, _) = payload.as_chunks::<4>();
    Ok(Some(words.iter().map(|&w| f32::from_le_bytes(w)).collect()))
}

/// Writes the weights, whole or not at all.
pub(super) fn write(path: &Path, weights: &[f32]) -> Result<(), EvaluateError> {
    let payload: Vec<u8> = weights.iter().flat_map(|w| w.to_le_bytes()).collect();
    let attempt = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder(path))?;
        let mut file = NewFile::private(path)?;
        file.write_all(FORMAT)?;
        file.write_all(&Sha256::digest(&payload))?;
        file.write_all(&payload)?;
        file.finish()
    };
    attempt().map_err(|error| EvaluateError::file(path, error))
}
