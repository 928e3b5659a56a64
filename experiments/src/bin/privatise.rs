//! `privatise`: each record of a data set gets its noise alone, once, before anything else sees it (Reshetova, Chen and
//! Ozgur 2023, arXiv 2306.09547, section 2.1).

use std::process::ExitCode;

use clap::Parser;
use experiments::privatise::{Arguments, run};

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
