//! Runs the cells of a sweep.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use reporting::diagnostic::{Failure, OrFailed};
use reporting::interrupt::Interrupt;
use reporting::report::command_line;

use super::array::Array;
use super::grid::GridCell;

/// Where cells are run.
pub(super) enum Executor<'a> {
    /// On this machine, so many at a time.
    Here {
        workers: usize,
    },
    Array(Array<'a>),
}

/// What runs cells: the subcommand of an experiment.
pub(super) struct Runner<'a> {
    program: &'a Path,
    experiment: &'a str,
    /// The flag whose value is a subcommand.
    key: Option<&'a str>,
}

impl<'a> Runner<'a> {
    pub(super) fn new(program: &'a Path, experiment: &'a str, key: Option<&'a str>) -> Self {
        Self {
            program,
            experiment,
            key,
        }
    }

    /// The subcommands of a cell, and its other flags.
    fn words(&self, cell: &GridCell) -> Vec<String> {
        let mut flags = cell.flags.clone();
        let named = |flag: &String| {
            Some(flag.as_str()) == self.key.map(|key| format!("--{key}")).as_deref()
        };
        let mut words = vec![self.experiment.to_string()];
        if let Some(place) = flags.iter().position(named) {
            flags.remove(place);
            words.push(flags.remove(place));
        }
        words.extend(flags);
        words
    }

    /// The command of a cell, without a folder.
    pub(super) fn command(&self, cell: &GridCell) -> Command {
        let mut command = Command::new(self.program);
        command.args(self.words(cell));
        command.stdin(Stdio::null());
        command
    }

    /// The same with `more` flags for a shell.
    pub(super) fn line(&self, cell: &GridCell, more: &[&str]) -> String {
        let (program, words) = (self.program.to_string_lossy(), self.words(cell));
        let words = words.iter().map(String::as_str).chain(more.iter().copied());
        // The path of the program is quoted too.
        let line = command_line("", std::iter::once(program.as_ref()).chain(words));
        line.trim_start().to_string()
    }

    /// Runs all `cells`, on this machine or on a cluster; what a run prints goes to `FOLDER/CELL.log`.
    pub(super) fn run(
        &self,
        cells: &[GridCell],
        folder: &Path,
        place: &Executor,
    ) -> Result<(), Failure> {
        std::fs::create_dir_all(folder).map_err(|e| {
            Failure::input(format!("{}: {e}", folder.display()), "choose another --out")
        })?;
        let interrupt = Interrupt::listen()?;
        let failed = match place {
            Executor::Here { workers } => self.here(cells, folder, *workers, &interrupt)?,
            Executor::Array(array) => array.run(self, cells, folder, &interrupt)?,
        };
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

    /// At most `workers` at a time; the names of the cells that failed.
    fn here(
        &self,
        cells: &[GridCell],
        folder: &Path,
        workers: usize,
        interrupt: &Interrupt,
    ) -> Result<Vec<String>, Failure> {
        let next = AtomicUsize::new(0);
        let failed = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..workers.min(cells.len()) {
                scope.spawn(|| {
                    while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if interrupt.asked() {
                            return;
                        }
                        let outcome = self.one(cell, folder);
                        report_outcome(cell, &outcome);
                        if outcome.is_err()
                            && let Ok(mut failed) = failed.lock()
                        {
                            failed.push(cell.name.clone());
                        }
                    }
                });
            }
        });
        failed.into_inner().or_failed()
    }

    fn one(&self, cell: &GridCell, folder: &Path) -> Result<(), String> {
        let path = folder.join(format!("{}.log", cell.name));
        let attempt = || -> std::io::Result<std::process::ExitStatus> {
            let log = std::fs::File::create(&path)?;
            self.command(cell)
                .arg("--run")
                .arg(folder.join(&cell.name))
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
}

/// Says how a cell ended.
pub(super) fn report_outcome(cell: &GridCell, outcome: &Result<(), String>) {
    let result = outcome.as_ref().map_or_else(String::as_str, |()| "done");
    eprintln!("cell      {}: {result}", cell.name);
}
