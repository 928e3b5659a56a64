//! `flow`: generates images by a private flow in a public latent space (Sebag et al. 2023, arXiv 2312.08227).

use std::process::ExitCode;

use clap::Parser;
use experiments::flow::{Arguments, run};

fn main() -> ExitCode {
    lab::backend::quiet_drivers();
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
