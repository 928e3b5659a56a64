//! `privatise`: each record of a data set gets its noise alone, once, before anything else sees it (Reshetova, Chen and
//! Ozgur 2023, arXiv 2306.09547, section 2.1).

use std::process::ExitCode;

use clap::Parser;
use experiments::privatise::{Arguments, run};
use lab::diagnostic;

fn main() -> ExitCode {
    diagnostic::main(|| run(&Arguments::parse()))
}
