use std::path::PathBuf;
use std::sync::Arc;

/// Something to show while data is made ready.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// A file was found on this machine and its SHA-256 is right.
    Found {
        /// The file.
        path: PathBuf,
    },
    /// Bytes of a file have arrived.
    Downloading {
        /// The file's name.
        file: String,
        /// Its address.
        url: String,
        /// Bytes so far.
        done: u64,
        /// Bytes in all.
        total: u64,
    },
    /// A mirror did not give the file; the next one is tried.
    MirrorFailed {
        /// The file's address.
        url: String,
        /// What happened.
        reason: String,
    },
    /// A downloaded file is in its place.
    Saved {
        /// The file.
        path: PathBuf,
    },
    /// Glyphs have been sampled.
    Drawing {
        /// Images so far.
        done: usize,
        /// Images in all.
        total: usize,
    },
}

/// Receives [`Progress`]; called on the thread that loads.
pub type ProgressFn = Arc<dyn Fn(&Progress) + Send + Sync>;
