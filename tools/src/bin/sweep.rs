//! `sweep`: a grid of runs from one file, on one machine or many.

use std::process::ExitCode;

use clap::Parser;
use reporting::diagnostic;
use tools::sweep::{Arguments, run};

fn main() -> ExitCode {
    diagnostic::main(|| run(&Arguments::parse()))
}
