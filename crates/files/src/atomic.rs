//! Writes files and folders that appear whole or not at all, even if the program is killed or the power fails.
//!
//! A new file has a temporary name until it is on the disk, and is then renamed. Its folder holds the new name, so the
//! folder is flushed too: otherwise a power failure may undo the renaming. No other code in the crates and programs renames.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The start of the temporary name of a file; a killed program may leave such a file.
pub const UNNAMED: &str = ".tmp";

/// A file that gets its name when it is finished, and is removed if it is dropped before.
#[derive(Debug)]
pub struct NewFile {
    file: NamedTempFile,
    to: PathBuf,
}

impl NewFile {
    /// Creates a file for this path, with the usual permissions of the user's files.
    ///
    /// # Errors
    /// The errors of the operating system, as for all functions here: the folder must exist and be writable.
    pub fn of(to: &Path) -> io::Result<Self> {
        let mut builder = builder();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        Self::made(&builder, to)
    }

    /// Creates a file for this path that only its owner can read, on Unix.
    pub fn private(to: &Path) -> io::Result<Self> {
        Self::made(&builder(), to)
    }

    fn made(builder: &tempfile::Builder<'_, '_>, to: &Path) -> io::Result<Self> {
        Ok(Self {
            file: builder.tempfile_in(folder(to))?,
            to: to.into(),
        })
    }

    /// Returns the file, to write to it or to seek in it.
    pub fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Gives the file its name, and replaces a file that has it.
    pub fn finish(self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file.persist(&self.to)?;
        sync_folder(folder(&self.to))
    }

    /// Gives the file its name; if another file has it, the error is [`io::ErrorKind::AlreadyExists`].
    pub fn finish_new(self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file.persist_noclobber(&self.to)?;
        sync_folder(folder(&self.to))
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes a file that only its owner can read, and returns whether it did: `false` if another whole file has the name
/// already, even if another process wrote it a moment ago.
pub fn create_new(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let mut part = NewFile::private(path)?;
    part.write_all(bytes)?;
    match part.finish_new() {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Renames a file or a folder whose content has been flushed; no folder may have the new name.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_folder(folder(to))
}

/// Flushes a folder, so that renamings and removals in it survive a power failure, if the system has a call for this.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    #[cfg(test)]
    tests::SYNCED.with_borrow_mut(|folders| folders.push(folder.into()));
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

/// Returns the folder of a path.
pub fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNNAMED).suffix(".part");
    builder
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    thread_local! {
        pub(super) static SYNCED: RefCell<Vec<PathBuf>> = const { RefCell::new(Vec::new()) };
    }

    /// What is in a folder.
    fn held(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_file_is_there_when_it_is_finished_and_its_name_is_flushed() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        let part = |text: &[u8]| {
            let mut part = NewFile::of(&path).unwrap();
            part.write_all(text).unwrap();
            part
        };
        drop(part(b"left"));
        assert_eq!(held(home.path()), 0);
        let first = part(b"first");
        assert!(!path.exists());
        first.finish_new().unwrap();
        assert!(!create_new(&path, b"second").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"first");
        part(b"third").finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"third");
        assert_eq!(held(home.path()), 1);
        let [made, to] = ["made", "deep/to"].map(|name| home.path().join(name));
        fs::create_dir_all(&made).unwrap();
        fs::create_dir(home.path().join("deep")).unwrap();
        rename(&made, &to).unwrap();
        assert!(to.is_dir());
        // Of the two that got their names, and of the folder.
        let expected = [home.path(), home.path(), &home.path().join("deep")];
        assert_eq!(SYNCED.take(), expected);
    }

    #[cfg(unix)]
    #[test]
    fn a_private_file_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let mode = |part: NewFile, name: &str| {
            part.finish().unwrap();
            let file = fs::metadata(home.path().join(name)).unwrap();
            file.permissions().mode() & 0o777
        };
        let path = home.path().join("private");
        assert!(create_new(&path, b"").unwrap());
        assert_eq!(mode(NewFile::private(&path).unwrap(), "private"), 0o600);
        // Whatever the mask of the process takes from it.
        let plain = home.path().join("plain");
        File::create(&plain).unwrap();
        let plain = fs::metadata(plain).unwrap().permissions().mode() & 0o777;
        let path = home.path().join("shared");
        assert_eq!(mode(NewFile::of(&path).unwrap(), "shared"), plain);
    }

    #[test]
    fn a_name_alone_is_in_the_folder_of_the_process() {
        assert_eq!(folder(Path::new("name")), Path::new("."));
        assert_eq!(folder(Path::new("a/name")), Path::new("a"));
        assert_eq!(folder(Path::new("/")), Path::new("."));
    }
}
