//! `figures`: draws the figures of an experiment from its finished runs.

use std::process::ExitCode;

use clap::Parser;
use reporting::diagnostic;
use tools::figures::{Arguments, run};

fn main() -> ExitCode {
    diagnostic::main(|| run(&Arguments::parse()))
}
