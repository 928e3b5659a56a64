//! `account`: privacy accounting for people (see `docs/accounting.md`).

use std::process::ExitCode;

use clap::Parser;
use reporting::diagnostic;
use tools::account::{Arguments, run};

fn main() -> ExitCode {
    diagnostic::main(|| run(&Arguments::parse()))
}
