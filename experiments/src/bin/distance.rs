//! `distance`: the private smoothed sliced distance between the rows of two files, as a value with its error and as a
//! two-sample test (Rakotomamonjy and Ralaivola 2021, arXiv 2107.01848).

use std::process::ExitCode;

use experiments::distance::{Distance, last_line};
use lab::session;

fn main() -> ExitCode {
    let arguments = session::parse::<Distance>();
    match session::run::<Distance>(&arguments) {
        Ok(()) => {
            // With --json: for a program that reads what this one found.
            if let Some(line) = last_line() {
                println!("{line}");
            }
            ExitCode::SUCCESS
        }
        Err(failure) => failure.report(),
    }
}
