//! `figures`: draws the figures of an experiment from its finished runs.

use std::process::ExitCode;

use clap::Parser;
use tools::figures::{Arguments, run};

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
