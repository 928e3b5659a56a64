//! What tells of private records and is in no guarantee leaves the program here, and nowhere else: on standard error, in lines
//! that start with `PRIVATE`, if `--show-private` asks for them.

use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Arg, ArgAction, ArgMatches};
use data::DataError;

use crate::diagnostic::Failure;

const FLAG: &str = "show_private";

/// Whether this process was asked.
static ASKED: AtomicBool = AtomicBool::new(false);

/// The flag of every subcommand.
pub fn flag() -> Arg {
    Arg::new(FLAG)
        .long("show-private")
        .global(true)
        .action(ArgAction::SetTrue)
        .hide_short_help(true)
        .help("Say on standard error, in lines marked PRIVATE, which file or record is at fault, and exact private counts")
}

/// The flag as a word of a command line, if it was given.
pub fn word(matches: &ArgMatches) -> Option<OsString> {
    matches.get_flag(FLAG).then(|| "--show-private".into())
}

/// Does what the flag says.
pub fn show(matches: &ArgMatches) {
    ASKED.store(matches.get_flag(FLAG), Ordering::Relaxed);
}

fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Says something for the eyes of the records' owner, who asked.
fn line(text: &str) {
    eprintln!("PRIVATE   {}", in_one_line(text));
}

/// Says what may happen to private records, whether it does or not, and to their owner alone how often it did.
pub fn count(may: &str, often: impl FnOnce() -> Result<String, Failure>) -> Result<(), Failure> {
    match asked() {
        true => line(&often()?),
        false => eprintln!("note      {may} (--show-private prints how many)"),
    }
    Ok(())
}

/// A text in which no character starts a line of its own, as one in the name of a file might.
fn in_one_line(text: &str) -> String {
    let shown = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    text.chars().map(shown).collect()
}

/// The refusal of data: what the error keeps back is in a line of its own.
pub fn refused(error: &DataError, help: &str) -> Failure {
    Failure::input(error.to_string(), told(error, help))
}

/// As [`refused`], of the data that a flag names.
pub fn refused_of(flag: &str, error: &DataError, help: &str) -> Failure {
    Failure::input(format!("--{flag}: {error}"), told(error, help))
}

/// Says what an error keeps back, or if there is such a thing.
fn told(error: &DataError, help: &str) -> String {
    match error.private() {
        Some(private) if asked() => line(private),
        Some(_) => {
            return format!("{help}; --show-private says which one, on standard error");
        }
        None => {}
    }
    help.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_starts_a_line_without_a_mark() {
        assert_eq!(in_one_line("a\nb\r\u{1b}[2Kc ü"), "a\\nb\\r\\u{1b}[2Kc ü");
    }
}
