//! Runs the cells of a sweep, a few at a time.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use reporting::diagnostic::Failure;
use reporting::interrupt::Interrupt;

use super::grid::Cell;

/// The binary of an experiment, beside this one.
///
/// # Errors
///
/// [`Failure::BadInput`] where there is none of that name.
pub(super) fn program(experiment: &str) -> Result<PathBuf, Failure> {
    let program = std::env::current_exe()
        .map_err(Failure::failed)?
        .with_file_name(format!("{experiment}{}", std::env::consts::EXE_SUFFIX));
    if program.is_file() {
        return Ok(program);
    }
    Err(Failure::input(
        format!(
            "experiment = {experiment:?}: there is no {}",
            program.display()
        ),
        "build it with cargo build --release --bins, or name another experiment",
    ))
}

/// Runs all `cells`, at most `workers` at a time; what a run prints goes to `FOLDER/CELL.log`.
///
/// # Errors
///
/// [`Failure::Failed`] names the cells that failed, after the others have run;
/// [`Failure::Interrupted`] after SIGINT or SIGTERM.
pub(super) fn run(
    program: &Path,
    cells: &[Cell],
    folder: &Path,
    workers: usize,
) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|e| {
        Failure::input(format!("{}: {e}", folder.display()), "choose another --out")
    })?;
    let interrupt = Interrupt::listen()?;
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..workers.min(cells.len()) {
            scope.spawn(|| {
                while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if interrupt.asked() {
                        return;
                    }
                    let outcome = one(program, cell, folder);
                    let result = outcome
                        .as_ref()
                        .map_or_else(Clone::clone, |()| "done".into());
                    eprintln!("cell      {}: {result}", cell.name);
                    if outcome.is_err()
                        && let Ok(mut failed) = failed.lock()
                    {
                        failed.push(cell.name.clone());
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().map_err(Failure::failed)?;
    if interrupt.asked() {
        return Err(Failure::Interrupted {
            message: "the sweep was stopped".into(),
            help: Some("the same command resumes it".into()),
        });
    }
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::Failed {
        message: format!(
            "{} of {} cells failed: {}",
            failed.len(),
            cells.len(),
            failed.join(", ")
        ),
        help: Some(format!(
            "read {}/CELL.log; the same command tries them again",
            folder.display()
        )),
    })
}

fn one(program: &Path, cell: &Cell, folder: &Path) -> Result<(), String> {
    let path = folder.join(format!("{}.log", cell.name));
    let attempt = || -> std::io::Result<std::process::ExitStatus> {
        let log = std::fs::File::create(&path)?;
        Command::new(program)
            .args(&cell.flags)
            .arg("--run")
            .arg(folder.join(&cell.name))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .status()
    };
    match attempt() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("failed, {status}; see {}", path.display())),
        Err(error) => Err(format!("failed, {}: {error}", path.display())),
    }
}
