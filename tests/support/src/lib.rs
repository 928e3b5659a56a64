//! What tests share: contracts of privacy, what they say where something that they need is not on this machine, what they
//! expect of messages, and how far numbers are from others.

pub mod contract;
#[cfg(feature = "networks")]
pub mod networks;
pub mod noise;
#[cfg(feature = "stacks")]
pub mod stacks;

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

/// The folder of published data files; where there is none the running test is skipped.
///
/// # Panics
///
/// As [`skipped`], for `data`.
pub fn data_folder() -> Option<PathBuf> {
    let folder = data::fetch::named_folder();
    if folder.is_none() {
        skipped("data", "SLIVER_DATA names no folder");
    }
    folder
}

/// Says that the running test, or a part of it, is skipped for want of `need`, and counts it.
///
/// A line is added to the file that `SLIVER_SKIPPED` names; `just test` prints them all at its end.
///
/// # Panics
///
/// Where `SLIVER_NEED`, words set apart by spaces, names `need`: on a machine that should have it, a
/// test that passes without it says nothing. And where the file cannot be written.
pub fn skipped(need: &str, why: &str) {
    let needed = std::env::var("SLIVER_NEED").unwrap_or_default();
    assert!(
        !needed.split_whitespace().any(|word| word == need),
        "SLIVER_NEED names {need}, and this machine has none: {why}"
    );
    // Tests of different packages may have the same name; cargo tells which one runs.
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let line = format!("{package}::{test}: no {need}: {why}\n");
    print!("skipped {line}");
    let Some(file) = std::env::var_os("SLIVER_SKIPPED").filter(|name| !name.is_empty()) else {
        return;
    };
    // One write a line, so that tests side by side do not mix theirs.
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(&file)
        .and_then(|mut file| file.write_all(line.as_bytes()))
        .unwrap_or_else(|error| panic!("SLIVER_SKIPPED={}: {error}", file.display()));
}

/// A Python that has these modules: `SLIVER_PYTHON`, or `python3`. Where there is none the running test, or a part of it,
/// is skipped.
///
/// # Panics
///
/// As [`skipped`], for the names of the modules.
pub fn python(modules: &[&str]) -> Option<Command> {
    let program = std::env::var_os("SLIVER_PYTHON").filter(|name| !name.is_empty());
    let program = program.unwrap_or_else(|| "python3".into());
    let import = format!("import {}", modules.join(", "));
    let tried = Command::new(&program).args(["-c", &import]).output();
    if tried.is_ok_and(|output| output.status.success()) {
        return Some(Command::new(program));
    }
    for module in modules {
        skipped(
            module,
            &format!("{} has no {}", program.display(), modules.join(" or ")),
        );
    }
    None
}

/// R; where there is none the running test, or a part of it, is skipped.
///
/// # Panics
///
/// As [`skipped`], for `r`.
pub fn r() -> Option<Command> {
    let tried = Command::new("Rscript").arg("--version").output();
    if tried.is_ok_and(|output| output.status.success()) {
        return Some(Command::new("Rscript"));
    }
    skipped("r", "install R, which brings Rscript");
    None
}

/// Whether a message has all of these words.
///
/// # Panics
///
/// Where it lacks one.
#[track_caller]
pub fn says(message: &(impl Display + ?Sized), words: &[&str]) {
    let message = message.to_string();
    for word in words {
        assert!(message.contains(word), "no '{word}' in: {message}");
    }
}

/// The Euclidean distance of two vectors of one length.
///
/// # Panics
///
/// Where they are of different lengths.
#[track_caller]
pub fn distance<T: Copy + Into<f64>>(a: &[T], b: &[T]) -> f64 {
    assert_eq!(a.len(), b.len());
    let pairs = a.iter().zip(b);
    let squares = pairs.map(|(&x, &y)| (x.into() - y.into()).powi(2));
    squares.sum::<f64>().sqrt()
}

/// `|found - expected| / |expected|`, Euclidean; `|found|` where the other is 0.
///
/// # Panics
///
/// Where they are of different lengths.
#[track_caller]
pub fn relative_error<T: Copy + Into<f64>>(found: &[T], expected: &[T]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let pairs = found.iter().zip(expected);
    let difference: f64 = pairs.map(|(&a, &b)| (a.into() - b.into()).powi(2)).sum();
    let size: f64 = expected.iter().map(|&b| b.into().powi(2)).sum();
    let size = if size == 0.0 { 1.0 } else { size };
    (difference / size).sqrt()
}
