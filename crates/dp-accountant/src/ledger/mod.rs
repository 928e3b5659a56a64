//! The record of all releases, one JSON object per line.
//!
//! Each line is written and flushed to the device **before** the noisy value leaves the mechanism. So the ledger of a run that
//! is killed at any instant shows at least as many releases as were made. One line stands for all steps of a mechanism whose
//! noise is correlated. Lines hold public values only: the event, the sensitivity and the noise.
//!
//! ```
//! use dp_accountant::accounting::{Accountant, Event, PldAccountant, Neighbours};
//! use dp_accountant::ledger::{Ledger, LedgerEntry};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("ledger.jsonl");
//! let mut ledger = Ledger::create(&path)?;
//! // What a mechanism writes before its noise leaves.
//! ledger.append(&LedgerEntry {
//!     event: Event::dp_sgd(60_000, 600, 1, 1.0),
//!     count: 1,
//!     neighbours: Neighbours::ReplaceOne,
//!     sensitivity: Some(2.0),
//!     deviation: Some(2.0),
//!     secret_noise: true,
//!     mechanism: None,
//! })?;
//!
//! // What was spent, from the file alone.
//! let spent = Ledger::read(&path)?.event()?;
//! assert!(PldAccountant::default().epsilon(&spent, 1e-5)? < 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod entry;
mod replay;

pub use entry::LedgerEntry;
use replay::as_read;
pub(crate) use replay::is_as_planned;
pub use replay::replay;

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::DpError;
use crate::accounting::{AccountingError, Event, Result as Accounted};

/// The entries of a ledger, with the lines that were skipped.
///
/// ```
/// use dp_accountant::accounting::{Accountant, PldAccountant};
/// use dp_accountant::ledger::Entries;
///
/// let line = r#"{"event":{"type":"gaussian","noise_multiplier":4.0},"count":1,"neighbours":"replace_one"}"#;
/// let entries = Entries::parse(line)?;
/// let epsilon = PldAccountant::default().epsilon(&entries.event()?, 1e-5)?;
/// assert!((0.9..1.0).contains(&epsilon), "{epsilon}");
/// // What earlier programs wrote of a sensitivity that is no bound is refused.
/// assert!(Entries::parse(&line.replace("1,", r#"1,"failure_probability":1.0,"#)).is_err());
/// # Ok::<(), dp_accountant::accounting::AccountingError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Entries {
    /// The entries, one for each line.
    pub entries: Vec<LedgerEntry>,
    /// Line numbers, from 1, of lines that a kill cut short. A release waits for its line's flush, so theirs were never made.
    pub torn: Vec<usize>,
}

impl Entries {
    /// Parses the text of a ledger, in JSON lines. A line that ends in the middle of its object is torn.
    ///
    /// # Errors
    ///
    /// Returns [`AccountingError::Ledger`] for the first other line that is not an entry.
    pub fn parse(text: &str) -> Accounted<Self> {
        let mut found = Self::default();
        for (line_number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            let refuse = |reason: String| AccountingError::Ledger {
                line: line_number,
                reason,
            };
            match serde_json::from_str(line) {
                Ok(_) if entry::may_fail(line) => {
                    return Err(refuse(
                        "its sensitivity may fail, and nothing is promised of it".into(),
                    ));
                }
                Ok(entry) => found.entries.push(entry),
                Err(error) if error.is_eof() => found.torn.push(line_number),
                Err(error) => return Err(refuse(error.to_string())),
            }
        }
        Ok(found)
    }

    /// Returns the number of releases: the sum of the entries' counts.
    pub fn releases(&self) -> u64 {
        let counts = self.entries.iter().map(|entry| entry.count);
        counts.fold(0, u64::saturating_add)
    }

    /// Returns one event for all entries, for accountants.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`replay`].
    pub fn event(&self) -> Accounted<Event> {
        replay(&self.entries)
    }

    /// Returns whether the noise of all entries was secret.
    pub fn has_secret_noise(&self) -> bool {
        self.entries.iter().all(|entry| entry.secret_noise)
    }
}

/// A ledger file open for appending.
pub struct Ledger {
    file: File,
    path: PathBuf,
    releases: u64,
    length: u64,
    /// The lines that stand for several steps.
    mechanisms: Vec<LedgerEntry>,
}

impl Ledger {
    /// Creates a new ledger and never overwrites an existing file. The file's name is flushed with its folder, so a power loss
    /// after a release cannot lose the whole file.
    ///
    /// # Errors
    ///
    /// Returns [`DpError::Ledger`] if the file exists or cannot be created.
    pub fn create(path: &Path) -> Result<Self, DpError> {
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(path)
            .map_err(|source| ledger_error(path, source))?;
        #[cfg(unix)]
        {
            let folder = path.parent().filter(|folder| *folder != Path::new(""));
            File::open(folder.unwrap_or(Path::new(".")))
                .and_then(|folder| folder.sync_all())
                .map_err(|source| ledger_error(path, source))?;
        }
        Ok(Self {
            file,
            path: path.to_path_buf(),
            releases: 0,
            length: 0,
            mechanisms: Vec::new(),
        })
    }

    /// Opens an existing ledger to append to it. A torn last line, from a kill in the middle of a write, is ended so that new
    /// lines stay readable.
    ///
    /// # Errors
    ///
    /// Returns [`DpError::Ledger`] if the file cannot be read or written, and [`DpError::LedgerFormat`] for the first line that
    /// cannot be read.
    pub fn open(path: &Path) -> Result<Self, DpError> {
        let failed = |source| ledger_error(path, source);
        let text = std::fs::read_to_string(path).map_err(failed)?;
        let found = entries(path, &text)?;
        let releases = found.releases();
        let mut file = OpenOptions::new().append(true).open(path).map_err(failed)?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n").map_err(failed)?;
        }
        Ok(Self {
            file,
            path: path.to_path_buf(),
            releases,
            length: text.len() as u64,
            mechanisms: of_steps(found.entries),
        })
    }

    /// Appends one entry and flushes it to the device.
    ///
    /// # Errors
    ///
    /// Returns [`DpError::Ledger`] if the entry cannot be written; the caller must then release nothing.
    pub fn append(&mut self, entry: &LedgerEntry) -> Result<(), DpError> {
        let mut line = serde_json::to_string(entry)
            .map_err(|e| ledger_error(&self.path, std::io::Error::other(e)))?;
        line.push('\n');
        self.file
            .write_all(line.as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(|source| ledger_error(&self.path, source))?;
        self.releases += entry.count;
        self.length += line.len() as u64;
        self.mechanisms.extend(of_steps([entry.clone()]));
        Ok(())
    }

    /// Returns whether a line that stands for several steps matches `entry` in mechanism, event, neighbour relation and secrecy
    /// of the noise. This does not read the file, but its length must be at least as it was left.
    ///
    /// # Errors
    ///
    /// Returns [`DpError::LedgerUnread`] if the file is missing or shorter.
    pub fn holds(&self, entry: &LedgerEntry) -> Result<bool, DpError> {
        let whole =
            std::fs::metadata(&self.path).and_then(|file| match file.len() >= self.length {
                true => Ok(()),
                false => Err(std::io::Error::other("lines of it are gone")),
            });
        whole.map_err(|source| DpError::LedgerUnread {
            path: self.path.display().to_string(),
            source,
        })?;
        let read = as_read(&entry.event);
        // The last line matches most often.
        Ok(self.mechanisms.iter().rev().any(|line| {
            line.mechanism == entry.mechanism
                && (line.event == entry.event || Some(&line.event) == read.as_ref())
                && line.neighbours == entry.neighbours
                && line.secret_noise == entry.secret_noise
        }))
    }

    /// Returns the number of releases recorded so far, including those found when the ledger was opened.
    pub fn releases(&self) -> u64 {
        self.releases
    }

    /// Returns the path of the ledger's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the entries so far back from the ledger's file.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Ledger::read`].
    pub fn entries(&self) -> Result<Entries, DpError> {
        Self::read(&self.path)
    }

    /// Reads a ledger back.
    ///
    /// # Errors
    ///
    /// Returns [`DpError::LedgerUnread`] if the file cannot be read, and [`DpError::LedgerFormat`] for the first line that is not
    /// an entry.
    pub fn read(path: &Path) -> Result<Entries, DpError> {
        let text = std::fs::read_to_string(path).map_err(|source| DpError::LedgerUnread {
            path: path.display().to_string(),
            source,
        })?;
        entries(path, &text)
    }
}

/// Keeps the entries that stand for several steps.
fn of_steps(entries: impl IntoIterator<Item = LedgerEntry>) -> Vec<LedgerEntry> {
    let mut entries: Vec<_> = entries.into_iter().collect();
    entries.retain(|entry| entry.mechanism.is_some());
    entries
}

fn entries(path: &Path, text: &str) -> Result<Entries, DpError> {
    Entries::parse(text).map_err(|error| match error {
        AccountingError::Ledger { line, reason } => DpError::LedgerFormat {
            path: path.display().to_string(),
            line,
            reason,
        },
        other => DpError::Accounting(other),
    })
}

fn ledger_error(path: &Path, source: std::io::Error) -> DpError {
    DpError::Ledger {
        path: path.display().to_string(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::Neighbours;

    /// A line stands for the steps of its own mechanism, and for nothing that differs from it in anything.
    #[test]
    fn a_line_stands_for_one_mechanism() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let line = LedgerEntry {
            event: Event::Gaussian {
                noise_multiplier: 1.0,
            },
            count: 1,
            neighbours: Neighbours::ReplaceOne,
            sensitivity: None,
            deviation: None,
            secret_noise: true,
            mechanism: Some("a name".into()),
        };
        let mut ledger = Ledger::create(&path).unwrap();
        assert!(!ledger.holds(&line).unwrap());
        ledger.append(&line).unwrap();
        let others: [fn(&mut LedgerEntry); 5] = [
            |line| line.neighbours = Neighbours::ZeroOut,
            |line| line.secret_noise = false,
            |line| line.mechanism = Some("another".into()),
            |line| line.mechanism = None,
            |line| line.event = Event::Failure { delta: 0.5 },
        ];
        for ledger in [ledger, Ledger::open(&path).unwrap()] {
            assert!(ledger.holds(&line).unwrap());
            for change in others {
                let mut other = line.clone();
                change(&mut other);
                assert!(!ledger.holds(&other).unwrap(), "{other:?}");
            }
        }
    }
}
