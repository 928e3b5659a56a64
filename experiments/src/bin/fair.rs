//! `fair`: learns under a private Wasserstein penalty between groups (Rodriguez-Vitores et al. 2025,
//! arXiv 2502.01701, section 7).

use std::process::ExitCode;

use clap::Parser;
use experiments::fair::{Arguments, run};

fn main() -> ExitCode {
    lab::backend::quiet_drivers();
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
