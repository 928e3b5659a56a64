//! Networks that were trained on public records, kept in the cache behind a checksum.

use std::path::Path;

use lab::checkpoint::hex;
use lab::diagnostic::Failure;
use lab::run_folder::write_file;

/// The failure of a file that cannot be used.
pub fn damaged(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::input(
        format!("the trained network {}: {why}", path.display()),
        "remove this file, and it is trained anew",
    )
}

/// The content of a file that starts with its SHA-256 in hexadecimal; none where there is no file.
///
/// # Errors
///
/// [`Failure::BadInput`] names a damaged file.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(damaged(path, &e)),
    };
    let (sum, body) = bytes
        .split_at_checked(64)
        .ok_or_else(|| damaged(path, &"it is cut short"))?;
    if hex(body).as_bytes() != sum {
        return Err(damaged(path, &"its checksum does not fit its weights"));
    }
    Ok(Some(body.to_vec()))
}

/// Writes a body behind its SHA-256 in hexadecimal, whole or not at all.
///
/// # Errors
///
/// [`Failure::Failed`] names the file and the cause.
pub fn write(path: &Path, body: &[u8]) -> Result<(), Failure> {
    write_file(path, &[hex(body).as_bytes(), body].concat())
}
