use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// What can be wrong with a data file, a download, or a request for data.
///
/// Each message names the value, the bound and what to do; none says what a record holds.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub enum DataError {
    /// The operating system refused a file operation.
    #[error("{path}: cannot {action}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried, as a verb.
        action: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// A file is of another format or version, or does not hold what its header promises.
    File(String),
    /// A line, a row or a value of a file that no record may have.
    Record(String),
    /// What is asked for, or handed over, is out of its bounds.
    Request(String),
    /// A public and private half that cannot be had.
    Split(String),
    /// A published file is nowhere, or what is there is another one.
    Fetch(String),
}

/// What the operating system says of a file or folder.
pub(crate) fn io(path: &Path, action: &'static str) -> impl Fn(io::Error) -> DataError + use<> {
    let path = path.to_path_buf();
    move |source| DataError::Io {
        path: path.clone(),
        action,
        source,
    }
}

pub(crate) fn open(path: &Path) -> Result<File, DataError> {
    File::open(path).map_err(io(path, "open the file"))
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, DataError> {
    std::fs::read(path).map_err(io(path, "read the file"))
}

pub(crate) fn empty(what: impl Display, expected: &str) -> DataError {
    DataError::Request(format!(
        "{what} is empty: expected at least 1 {expected}; remove it, or give it some"
    ))
}

/// Refuses a number of records other than 1 to `max`.
pub(crate) fn check_count(what: impl Display, found: usize, max: usize) -> Result<(), DataError> {
    if (1..=max).contains(&found) {
        return Ok(());
    }
    Err(DataError::Request(format!(
        "{what}: {found} records asked for, expected 1 to {max}; change the number"
    )))
}

/// An index past the end of the records.
pub(crate) fn index(what: impl Display, index: usize, records: usize) -> DataError {
    let max = records.saturating_sub(1);
    DataError::Request(format!(
        "{what}: index {index} of {records} records: expected 0 to {max}"
    ))
}

/// Refuses a side that no image can have.
pub(crate) fn check_side(found: usize) -> Result<(), DataError> {
    let max = crate::idx::MAX_SIDE as usize;
    if (1..=max).contains(&found) {
        return Ok(());
    }
    Err(DataError::Request(format!(
        "side of an image: {found} pixels, expected 1 to {max}; change it"
    )))
}

/// A parameter out of its range.
pub(crate) fn number(what: &str, found: f64, expected: &str) -> DataError {
    DataError::Request(format!("{what}: {found}, expected {expected}; change it"))
}

/// A part that does not fit the others, or is out of its bounds.
pub(crate) fn unfit(what: &str, expected: impl Display, found: impl Display) -> DataError {
    DataError::Request(format!("{what}: expected {expected}, found {found}"))
}

/// Where a record stands in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// Of a text, from 1.
    Line(u64),
    /// Of a file without lines, from 1.
    Record(u64),
}

impl From<u64> for Position {
    fn from(line: u64) -> Self {
        Self::Line(line)
    }
}

impl Display for Position {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(formatter, "line {number}"),
            Self::Record(number) => write!(formatter, "record {number}"),
        }
    }
}

/// A record with too few or too many fields.
pub(crate) fn fields(
    file: &str,
    place: impl Into<Position>,
    expected: usize,
    found: usize,
) -> DataError {
    let place = place.into();
    DataError::Record(format!(
        "{file}, {place}: {found} fields, expected {expected}; repair or remove it"
    ))
}

/// A field that does not hold what its column may hold. What it holds is left out: a private record has no place in a
/// message.
pub(crate) fn field(
    file: &str,
    place: impl Into<Position>,
    column: impl Display,
    expected: impl Display,
    advice: &str,
) -> DataError {
    let place = place.into();
    DataError::Record(format!(
        "{file}, {place}, column {column}: expected {expected}; {advice}"
    ))
}

pub(crate) fn not_text(file: &str, place: impl Into<Position>) -> DataError {
    let place = place.into();
    DataError::File(format!(
        "{file}, {place}: not text in UTF-8; convert the file"
    ))
}

/// A file whose first bytes, which may be a record's, are not those of a gzip stream.
pub(crate) fn not_gzip(file: &str, start: &[u8]) -> DataError {
    let found = match start {
        [] => "an empty file",
        _ => "others",
    };
    DataError::File(format!(
        "{file}: not a gzip file: expected the first bytes 1f 8b, found {found}; give the file as published, still \
         compressed"
    ))
}

pub(crate) fn corrupt(file: &str, error: &io::Error) -> DataError {
    DataError::File(format!(
        "{file}: corrupt gzip stream ({error}); replace the file"
    ))
}

/// A file that goes on behind its end.
pub(crate) fn oversized(file: &str, expected: u64) -> DataError {
    DataError::File(format!(
        "{file}: oversized: expected {expected} bytes after decompression, found more; replace the file"
    ))
}

/// Files of images and labels that do not belong together.
pub(crate) fn check_pair(
    (images_file, images): (&str, u64),
    (labels_file, labels): (&str, u64),
) -> Result<(), DataError> {
    if images == labels {
        return Ok(());
    }
    Err(DataError::File(format!(
        "{labels_file} holds {labels} labels, expected {images}, one for each image of {images_file}; give files of the \
         same split"
    )))
}
