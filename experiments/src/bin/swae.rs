//! `swae`: trains a private sliced-Wasserstein autoencoder (Rodriguez-Vitores et al. 2025, arXiv 2502.01701,
//! section 6).

use std::process::ExitCode;

use clap::Parser;
use experiments::swae::{Arguments, run};

fn main() -> ExitCode {
    lab::backend::quiet_drivers();
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
