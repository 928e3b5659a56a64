//! Finding the runs of a sweep.

use std::path::{Path, PathBuf};

use crate::diagnostic::Failure;
use crate::report::RunRecord;

/// The name of the file that marks a folder of the runs that a private selection sampled; all but the best stay secret.
pub const SAMPLED_RUNS: &str = "drawn.json";

/// The largest depth below a folder at which runs are searched.
const DEPTH: usize = 4;

/// Finds the runs of a sweep: those in a folder and its subfolders, or those that a file lists. The file has one path a
/// line, relative to the file's own folder (`#` begins a comment).
///
/// # Errors
///
/// [`Failure::BadInput`] if there is no run, or if the path cannot be read.
pub fn find_runs(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut runs = Vec::new();
    if path.is_dir() {
        walk(path, DEPTH, &mut runs)?;
        runs.sort();
    } else {
        let text = std::fs::read_to_string(path).map_err(|e| unreadable(path, &e))?;
        let base = path.parent().unwrap_or(Path::new(""));
        let lines = text.lines().map(str::trim);
        let named = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        runs.extend(named.map(|line| base.join(line)));
    }
    if runs.is_empty() {
        return Err(Failure::input(
            format!("{}: there is no run in it", path.display()),
            "name a folder with run folders, or a file that lists them, one a line",
        ));
    }
    Ok(runs)
}

fn walk(folder: &Path, depth: usize, runs: &mut Vec<PathBuf>) -> Result<(), Failure> {
    if RunRecord::is_run(folder) {
        runs.push(folder.to_path_buf());
        return Ok(());
    }
    // A private selection releases only the best run, and the ledger of that run has the cost of all.
    if depth == 0 || folder.join(SAMPLED_RUNS).exists() {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder).map_err(|e| unreadable(folder, &e))? {
        let entry = entry.map_err(|e| unreadable(folder, &e))?;
        // Links are not followed: they may form a circle.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(&entry.path(), depth - 1, runs)?;
        }
    }
    Ok(())
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::input(
        format!("{} cannot be read: {error}", path.display()),
        "name a folder with run folders, or a file that lists them, one a line",
    )
}
