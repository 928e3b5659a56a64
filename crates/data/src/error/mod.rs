mod npy;
mod privatised;
mod split;
mod table;

use std::path::PathBuf;

pub use npy::NpyError;
pub use privatised::PrivatisedError;
pub(crate) use split::NOTE;
pub use split::SplitError;
pub use table::TableError;

/// What can be wrong with a data file, a download, or a request for data.
///
/// Each message names the value, the bound and what to do.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The operating system refused a file operation.
    #[error("{path}: cannot {action}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried, as a verb.
        action: &'static str,
        /// The reason.
        source: std::io::Error,
    },

    /// The file does not start as a gzip stream.
    #[error(
        "{file}: not a gzip file: expected the first bytes 1f 8b, found {found}; \
         give the file as published, still compressed"
    )]
    NotGzip {
        /// The file.
        file: String,
        /// Its first bytes, in hexadecimal.
        found: String,
    },

    /// The gzip stream is damaged.
    #[error("{file}: corrupt gzip stream ({source}); replace the file")]
    Corrupt {
        /// The file.
        file: String,
        /// The message of the decompressor.
        source: std::io::Error,
    },

    /// The idx magic number is another one.
    #[error(
        "{file}: wrong idx magic number: expected {expected:#010x} ({meaning}), found {found:#010x}; \
         check that images and labels are not exchanged"
    )]
    Magic {
        /// The file.
        file: String,
        /// The magic number of what was asked for.
        expected: u32,
        /// What that number stands for.
        meaning: &'static str,
        /// The magic number in the file.
        found: u32,
    },

    /// The idx header asks for more, or for less, than a file may hold.
    #[error("{file}: the header promises {found}, expected {expected}; replace the file")]
    Header {
        /// The file.
        file: String,
        /// What a header may promise.
        expected: String,
        /// What this one promises.
        found: String,
    },

    /// The file ends before what its header promises.
    #[error(
        "{file}: truncated: expected {expected} bytes after decompression, found {found}; \
         replace the file"
    )]
    Truncated {
        /// The file.
        file: String,
        /// Bytes that the format needs, header included.
        expected: u64,
        /// Bytes in the file.
        found: u64,
    },

    /// The file is longer than what its header promises.
    #[error(
        "{file}: oversized: expected {expected} bytes after decompression, found more; \
         replace the file"
    )]
    Oversized {
        /// The file.
        file: String,
        /// Bytes that the header promises, header included.
        expected: u64,
    },

    /// A label is not a class.
    #[error("{file}: the label at index {index}: expected 0 to {max}; replace the file")]
    Label {
        /// The file, or a word for where the labels came from.
        file: String,
        /// Position of the label, from 0.
        index: usize,
        /// Largest label allowed.
        max: u8,
    },

    /// Images and labels do not belong together.
    #[error(
        "{labels_file} holds {labels} labels, expected {images}, one for each image of {images_file}; \
         give files of the same split"
    )]
    Counts {
        /// The file of images.
        images_file: String,
        /// Its number of images.
        images: usize,
        /// The file of labels.
        labels_file: String,
        /// Its number of labels.
        labels: usize,
    },

    /// Images cannot be written as they were asked for, in words.
    #[error("{0}")]
    Export(String),

    /// The parts of a set of images do not fit together.
    #[error("labelled images: {what}: expected {expected}, found {found}")]
    Shape {
        /// The part.
        what: &'static str,
        /// Its bound.
        expected: String,
        /// Its value.
        found: usize,
    },

    /// A file has not the pinned size.
    #[error(
        "{path}: expected {expected} bytes, found {found}; remove the file, or replace it with the \
         one whose SHA-256 is {sha256}"
    )]
    FileSize {
        /// The file.
        path: PathBuf,
        /// Its pinned size.
        expected: u64,
        /// Its size.
        found: u64,
        /// Its pinned SHA-256.
        sha256: String,
    },

    /// A file has not the pinned SHA-256.
    #[error(
        "{path}: wrong SHA-256: expected {expected}; remove the file, or replace it with the published \
         one"
    )]
    Checksum {
        /// The file.
        path: PathBuf,
        /// The pinned sum. That of the file is left out: it may be another one's records.
        expected: String,
    },

    /// A file is nowhere on this machine and no mirror gave it.
    #[error(transparent)]
    Unavailable(Box<Unavailable>),

    /// There is no folder to download to.
    #[error("no folder to keep {file} in: this user has no home folder; name one")]
    NoFolder {
        /// The file's name.
        file: String,
    },

    /// A data set of another name.
    #[error("unknown data set '{found}': expected one of {expected}")]
    UnknownDataset {
        /// The name that was given.
        found: String,
        /// The names that exist.
        expected: String,
    },

    /// A number of records out of range.
    #[error("{what}: {found} records asked for, expected 1 to {max}; change the number")]
    Records {
        /// The split.
        what: String,
        /// The number that was asked for.
        found: usize,
        /// The most that there can be.
        max: usize,
    },

    /// A group, or a list, that holds nothing.
    #[error("{what} is empty: expected at least 1 {expected}; remove it, or give it some")]
    Empty {
        /// The group or the list.
        what: String,
        /// What it should hold.
        expected: &'static str,
    },

    /// An index past the end of the records.
    #[error("{what}: index {index} of {records} records: expected 0 to {max}", max = records.saturating_sub(1))]
    Index {
        /// The data.
        what: String,
        /// The index.
        index: usize,
        /// The number of records.
        records: usize,
    },

    /// A parameter out of range.
    #[error("{what}: {found}, expected {expected}; change it")]
    Number {
        /// The parameter.
        what: &'static str,
        /// Its value.
        found: f64,
        /// Its bound.
        expected: &'static str,
    },

    /// A side that no image can have.
    #[error("side of an image: {found} pixels, expected 1 to {max}; change it")]
    Side {
        /// The number of pixels.
        found: usize,
        /// The most that it can be.
        max: usize,
    },

    /// A file that is named as an image and cannot be decoded.
    #[error(
        "{path}: cannot be read as an image: {reason}; replace or remove the file, or have files that \
         cannot be read skipped"
    )]
    Image {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, without what it holds.
        reason: String,
    },

    /// A row of features that is no record. What it holds is not said.
    #[error("{file}, {place}: expected {expected}; {advice}")]
    Row {
        /// The file.
        file: String,
        /// Where.
        place: String,
        /// What may be there.
        expected: String,
        /// What to do.
        advice: &'static str,
    },

    /// A text file of records that cannot be read.
    #[error(transparent)]
    Table(Box<TableError>),

    /// An NPY file that cannot be read.
    #[error(transparent)]
    Npy(Box<NpyError>),

    /// A file of privatised records that cannot be read or written.
    #[error(transparent)]
    Privatised(Box<PrivatisedError>),

    /// A public and private half that cannot be had.
    #[error(transparent)]
    Split(Box<SplitError>),
}

impl From<TableError> for DataError {
    fn from(error: TableError) -> Self {
        Self::Table(Box::new(error))
    }
}

impl From<NpyError> for DataError {
    fn from(error: NpyError) -> Self {
        Self::Npy(Box::new(error))
    }
}

impl From<PrivatisedError> for DataError {
    fn from(error: PrivatisedError) -> Self {
        Self::Privatised(Box::new(error))
    }
}

impl From<SplitError> for DataError {
    fn from(error: SplitError) -> Self {
        Self::Split(Box::new(error))
    }
}

/// A file that is nowhere on this machine and that no mirror gave, with where to put it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{file} not found in {looked}; downloading it failed: {attempts}; get the file with {bytes} \
     bytes and SHA-256 {sha256} and put it at {put}, or name the folder that holds it with --data-dir \
     or the environment variable SLIVER_DATA"
)]
pub struct Unavailable {
    /// The file's name.
    pub file: String,
    /// Its pinned size.
    pub bytes: u64,
    /// Its pinned SHA-256.
    pub sha256: String,
    /// The folders that were searched.
    pub looked: String,
    /// What each mirror answered.
    pub attempts: String,
    /// Where the file is looked for.
    pub put: PathBuf,
}
