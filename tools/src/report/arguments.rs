//! The command line of `report`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Rebuild the page of a run from its folder, tabulate several, or draw the figures of a paper.
///
/// One RUN: its page is rebuilt. Several, or those that --sweep finds: a table is printed, with mean and standard deviation
/// of the runs that differ in their seeds alone.
#[derive(Debug, Parser)]
#[command(name = "report")]
pub struct Arguments {
    /// Run folders, such as `runs/swae/glyphs-eps10`. With --figures folders of runs at any depth (default: those of the
    /// experiment's sweeps, such as `runs/sweeps/ldp`; of `docs` the folder of the tables, `docs/results`).
    #[arg(required_unless_present_any = ["sweep", "figures"])]
    pub runs: Vec<PathBuf>,
    /// A folder with run folders at any depth up to four, or a file that lists run folders, one a
    /// line.
    #[arg(long, value_name = "DIR_OR_FILE")]
    pub sweep: Option<PathBuf>,
    /// The page of one RUN to write (default: its own report.html). With --figures the folder of the figures
    /// and their page (default: `runs/figures/EXPERIMENT`; of `docs` assets/pictures).
    #[arg(long, value_name = "FILE.html", conflicts_with_all = ["sweep", "format"])]
    pub out: Option<PathBuf>,
    /// Print this: of one RUN its command, results and promise instead of its page; of several the table (default: markdown).
    #[arg(long, value_enum)]
    pub format: Option<Printed>,
    /// A column of the table in Markdown by its name, or all whose names contain NAME; given again, the next. Without
    /// it, all.
    #[arg(long = "column", value_name = "NAME", requires = "format")]
    pub columns: Vec<String>,
    /// Draw the figures of an experiment from its finished runs, or the charts of the pages of results.
    #[arg(long, value_enum, value_name = "EXPERIMENT", conflicts_with_all = ["sweep", "format"])]
    pub figures: Option<Figures>,
}

/// What figures are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Figures {
    /// Fair learning.
    Fair,
    /// Learning from privatised records.
    Ldp,
    /// The pages of results.
    Docs,
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Printed {
    /// A table in CSV.
    Csv,
    /// Markdown.
    Markdown,
}
