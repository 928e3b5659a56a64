//! `cost`: tables of what things cost, on any backend.

use std::process::ExitCode;

use clap::Parser;
use experiments::cost::{Arguments, run};
use lab::diagnostic;

fn main() -> ExitCode {
    lab::backend::quiet_drivers();
    diagnostic::main(|| run(&Arguments::parse()))
}
