//! `distance`: the private smoothed sliced distance between the rows of two files, as a value with its error and as a
//! two-sample test (Rakotomamonjy and Ralaivola 2021, arXiv 2107.01848).

use std::process::ExitCode;

use experiments::distance::{Distance, last_line};
use lab::{diagnostic, session};

fn main() -> ExitCode {
    diagnostic::main(|| {
        session::run::<Distance>(&session::parse::<Distance>())?;
        // With --json: for a program that reads what this one found.
        if let Some(line) = last_line() {
            println!("{line}");
        }
        Ok(())
    })
}
