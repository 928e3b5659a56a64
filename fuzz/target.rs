//! One parser, named by the binary, for libFuzzer.

#![no_main]

use std::sync::LazyLock;

use fuzz_targets::{Bounded, Parser, parsers};
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

#[global_allocator]
static ALLOCATOR: Bounded = Bounded;

static PARSER: LazyLock<Parser> = LazyLock::new(|| {
    let mut all = parsers().into_iter();
    all.find(|parser| parser.name == env!("CARGO_BIN_NAME")).expect("a parser of this name")
});
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().expect("a folder to write to"));

fuzz_target!(|bytes: &[u8]| PARSER.run(bytes, FOLDER.path()));
