//! `export`: samples of a finished run to take away, from its folder alone.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use experiments::export::{ExportRequest, export};
use lab::diagnostic::{self, Failure};
use lab::interrupt::Interrupt;
use lab::run_folder::RunFolder;

/// Write samples of a finished run of swae, flow or generator to a new folder, with a card that says what is promised
/// of them. No data is read but what the run's folder keeps, and nothing is spent.
#[derive(Parser)]
#[command(name = "export", version)]
struct Arguments {
    /// The folder of the run.
    run: PathBuf,
    /// The folder to create.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    request: ExportRequest,
}

fn main() -> ExitCode {
    lab::backend::quiet_drivers();
    diagnostic::main(|| run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let folder = RunFolder::open(&arguments.run)?;
    export(&folder, &arguments.out, &arguments.request, &interrupt)
}
