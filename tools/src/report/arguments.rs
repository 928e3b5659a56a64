//! The command line of `report`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Rebuild the page of a run from its folder, or tabulate several.
///
/// One RUN: its page is rebuilt. Several, or those that --sweep finds: mean and standard deviation of each cell, runs
/// that differ in their seeds alone.
#[derive(Debug, Parser)]
#[command(name = "report")]
pub struct Arguments {
    /// Run folders, such as `runs/swae/glyphs-eps10`.
    #[arg(required_unless_present = "sweep")]
    pub runs: Vec<PathBuf>,
    /// A folder with run folders at any depth up to four, or a file that lists run folders, one a
    /// line.
    #[arg(long, value_name = "DIR_OR_FILE")]
    pub sweep: Option<PathBuf>,
    /// The page to write (default: the run's own report.html, or runs/sweep.html).
    #[arg(long, value_name = "FILE.html")]
    pub out: Option<PathBuf>,
    /// Print this instead of writing a page: of one RUN its command, results and promise; of several runs or a sweep a
    /// table, a row for the runs that differ in their seeds alone.
    #[arg(long, value_enum)]
    pub format: Option<Printed>,
    /// A column of the table in Markdown by its name, or all whose names contain NAME; given again, the next. Without
    /// it, all.
    #[arg(long = "column", value_name = "NAME", requires = "format")]
    pub columns: Vec<String>,
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Printed {
    /// A table in CSV.
    Csv,
    /// Markdown.
    Markdown,
}
