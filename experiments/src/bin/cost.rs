//! `cost`: tables of what things cost, on any backend.

use std::process::ExitCode;

use clap::Parser;
use experiments::cost::{Arguments, run};

fn main() -> ExitCode {
    lab::backend::quiet_drivers();
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
