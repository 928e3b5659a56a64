//! Every parser as a function of bytes, for fuzzing: none panics, and none takes memory that a header merely claims.
//!
//! `just fuzz NAME` gives such a function to libFuzzer, and the test `bounded` gives all of them a few thousand
//! damaged files. Both start from [`Parser::seeds`], and run with [`Bounded`] for an allocator.

mod allocator;
mod files;
mod records;
#[cfg(feature = "tensors")]
mod tensors;

use std::path::Path;

pub use allocator::{Bounded, allowed};

/// A parser.
pub struct Parser {
    /// Its name, that of the binary of cargo-fuzz too.
    pub name: &'static str,
    /// Reads bytes, which may be anything; a folder is there for parsers of files.
    pub read: fn(&[u8], &Path),
    /// Whole files to start from.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All parsers.
pub fn parsers() -> Vec<Parser> {
    let mut all = files::PARSERS
        .iter()
        .chain(records::PARSERS)
        .collect::<Vec<_>>();
    #[cfg(feature = "tensors")]
    all.extend(tensors::PARSERS);
    let copy = |parser: &Parser| Parser { ..*parser };
    all.into_iter().map(copy).collect()
}

impl Parser {
    /// Reads `bytes` with no more memory than they may need.
    pub fn run(&self, bytes: &[u8], folder: &Path) {
        allowed(bytes.len(), || (self.read)(bytes, folder));
    }
}

/// The text that bytes are, where they are any: what a caller has who reads a file as text.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// A file of these bytes.
fn file(folder: &Path, name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("a folder to write to");
    path
}
