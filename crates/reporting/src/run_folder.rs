//! The folder of a run, `runs/<experiment>/<name>/`.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use files::atomic::{NewFile, UNNAMED, folder};
use serde::Serialize;

use crate::diagnostic::Failure;

/// The file with the command that started the run.
const COMMAND: &str = "command.txt";
/// The file with the words that the run was asked for in addition to its settings.
const ASKED: &str = "asked.json";
/// The pause between attempts to take a lock that is taken, and the number of attempts.
const RETRY: Duration = Duration::from_millis(100);
const RETRIES: u32 = 30;

/// A folder that belongs to one run, and to one process at a time.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// The lock, which ends with the process, however it ends.
    _lock: fs::File,
}

impl RunFolder {
    /// Creates the folder; an existing folder is refused, so that nothing is ever overwritten.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] for a path that exists or cannot be created, or if another process starts a run there at the
    /// same time.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        Self::create_by(path, Self::locked)
    }

    /// Does the same as [`RunFolder::create`], with the lock that `lock` takes.
    fn create_by(
        path: &Path,
        lock: impl FnOnce(&Path) -> Result<Self, Failure>,
    ) -> Result<Self, Failure> {
        let unused = || {
            // A folder without a configuration holds no run: a run made it and was killed before its first line.
            if !path.exists() || holds_nothing(path) {
                return Ok(());
            }
            Err(Failure::input(
                format!("--out {}: this path exists already", path.display()),
                "name a folder that does not exist yet; nothing was overwritten",
            ))
        };
        unused()?;
        fs::create_dir_all(path).map_err(|e| {
            Failure::input(
                format!(
                    "--out {}: the folder cannot be created: {e}",
                    path.display()
                ),
                "name a folder that can be written",
            )
        })?;
        let folder = lock(path)?;
        // The process that held the lock until now may have left a run.
        unused()?;
        Ok(folder)
    }

    /// Opens the folder of a run that was started before.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] for a folder that holds no run, or whose run is in use by another process.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        if !path.join("config.toml").is_file() {
            return Err(Failure::input(
                format!("{}: there is no config.toml, so no run", path.display()),
                "name the folder of a run that was started before",
            ));
        }
        Self::locked(path)
    }

    fn locked(path: &Path) -> Result<Self, Failure> {
        Self::locked_after(path, |attempt| {
            if attempt == 0 {
                eprintln!(
                    "{}: another process is at this run, or is just ending; waiting up to {} s",
                    path.display(),
                    (RETRY * RETRIES).as_secs()
                );
            }
            std::thread::sleep(RETRY);
            attempt + 1 < RETRIES
        })
    }

    /// Locks the folder, for as many attempts as `wait` allows: a killed process holds its lock until the system has ended it.
    fn locked_after(path: &Path, mut wait: impl FnMut(u32) -> bool) -> Result<Self, Failure> {
        let file = path.join(".lock");
        let refuse = |e: &dyn std::fmt::Display| {
            Failure::input(
                format!("{}: {e}", file.display()),
                "wait for the other process, or name another folder",
            )
        };
        let lock = fs::File::create(&file).map_err(|e| refuse(&e))?;
        for attempt in 0.. {
            match lock.try_lock() {
                Ok(()) => break,
                Err(fs::TryLockError::WouldBlock) if wait(attempt) => {}
                Err(e) => return Err(refuse(&format!("another process is at this run ({e})"))),
            }
        }
        Ok(Self {
            path: path.to_path_buf(),
            _lock: lock,
        })
    }

    /// Returns the first of `base`, `base-2`, `base-3`, ... that does not exist.
    pub fn unused(base: &Path) -> PathBuf {
        if !base.exists() {
            return base.to_path_buf();
        }
        let name = base
            .file_name()
            .map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        (2u64..)
            .map(|i| base.with_file_name(format!("{name}-{i}")))
            .find(|p| !p.exists())
            .unwrap_or_else(|| base.to_path_buf())
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of a file in the folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file whole or not at all ([`files::atomic`]) and returns its path.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] names the file and the cause.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, Failure> {
        let target = self.file(name);
        write_file(&target, bytes)?;
        Ok(target)
    }

    /// Stores the command that starts the run; a run that resumes, or is evaluated again, keeps it.
    ///
    /// # Errors
    ///
    /// As [`RunFolder::write`].
    pub fn note_command(&self) -> Result<(), Failure> {
        let command = crate::command::this_command() + "\n";
        self.write(COMMAND, command.as_bytes()).map(|_| ())
    }

    /// Returns the command that started the run, or this process's own if none was stored.
    pub fn command(&self) -> String {
        fs::read_to_string(self.file(COMMAND)).map_or_else(
            |_| crate::command::this_command(),
            |text| text.trim_end().to_string(),
        )
    }

    /// Stores the words that the run is asked for in addition to its settings.
    ///
    /// # Errors
    ///
    /// As [`RunFolder::write`].
    pub fn note_asked(&self, words: &[String]) -> Result<(), Failure> {
        self.write_json(ASKED, &words).map(|_| ())
    }

    /// Returns the words stored by [`RunFolder::note_asked`]; `None` if an earlier version started the run.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] for a file that cannot be read.
    pub fn asked(run: &Path) -> Result<Option<Vec<String>>, Failure> {
        let path = run.join(ASKED);
        if !path.exists() {
            return Ok(None);
        }
        let refuse = |e: &dyn std::fmt::Display| {
            Failure::input(
                format!("{}: {e}", path.display()),
                "remove it, and give the flags again that the run was started with",
            )
        };
        let bytes = fs::read(&path).map_err(|e| refuse(&e))?;
        serde_json::from_slice(&bytes).map_err(|e| refuse(&e))
    }

    /// Reads a TOML file of the run.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names the file and what is wrong in it.
    pub fn read_toml<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, Failure> {
        let path = self.file(name);
        let refuse = |e: &dyn std::fmt::Display| {
            Failure::input(
                format!("{}: {e}", path.display()),
                "it may be of another subcommand or of an earlier version: resume with the program that started the run, or \
                 start it anew",
            )
        };
        let text = fs::read_to_string(&path).map_err(|e| refuse(&e))?;
        toml::from_str(&text).map_err(|e| refuse(&e))
    }

    /// Writes a value as indented JSON.
    ///
    /// # Errors
    ///
    /// As [`RunFolder::write`].
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<PathBuf, Failure> {
        let mut text = serde_json::to_string_pretty(value).map_err(Failure::failed)?;
        text.push('\n');
        self.write(name, text.as_bytes())
    }

    /// Keeps only the lines of a JSON-lines file that `keep` accepts; a line cut off by a kill is removed. A file that does
    /// not exist is not created.
    ///
    /// # Errors
    ///
    /// As [`RunFolder::write`].
    pub fn keep_json_lines(
        &self,
        name: &str,
        keep: impl Fn(&serde_json::Value) -> bool,
    ) -> Result<(), Failure> {
        let Ok(text) = fs::read_to_string(self.file(name)) else {
            return Ok(());
        };
        let kept: String = text
            .lines()
            .filter(|line| serde_json::from_str(line).is_ok_and(|value| keep(&value)))
            .flat_map(|line| [line, "\n"])
            .collect();
        self.write(name, kept.as_bytes()).map(|_| ())
    }

    /// Appends one JSON line to a file.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] names the file and the cause.
    pub fn append_json(&self, name: &str, value: &impl Serialize) -> Result<(), Failure> {
        let mut line = serde_json::to_string(value).map_err(Failure::failed)?;
        line.push('\n');
        let target = self.file(name);
        fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&target)
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .map_err(|e| Failure::failed(format!("{} could not be written: {e}", target.display())))
    }
}

/// Writes a file whole or not at all, as [`RunFolder::write`] does; its folder is created if it does not exist.
///
/// # Errors
///
/// [`Failure::Failed`] names the file and the cause.
pub fn write_file(target: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_file_with(target, |file| file.write_all(bytes))
}

/// Does the same as [`write_file`] for content that is written piece by piece.
///
/// # Errors
///
/// As [`write_file`].
pub fn write_file_with(
    target: &Path,
    write: impl FnOnce(&mut BufWriter<NewFile>) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let attempt = move || -> std::io::Result<()> {
        fs::create_dir_all(folder(target))?;
        let mut buffered = BufWriter::new(NewFile::of(target)?);
        write(&mut buffered)?;
        buffered.into_inner()?.finish()
    };
    attempt().map_err(|e| Failure::Failed {
        message: format!("{} could not be written: {e}", target.display()),
        help: Some("free some space or choose another --out".into()),
    })
}

/// Whether a folder holds nothing but an empty ledger, a lock and a file that was never renamed.
fn holds_nothing(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| {
        entries.all(|entry| {
            entry.is_ok_and(|entry| {
                let name = entry.file_name();
                let empty = entry.metadata().is_ok_and(|m| m.len() == 0);
                name.to_string_lossy().starts_with(UNNAMED)
                    || name == COMMAND
                    || name == ASKED
                    || (empty && (name == ".lock" || name == "ledger.jsonl"))
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_waited_for_and_then_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run");
        let mut held = Some(RunFolder::create(&path).unwrap());
        let mut asked = Vec::new();
        let refused = RunFolder::locked_after(&path, |attempt| {
            asked.push(attempt);
            attempt < 2
        });
        let refusal = refused.unwrap_err().to_string();
        assert!(
            refusal.contains("another process is at this run"),
            "{refusal}"
        );
        assert_eq!(asked, [0, 1, 2]);
        // The other one ends while this one waits.
        let taken = RunFolder::locked_after(&path, |attempt| {
            assert!(attempt <= 1);
            if attempt == 1 {
                held.take();
            }
            true
        });
        assert_eq!(taken.unwrap().path(), path);
    }

    #[test]
    fn a_run_that_another_process_left_meanwhile_is_not_overwritten() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("run");
        let mut first = Some(RunFolder::create(&path).unwrap());
        let second = RunFolder::create_by(&path, |path| {
            RunFolder::locked_after(path, |_| {
                // It writes its files and ends while this one waits.
                let first = first.take().unwrap();
                first.write("config.toml", b"steps = 3").unwrap();
                first.write("run.json", b"{}").unwrap();
                true
            })
        });
        let refusal = second.unwrap_err().to_string();
        assert!(refusal.contains("exists already"), "{refusal}");
        assert_eq!(fs::read(path.join("run.json")).unwrap(), b"{}");
    }
}
