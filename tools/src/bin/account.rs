//! `account`: privacy accounting for people (see `docs/accounting.md`).

use std::process::ExitCode;

use clap::Parser;
use tools::account::{Arguments, run};

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
