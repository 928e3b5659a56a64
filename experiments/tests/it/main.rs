//! The experiments as a person runs them, through their binaries.

mod audit;
mod classify;
mod cost;
mod distance;
mod export;
mod fair;
#[cfg(unix)]
mod faults;
mod figures;
mod forms;
mod golden;
#[cfg(unix)]
mod kills;
mod ldp;
mod leaks;
mod local_contract;
mod neighbours;
mod own_experiment;
mod pages;
mod pipe;
mod privatise;
mod program;
#[cfg(unix)]
mod ranks;
#[cfg(unix)]
mod refused;
mod report;
#[cfg(unix)]
mod resume;
#[cfg(unix)]
mod schema;
#[cfg(unix)]
mod slurm;
mod subcommands;
mod swae;
mod sweep;
mod synth;
mod synth_baselines;
mod synth_methods;
mod synth_table;
mod synth_table_open;
#[cfg(unix)]
mod tutorials;
mod uses;
