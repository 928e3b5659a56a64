//! Runs the cells of a sweep, a few at a time.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use reporting::diagnostic::Failure;
use reporting::interrupt::Interrupt;
use reporting::report::command_line;

use super::grid::Cell;

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
    fn words(&self, cell: &Cell) -> Vec<String> {
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
    pub(super) fn command(&self, cell: &Cell) -> Command {
        let mut command = Command::new(self.program);
        command.args(self.words(cell));
        command.stdin(Stdio::null());
        command
    }

    /// The same with `more` flags for a shell.
    pub(super) fn line(&self, cell: &Cell, more: &[&str]) -> String {
        let words = self.words(cell);
        let words = words.iter().map(String::as_str).chain(more.iter().copied());
        command_line(&self.program.to_string_lossy(), words)
    }

    /// Runs all `cells`, at most `workers` at a time; what a run prints goes to `FOLDER/CELL.log`.
    pub(super) fn run(&self, cells: &[Cell], folder: &Path, workers: usize) -> Result<(), Failure> {
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
                        let outcome = self.one(cell, folder);
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

    fn one(&self, cell: &Cell, folder: &Path) -> Result<(), String> {
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
