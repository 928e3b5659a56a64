//! `runs/<experiment>/<name>/`: what a run leaves behind.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::diagnostic::Failure;

/// A folder that belongs to one run.
#[derive(Debug, Clone)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// Creates the folder; one that exists is refused, so that nothing is ever overwritten.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] for a path that exists or cannot be created.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        if path.exists() {
            return Err(Failure::input(
                format!("--out {}: this path exists already", path.display()),
                "name a folder that does not exist yet; nothing was overwritten",
            ));
        }
        fs::create_dir_all(path).map_err(|e| {
            Failure::input(
                format!(
                    "--out {}: the folder cannot be created: {e}",
                    path.display()
                ),
                "name a folder that can be written",
            )
        })?;
        Ok(Self {
            path: path.to_path_buf(),
        })
    }

    /// A folder that exists.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] for a path that is no folder.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        if !path.is_dir() {
            return Err(Failure::input(
                format!("{}: there is no such folder", path.display()),
                "name the folder of a run, such as runs/swae/NAME",
            ));
        }
        Ok(Self {
            path: path.to_path_buf(),
        })
    }

    /// The first of `base`, `base-2`, `base-3`, ... that does not exist.
    pub fn unused(base: &Path) -> PathBuf {
        if !base.exists() {
            return base.to_path_buf();
        }
        let name = base
            .file_name()
            .map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        (2u64..)
            .map(|i| base.with_file_name(format!("{name}-{i}")))
            .find(|p| !p.exists())
            .unwrap_or_else(|| base.to_path_buf())
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file whole or not at all: temporary file, flush to the device, rename.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] names the file and the cause.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, Failure> {
        let target = self.file(name);
        write_file(&target, bytes)?;
        Ok(target)
    }

    /// Writes a value as indented JSON.
    ///
    /// # Errors
    ///
    /// As [`RunFolder::write`].
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<PathBuf, Failure> {
        let mut text = serde_json::to_string_pretty(value).map_err(Failure::run)?;
        text.push('\n');
        self.write(name, text.as_bytes())
    }

    /// Appends one JSON line to a file.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] names the file and the cause.
    pub fn append_json(&self, name: &str, value: &impl Serialize) -> Result<(), Failure> {
        let mut line = serde_json::to_string(value).map_err(Failure::run)?;
        line.push('\n');
        let target = self.file(name);
        fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&target)
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .map_err(|e| Failure::run(format!("{} could not be written: {e}", target.display())))
    }
}

/// Writes a file whole or not at all, as [`RunFolder::write`] does; its folder is made where it is
/// missing.
///
/// # Errors
///
/// [`Failure::Failed`] names the file and the cause.
pub fn write_file(target: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let attempt = || -> std::io::Result<()> {
        fs::create_dir_all(folder)?;
        let mut file = readable().tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(target)?;
        Ok(())
    };
    attempt().map_err(|e| Failure::Failed {
        message: format!("{} could not be written: {e}", target.display()),
        help: Some("free some space or choose another --out".into()),
    })
}

/// Temporary files are for their owner alone unless told otherwise; a run's files are as readable as
/// any other file that the user writes.
fn readable() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder
}
