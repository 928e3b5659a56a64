//! `report`: rebuilds the page of a run, compares runs, tabulates sweeps.

use std::process::ExitCode;

use clap::Parser;
use reporting::diagnostic;
use tools::report::{Arguments, run};

fn main() -> ExitCode {
    diagnostic::main(|| run(&Arguments::parse()))
}
