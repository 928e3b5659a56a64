//! Records that are public in one run and private in another: every experiment notes how it uses its
//! records beside the splits in the cache, and says if another run uses them otherwise.

use std::path::{Path, PathBuf};

use data::split::{Use, note};

use crate::checkpoint::hex;
use crate::diagnostic::Failure;
use crate::private;

/// How a run uses a data set.
#[derive(Clone)]
pub struct Used {
    /// The data set, in words.
    pub what: String,
    pub name: String,
    /// The SHA-256 of all its records, also of those that the run leaves out.
    pub sha256: String,
    /// Which of them are public.
    pub used: Use,
}

impl Used {
    /// A data set in words, by its name among the notes, with the SHA-256 of all its records.
    pub fn new(what: impl Into<String>, name: impl Into<String>, sha256: &str, used: Use) -> Self {
        Self {
            what: what.into(),
            name: name.into(),
            sha256: sha256.into(),
            used,
        }
    }
}

/// Where splits and notes lie in the cache.
pub fn folder(cache: &Path) -> PathBuf {
    cache.join("splits")
}

/// A name for the data of a path, wherever a process stands when it names it.
pub fn name_of(kind: &str, path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.into());
    format!(
        "{kind}-{}",
        &hex(whole.as_os_str().as_encoded_bytes())[..16]
    )
}

/// Notes how a run uses its records, and says, aloud and in the answer, which of them another run uses
/// otherwise. A run that `promises` nothing has no private records to note.
pub(super) fn noted(
    cache: impl Fn() -> Result<PathBuf, Failure>,
    uses: &[Used],
    promises: bool,
) -> Result<Vec<String>, Failure> {
    let mut warnings = Vec::new();
    for here in uses {
        if here.used == Use::AllPrivate && !promises {
            continue;
        }
        let others = note(&folder(&cache()?), &here.name, &here.sha256, here.used)
            .map_err(|e| private::refused(&e, "see --cache-dir"))?;
        for other in others {
            let warning = format!(
                "The records of {} are {} in this run, but {other} in another: publish one of the two \
                 alone, or count the records that are public in either as unprotected.",
                here.what, here.used
            );
            println!("WARNING   {warning}");
            warnings.push(warning);
        }
    }
    Ok(warnings)
}
