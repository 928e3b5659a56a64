use std::path::PathBuf;
use std::sync::Arc;

/// A report of progress while data is loaded or generated.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// A file was found on this machine and its SHA-256 is right.
    Found {
        /// The file.
        path: PathBuf,
    },
    /// A part of a file has arrived.
    Downloading {
        /// The file's name.
        file: String,
        /// Its address.
        url: String,
        /// The number of bytes so far.
        done: u64,
        /// The number of bytes in all.
        total: u64,
    },
    /// A mirror did not serve the file; the next one is tried.
    MirrorFailed {
        /// The file's address.
        url: String,
        /// The reason.
        reason: String,
    },
    /// A downloaded file was saved.
    Saved {
        /// The file.
        path: PathBuf,
    },
    /// A number of glyphs has been drawn.
    Drawing {
        /// The number of images so far.
        done: usize,
        /// The number of images in all.
        total: usize,
    },
}

/// A function that receives [`Progress`], on the thread that loads.
pub type ProgressFn = Arc<dyn Fn(&Progress) + Send + Sync>;
