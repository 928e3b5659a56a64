//! Files that appear whole or not at all.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// A file that removes itself unless it is renamed; readable as any file the user makes.
pub(crate) fn temporary(folder: &Path, prefix: &str) -> io::Result<NamedTempFile> {
    let mut builder = part(prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// Files that their owner alone reads, on Unix, unless told otherwise.
fn part(prefix: &str) -> tempfile::Builder<'_, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).suffix(".part");
    builder
}

/// Makes a rename last through a power failure, where the system has a call for that.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    std::fs::File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

/// Writes a file that must not exist yet, for its owner alone, and says whether it did: `false` when another file, whole,
/// has the name already, be it that another process wrote it a moment ago.
pub(crate) fn create_new(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<bool> {
    let mut part = part(".new-").tempfile_in(folder)?;
    part.write_all(bytes)?;
    part.as_file().sync_all()?;
    match part.persist_noclobber(folder.join(name)) {
        Ok(_) => sync_folder(folder).map(|()| true),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.error),
    }
}
