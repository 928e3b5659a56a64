use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use files::foreign::{DAMAGED, quietly};

/// An error of a data file, a download, or a request for data.
///
/// Each message names the input that was asked for, the bound and what to do. No message says what a record holds, where the
/// record is, or how a file inside the input is named: [`DataError::private`] says this.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub enum DataError {
    /// The operating system refuses a file operation.
    #[error("{path}: cannot {action}: {source}")]
    Io {
        /// The file or folder, as the caller named it.
        path: PathBuf,
        /// The operation, as a verb.
        action: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// A file has another format or version, or does not hold what its header promises.
    File(Message),
    /// A file has a line, a row or a value that no record may have.
    Record(Message),
    /// A request or an argument is out of its bounds.
    Request(Message),
    /// Records cannot be split into the public and private half that were asked for.
    Split(String),
    /// A published file cannot be found, or the file in its place is another one.
    Fetch(String),
}

/// Calls a decoder of another package on a file of this name. If it panics, the error leaves out its words.
pub(crate) fn decoded<T>(
    file: &str,
    decoder: impl FnOnce() -> Result<T, DataError>,
) -> Result<T, DataError> {
    quietly(decoder).unwrap_or_else(|| {
        Err(DataError::file(format!(
            "{file}: {DAMAGED}; replace the file"
        )))
    })
}

/// The public message of an error, and its details of private records, which no text of the error shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Message {
    text: String,
    private: Option<String>,
}

impl Display for Message {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, formatter)
    }
}

impl Message {
    fn of(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            private: None,
        }
    }
}

impl DataError {
    pub(crate) fn file(text: impl Into<String>) -> Self {
        Self::File(Message::of(text))
    }

    pub(crate) fn record(text: impl Into<String>) -> Self {
        Self::Record(Message::of(text))
    }

    pub(crate) fn request(text: impl Into<String>) -> Self {
        Self::Request(Message::of(text))
    }

    /// Returns the private details, for the owner alone: which record or file it is and what this holds.
    pub fn private(&self) -> Option<&str> {
        match self {
            Self::File(message) | Self::Record(message) | Self::Request(message) => {
                message.private.as_deref()
            }
            Self::Io { .. } | Self::Split(_) | Self::Fetch(_) => None,
        }
    }

    /// Adds details of private records to the error.
    pub(crate) fn telling(mut self, private: impl Display) -> Self {
        if let Self::File(message) | Self::Record(message) | Self::Request(message) = &mut self {
            message.private = Some(private.to_string());
        }
        self
    }

    /// Replaces the message by `text` and keeps the old one as private, because it tells of private records.
    #[must_use]
    pub fn hidden(self, text: &str) -> Self {
        let told = self.private().map_or(self.to_string(), String::from);
        Self::file(text).telling(told)
    }

    /// Turns an error about a file inside an input into one about the input: the file's name is private.
    pub(crate) fn of_part(self, input: &Path, part: &Path) -> Self {
        if input == part {
            return self;
        }
        let told = self.private().map_or(self.to_string(), String::from);
        let [input, part] = [input, part].map(|path| path.display().to_string());
        let told = match (told.starts_with(&part), told.strip_prefix(&input)) {
            (true, _) => told,
            (false, Some(rest)) => format!("{part}{rest}"),
            (false, None) => format!("{part}: {told}"),
        };
        let whole = match self {
            Self::Io { action, source, .. } => Self::file(format!(
                "{input}: cannot {action}, of a part of it: {source}"
            )),
            other => other,
        };
        whole.telling(told)
    }
}

/// Makes the error of a refused operation on a file or folder.
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
    DataError::request(format!(
        "{what} is empty: expected at least 1 {expected}; remove it, or give it some"
    ))
}

/// Refuses a number of records other than 1 to `max`.
pub(crate) fn check_count(what: impl Display, found: usize, max: usize) -> Result<(), DataError> {
    if (1..=max).contains(&found) {
        return Ok(());
    }
    Err(DataError::request(format!(
        "{what}: {found} records asked for, expected 1 to {max}; change the number"
    )))
}

/// The error for an index past the end of the records.
pub(crate) fn index(what: impl Display, index: usize, records: usize) -> DataError {
    let max = records.saturating_sub(1);
    DataError::request(format!(
        "{what}: index {index} of {records} records: expected 0 to {max}"
    ))
}

/// Refuses a length of a side that no image can have.
pub(crate) fn check_side(found: usize) -> Result<(), DataError> {
    let max = crate::idx::MAX_SIDE as usize;
    if (1..=max).contains(&found) {
        return Ok(());
    }
    Err(DataError::request(format!(
        "side of an image: {found} pixels, expected 1 to {max}; change it"
    )))
}

/// The error for a parameter out of its range.
pub(crate) fn number(what: &str, found: f64, expected: &str) -> DataError {
    DataError::request(format!("{what}: {found}, expected {expected}; change it"))
}

/// The error for an argument that does not fit the others or is out of its bounds.
pub(crate) fn unfit(what: &str, expected: impl Display, found: impl Display) -> DataError {
    DataError::request(format!("{what}: expected {expected}, found {found}"))
}

/// The place of a record in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// The line of a text, from 1.
    Line(u64),
    /// The number of the record in a file without lines, from 1.
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

/// The error for a record with too few or too many fields.
pub(crate) fn fields(
    file: &str,
    place: impl Into<Position>,
    expected: usize,
    found: usize,
) -> DataError {
    let place = place.into();
    let advice = "repair or remove it";
    DataError::record(format!(
        "{file}: a record has another number of fields than {expected}; {advice}"
    ))
    .telling(format!(
        "{file}, {place}: {found} fields, expected {expected}; {advice}"
    ))
}

/// The error for a field with a value that its column may not hold.
pub(crate) fn field(
    file: &str,
    place: impl Into<Position>,
    column: impl Display,
    expected: impl Display,
    found: &str,
    advice: &str,
) -> DataError {
    let place = place.into();
    DataError::record(format!(
        "{file}, column {column}: expected {expected} in each record; {advice}"
    ))
    .telling(format!(
        "{file}, {place}, column {column}: expected {expected}, found '{found}'; {advice}"
    ))
}

pub(crate) fn not_text(file: &str, place: impl Into<Position>) -> DataError {
    let place = place.into();
    let problem = "not text in UTF-8; convert it, as by: iconv -f WINDOWS-1252 -t UTF-8 IN > OUT";
    DataError::file(format!("{file}: {problem}")).telling(format!("{file}, {place}: {problem}"))
}

/// The error for a file that is not gzip; its first bytes may belong to a record.
pub(crate) fn not_gzip(file: &str, start: &[u8]) -> DataError {
    let found = match start {
        [] => "an empty file",
        _ => "others",
    };
    let expected = "not a gzip file: expected the first bytes 1f 8b";
    let advice = "give the file as published, still compressed";
    let told: String = start.iter().map(|byte| format!(" {byte:02x}")).collect();
    DataError::file(format!("{file}: {expected}, found {found}; {advice}"))
        .telling(format!("{file}: {expected}, found{told}; {advice}"))
}

pub(crate) fn corrupt(file: &str, error: &io::Error) -> DataError {
    DataError::file(format!(
        "{file}: corrupt gzip stream ({error}); replace the file"
    ))
}

/// The error for a file that goes on after its expected end.
pub(crate) fn oversized(file: &str, expected: u64) -> DataError {
    DataError::file(format!(
        "{file}: oversized: expected {expected} bytes after decompression, found more; replace the file"
    ))
}

/// Refuses files of images and labels that do not belong together.
pub(crate) fn check_pair(
    (images_file, images): (&str, u64),
    (labels_file, labels): (&str, u64),
) -> Result<(), DataError> {
    if images == labels {
        return Ok(());
    }
    Err(DataError::file(format!(
        "{labels_file} holds {labels} labels, expected {images}, one for each image of {images_file}; give files of the \
         same split"
    )))
}
