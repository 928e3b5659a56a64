//! `audit`: attacks on the workspace's own mechanism, and what they prove of its claim.

use std::process::ExitCode;

use clap::Parser;
use experiments::audit::{Arguments, run};

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
