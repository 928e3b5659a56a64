//! The report of a run: one self-contained page, which can be rebuilt at any time from the run's folder alone.
//!
//! A run writes `run.json` ([`RunFile`]), `config.toml`, `ledger.jsonl`, `metrics.jsonl` and pictures.
//! [`RunRecord::read`] reads them back, and [`write()`] makes the page. A run that was cut off has no `run.json`: its page
//! says so and shows what is known.

mod event;
mod html;
mod ledger;
mod markdown;
mod metrics;
mod notes;
mod number;
mod page;
mod picture;
mod privacy;
mod read;
mod record;
mod results;
mod run_file;
mod settings;
mod sweep;
mod timestamp;
mod together;

use std::path::{Path, PathBuf};

pub use crate::command::{command_line, this_command};
pub use dp_accountant::decimal::{lower, upper};
pub use event::noise_multiplier;
pub use html::escaped;
pub use ledger::{Group, LedgerSummary, Span};
pub use markdown::markdown;
pub use metrics::{Curve, Metrics};
pub use number::duration;
pub use privacy::{Standing, Statement, epsilon_upper, neighbours};
pub use record::RunRecord;
pub use run_file::{Better, FigureFile, Metric, Plan, RunFile, Took};
pub use settings::Settings;
pub use sweep::{Cell, SAMPLED_RUNS, Spread, Sweep, find_runs};
pub use timestamp::timestamp;

use crate::diagnostic::Failure;
use crate::run_folder::RunFolder;

/// The file name of a run's page in its folder.
pub const PAGE: &str = "report.html";

/// Rebuilds the page of the run in `folder`, and returns its path.
///
/// # Errors
///
/// [`Failure::BadInput`] names the folder, file and field that cannot be read; [`Failure::Failed`] if the page cannot be
/// written.
pub fn write(folder: &Path) -> Result<PathBuf, Failure> {
    write_in(&RunFolder::open(folder)?)
}

/// Does the same as [`write()`] for a run that is still in progress in `folder`.
///
/// # Errors
///
/// As [`write()`].
pub fn write_in(folder: &RunFolder) -> Result<PathBuf, Failure> {
    let record = RunRecord::read(folder.path())?;
    folder.write(PAGE, page::page(&record)?.as_bytes())
}

/// Returns the page of a run as HTML.
///
/// # Errors
///
/// [`Failure::Failed`] if it cannot be rendered.
pub fn page(record: &RunRecord) -> Result<String, Failure> {
    page::page(record)
}
