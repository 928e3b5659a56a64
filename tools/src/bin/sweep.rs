//! `sweep`: a grid of runs from one file, on one machine or many.

use std::process::ExitCode;

use clap::Parser;
use tools::sweep::{Arguments, run};

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
