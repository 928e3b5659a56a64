//! The command line of `sweep`.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Parser;
use dp_accountant::accounting::{AccountingError, RepetitionDistribution};

use super::Sweep;

/// Run a grid of experiments; what is done is skipped, what was killed is resumed.
#[derive(Debug, Parser)]
#[command(name = "sweep")]
pub struct Arguments {
    /// The sweep, in TOML: `experiment`, `name`, `[fixed]` flags and a `[grid]` of lists of flags.
    pub file: PathBuf,
    /// Print one line for each command instead of running them, for GNU parallel
    /// (`just sweep FILE --plan | parallel -j2`) or another scheduler than Slurm. A line can be run again: it
    /// resumes where it stopped, and does nothing when it is done.
    #[arg(long)]
    pub plan: bool,
    /// Choose hyperparameters privately: make a random number of runs, each a random cell, and release the best alone,
    /// in FOLDER/best, with an epsilon that covers the choice. FOLDER/private must stay secret.
    #[arg(long, requires = "select", conflicts_with = "plan")]
    pub private: bool,
    /// The score that chooses: the first result of a run whose name holds this text, such as `accuracy`. It must rest on
    /// public records or on what the run released.
    #[arg(long, requires = "private", value_name = "TEXT")]
    pub select: Option<String>,
    /// The mean of the random number of runs.
    #[arg(
        long,
        requires = "private",
        default_value_t = 10.0,
        value_name = "MEAN"
    )]
    pub runs: f64,
    /// The law of the random number of runs. The logarithmic law costs least and varies most.
    #[arg(long, requires = "private", value_enum, default_value_t = RunsDistribution::Geometric)]
    pub law: RunsDistribution,
    /// Delta of the whole selection (default: the largest of the cells').
    #[arg(long, requires = "private")]
    pub delta: Option<f64>,
    /// Epsilon of the whole selection: the runs' own is chosen to meet it (default: the runs are as the file has them,
    /// and the selection's epsilon follows).
    #[arg(long, requires = "private", value_name = "EPSILON")]
    pub epsilon: Option<f64>,
    /// Where the runs are made (default: on this machine): as one array job, in a folder that all nodes share. Time,
    /// memory, partition and account on Slurm are those of your own SBATCH_* variables, such as SBATCH_TIMELIMIT. What a
    /// node lost is submitted again, up to three times, and resumes; Ctrl-C cancels the array. Not with --private: the queue
    /// shows the number of runs.
    #[arg(long, value_enum, conflicts_with_all = ["private", "plan"])]
    pub on: Option<On>,
    /// Further flags of `sbatch`: `--submit "--cpus-per-task 8"`.
    #[arg(
        long,
        requires = "on",
        value_name = "FLAGS",
        allow_hyphen_values = true
    )]
    pub submit: Option<String>,
    /// Runs at a time (default: one on this machine, as many as Slurm starts on Slurm).
    #[arg(long)]
    pub workers: Option<NonZeroUsize>,
    /// Folder of the runs (default: `runs/sweeps/NAME`).
    #[arg(long)]
    pub out: Option<PathBuf>,
}

/// What makes the runs of a sweep on other machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum On {
    /// Slurm, by `sbatch`, `squeue` and `scancel`.
    Slurm,
}

/// The law of a random number of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum RunsDistribution {
    /// At least one run, and each is followed by another with the same probability.
    Geometric,
    /// At least one run.
    Logarithmic,
    /// There may be none, and then nothing is released.
    Poisson,
}

impl RunsDistribution {
    /// The law of a mean.
    ///
    /// # Errors
    ///
    /// A mean that it cannot have.
    pub fn of_mean(self, mean: f64) -> Result<RepetitionDistribution, AccountingError> {
        match self {
            Self::Geometric => RepetitionDistribution::negative_binomial(1.0, mean),
            Self::Logarithmic => RepetitionDistribution::negative_binomial(0.0, mean),
            Self::Poisson => RepetitionDistribution::poisson(mean),
        }
    }
}

impl Arguments {
    /// Where the runs of `sweep` lie.
    pub fn folder(&self, sweep: &Sweep) -> PathBuf {
        self.out
            .clone()
            .unwrap_or_else(|| Path::new("runs/sweeps").join(&sweep.name))
    }
}
