//! `report`: rebuilds the page of a run, compares runs, tabulates sweeps.

use std::process::ExitCode;

use clap::Parser;
use tools::report::{Arguments, run};

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
