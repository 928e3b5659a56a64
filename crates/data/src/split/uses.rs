//! Notes which records of a data set are public and which are private in the runs that share a folder.
//!
//! A split file states this for its own split. Every other use of a data set is noted beside it, in
//! `<name>.use.json`, `<name>-2.use.json` and so on, before the records are used.

use std::cmp::Ordering;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use files::atomic;
use serde::{Deserialize, Serialize};

use super::file::Content;
use super::{ENDING, NOTE, check_name, damaged};
use crate::error::io;
use crate::{DataError, error};

const FORMAT: &str = "sliver use 1";

/// States which records of a data set a run treats as public and which as private.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", from = "Written")]
pub enum Use {
    /// All records are private.
    AllPrivate,
    /// All records are public.
    AllPublic,
    /// A [`Split`](crate::Split) determines the public records.
    Split,
    /// This share of the rows is public, chosen by their numbers ([`is_test_row`](super::is_test_row)).
    TestShare(f64),
}

/// A use in the form of a note.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Written {
    AllPrivate,
    AllPublic,
    Split,
    /// One row in five, from notes before other shares were possible.
    TestRows,
    TestShare(f64),
}

impl From<Written> for Use {
    fn from(written: Written) -> Self {
        match written {
            Written::AllPrivate => Self::AllPrivate,
            Written::AllPublic => Self::AllPublic,
            Written::Split => Self::Split,
            Written::TestRows => Self::TestShare(0.2),
            Written::TestShare(share) => Self::TestShare(share),
        }
    }
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AllPrivate => "all private",
            Self::AllPublic => "all public",
            Self::Split => "split into a public and a private half",
            Self::TestShare(share) => return write!(f, "public in a share of {share} of its rows"),
        })
    }
}

/// The content of a note.
#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    format: String,
    dataset: String,
    sha256: String,
    #[serde(rename = "use")]
    used: Use,
}

/// Notes in `folder` how a run uses the records of the data set `name`, whose SHA-256 is `sha256`, and
/// returns the other ways in which runs use the same records.
///
/// The note is written before the others are read, so that of two runs that start at once, at least one
/// learns of the other. A known use is not noted again.
///
/// # Errors
/// [`DataError::Split`] for a name that no file can have, and for a file of the folder that was changed, because it may
/// belong to these records; [`DataError::Io`].
pub fn note(folder: &Path, name: &str, sha256: &str, used: Use) -> Result<Vec<Use>, DataError> {
    check_name(name)?;
    let mut known = uses(folder, sha256)?;
    if !known.contains(&used) {
        let note = Note {
            format: FORMAT.into(),
            dataset: name.into(),
            sha256: sha256.into(),
            used,
        };
        // A note holds four strings, which JSON can always hold.
        let text = serde_json::to_string_pretty(&note).unwrap_or_default() + "\n";
        let path = folder.join(format!("{name}{NOTE}"));
        write(folder, name, text.as_bytes()).map_err(io(&path, "write the file"))?;
        known = uses(folder, sha256)?;
    }
    known.retain(|&other| other != used);
    Ok(known)
}

/// Writes a note under the first free name.
fn write(folder: &Path, name: &str, text: &[u8]) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut file = format!("{name}{NOTE}");
    let mut number = 1;
    while !atomic::create_new(&folder.join(&file), text)? {
        number += 1;
        file = format!("{name}-{number}{NOTE}");
    }
    Ok(())
}

/// Returns the ways in which runs use these records, each once.
fn uses(folder: &Path, sha256: &str) -> Result<Vec<Use>, DataError> {
    let mut uses = Vec::new();
    for path in files(folder, ENDING)? {
        if Content::read(&path)?.is_some_and(|content| content.sha256 == sha256) {
            uses.push(Use::Split);
        }
    }
    for path in files(folder, NOTE)? {
        let note = read(&path)?;
        if note.sha256 == sha256 {
            uses.push(note.used);
        }
    }
    uses.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    uses.dedup();
    Ok(uses)
}

fn read(path: &Path) -> Result<Note, DataError> {
    let bytes = error::read(path)?;
    serde_json::from_slice(&bytes)
        .ok()
        .filter(|note: &Note| note.format == FORMAT)
        .ok_or_else(|| damaged(path, &format!("it is no note of the format '{FORMAT}'")))
}

/// Returns the files of a folder whose names end in `ending`; none if the folder does not exist yet.
pub(super) fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, DataError> {
    let unreadable = io(folder, "read the folder");
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(&unreadable)?.path();
        if path.to_string_lossy().ends_with(ending) {
            files.push(path);
        }
    }
    Ok(files)
}
