//! `cost`: what inner clipping costs by the width of a network (paper 004, table 5).

use std::process::ExitCode;

use clap::Parser;
use experiments::cost::{Arguments, run};

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
