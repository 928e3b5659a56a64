//! The command line of `sweep`.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Parser;

use super::Sweep;

/// Run a grid of experiments; what is done is skipped, what was killed is resumed.
#[derive(Debug, Parser)]
#[command(name = "sweep", version)]
pub struct Arguments {
    /// The sweep, in TOML: `experiment`, `name`, `[fixed]` flags and a `[grid]` of lists of flags.
    pub file: PathBuf,
    /// Print one line for each command instead of running them, for GNU parallel
    /// (`just sweep FILE --print | parallel -j2`), HyperQueue (`hq submit --each-line`) or a Slurm
    /// array. A line can be run again: it resumes where it stopped, and does nothing when it is done.
    #[arg(long)]
    pub print: bool,
    /// Runs at a time on this machine.
    #[arg(long, default_value = "1")]
    pub workers: NonZeroUsize,
    /// Folder of the runs (default: `runs/sweeps/NAME`).
    #[arg(long)]
    pub out: Option<PathBuf>,
}

impl Arguments {
    /// Where the runs of `sweep` lie.
    pub fn folder(&self, sweep: &Sweep) -> PathBuf {
        self.out
            .clone()
            .unwrap_or_else(|| Path::new("runs/sweeps").join(&sweep.name))
    }
}
