//! `RUN/checkpoints/`: from where a killed run resumes.
//!
//! A checkpoint is a folder of named files with a manifest that holds their checksums. It is written
//! under a temporary name, flushed, and renamed, so a checkpoint is there whole or not at all. The last
//! one holds the key of the noise of every release after it, in a file of its own; that key goes as soon
//! as the next one is written, before anything more is released. So what lies here opens the noise made
//! since the last checkpoint, and no other. It is readable by its owner alone, and deleted when the run
//! is done.

mod identity;
mod restored;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use dp_core::mechanism::{NoiseSource, NoiseState};
use files::atomic::{rename, sync_folder};
use serde::{Deserialize, Serialize};

pub use identity::Identity;
pub use reporting::checksum::hex;
pub use restored::RestoredCheckpoint;

use crate::backend::Backend;
use crate::diagnostic::Failure;
use restored::StoredNoise;

/// The form of the manifest; another number is refused.
const FORMAT: u32 = 4;
/// How many checkpoints are kept: the last one, and one before it in case that one is damaged.
const KEPT: usize = 2;
const MANIFEST: &str = "manifest.json";
/// Secret: the noise of all releases after the checkpoint. The last one alone has it.
const NOISE: &str = "noise.json";
/// A checkpoint that is being written.
const HALF: &str = ".part-";

#[derive(Serialize, Deserialize)]
struct Manifest {
    format: u32,
    step: u64,
    #[serde(default)]
    releases: u64,
    identity: Identity,
    files: BTreeMap<String, String>,
    /// Of [`NOISE`], if there was any.
    #[serde(default)]
    noise: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Checkpoints {
    folder: PathBuf,
}

impl Checkpoints {
    /// The checkpoints of the run in `run`.
    pub fn of(run: &Path) -> Self {
        Self {
            folder: run.join("checkpoints"),
        }
    }

    /// Writes the checkpoint of `step` whole or not at all, removes all but the last two, and the key
    /// of the noise from the one before it. If this fails, nothing more may be released.
    ///
    /// - `releases`: how many the ledger holds.
    pub fn write(
        &self,
        step: u64,
        releases: u64,
        identity: &Identity,
        noise: Option<&NoiseState>,
        files: &BTreeMap<String, Vec<u8>>,
    ) -> Result<(), Failure> {
        let target = self.at(step);
        let attempt = || -> std::io::Result<()> {
            private_folder(&self.folder)?;
            let half = tempfile::Builder::new()
                .prefix(HALF)
                .tempdir_in(&self.folder)?;
            let noise = noise.map(serde_json::to_vec).transpose()?;
            let manifest = Manifest {
                format: FORMAT,
                step,
                releases,
                identity: identity.clone(),
                files: files.iter().map(|(n, b)| (n.clone(), hex(b))).collect(),
                noise: noise.as_deref().map(hex),
            };
            let manifest = serde_json::to_vec_pretty(&manifest).map_err(std::io::Error::other)?;
            for (name, bytes) in files {
                flushed(&half.path().join(name), bytes)?;
            }
            if let Some(noise) = noise {
                flushed(&half.path().join(NOISE), &noise)?;
            }
            flushed(&half.path().join(MANIFEST), &manifest)?;
            sync_folder(half.path())?;
            if target.exists() {
                fs::remove_dir_all(&target)?;
            }
            rename(&half.keep(), &target)?;
            self.forget()
        };
        attempt().map_err(|e| Failure::Failed {
            message: format!(
                "the checkpoint {} could not be written: {e}",
                target.display()
            ),
            help: Some(
                "free some space, then resume from the last checkpoint with --resume".into(),
            ),
        })
    }

    /// Removes all but the last [`KEPT`] checkpoints, and every key of noise but that of the last: what
    /// a kill left half written may hold one too.
    fn forget(&self) -> std::io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(HALF) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        let steps = self.steps();
        for (place, &step) in steps.iter().enumerate() {
            let (path, later) = (self.at(step), steps.len() - 1 - place);
            let key = path.join(NOISE);
            // What is known anyway stays, so that the run can be repeated.
            let stored: Option<NoiseState> = fs::read(&key)
                .ok()
                .and_then(|bytes| serde_json::from_slice(&bytes).ok());
            let known = stored.is_some_and(|stored| !stored.is_secret());
            if later > 0 && !known && key.exists() {
                fs::remove_file(&key)?;
                sync_folder(&path)?;
            }
            if later >= KEPT {
                // What is left of it does no harm.
                let _ = fs::remove_dir_all(&path);
            }
        }
        Ok(())
    }

    /// The last checkpoint, if there is one, with `noise` put back where it was: it must be one of this
    /// run, and says from where the run resumes, and whether with new noise.
    pub fn resume(
        &self,
        here: &Identity,
        backend: Backend,
        noise: Option<&mut NoiseSource>,
    ) -> Result<Option<RestoredCheckpoint>, Failure> {
        let Some(mut checkpoint) = self.last()? else {
            return Ok(None);
        };
        checkpoint.check(here)?;
        self.forget()
            .map_err(|e| Failure::failed(format!("{}: {e}", self.folder.display())))?;
        if let Some(noise) = noise {
            checkpoint.restore_noise(here, backend, noise);
        }
        println!("resume    from step {}", checkpoint.step);
        Ok(Some(checkpoint))
    }

    /// The last checkpoint, checked against its checksums; none in a run that has not come so far.
    fn last(&self) -> Result<Option<RestoredCheckpoint>, Failure> {
        let Some(&step) = self.steps().last() else {
            return Ok(None);
        };
        let path = self.at(step);
        let manifest = serde_json::from_slice(&read(&path, MANIFEST)?);
        let manifest: Manifest =
            manifest.map_err(|e| refused(&path, &format!("{MANIFEST} cannot be read: {e}")))?;
        if manifest.format != FORMAT {
            return Err(Failure::input(
                format!(
                    "the checkpoint {} is refused: its format is {}, this program reads format {FORMAT}",
                    path.display(),
                    manifest.format
                ),
                "finish the run with the program that started it, or start it anew in another folder",
            ));
        }
        if manifest.step != step {
            let found = manifest.step;
            return Err(refused(&path, &format!("its manifest says step {found}")));
        }
        let checked = |name: &str, expected: &str| {
            let bytes = read(&path, name)?;
            if hex(&bytes) == expected {
                return Ok(bytes);
            }
            Err(refused(
                &path,
                &format!("{name} does not have the SHA-256 that its manifest says"),
            ))
        };
        let mut files = BTreeMap::new();
        for (name, expected) in manifest.files {
            let bytes = checked(&name, &expected)?;
            files.insert(name, bytes);
        }
        let noise = match manifest.noise {
            None => StoredNoise::None,
            Some(_) if !path.join(NOISE).exists() => StoredNoise::Removed,
            Some(expected) => StoredNoise::Key(
                serde_json::from_slice(&checked(NOISE, &expected)?)
                    .map_err(|e| refused(&path, &format!("{NOISE} cannot be read: {e}")))?,
            ),
        };
        Ok(Some(RestoredCheckpoint {
            step,
            identity: manifest.identity,
            path,
            warning: None,
            files,
            noise,
        }))
    }

    /// Removes all checkpoints: the run is done.
    pub fn remove(&self) -> Result<(), Failure> {
        match fs::remove_dir_all(&self.folder) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Failure::failed(format!(
                "{} could not be removed: {e}",
                self.folder.display()
            ))),
            _ => Ok(()),
        }
    }

    fn at(&self, step: u64) -> PathBuf {
        self.folder.join(format!("step-{step:09}"))
    }

    /// The steps of the checkpoints that are there, in order.
    fn steps(&self) -> Vec<u64> {
        let mut steps: Vec<u64> = fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|e| e.file_name().to_str()?.strip_prefix("step-")?.parse().ok())
            .collect();
        steps.sort_unstable();
        steps
    }
}

fn read(path: &Path, name: &str) -> Result<Vec<u8>, Failure> {
    fs::read(path.join(name)).map_err(|e| refused(path, &format!("{name} cannot be read: {e}")))
}

fn refused(path: &Path, why: &str) -> Failure {
    Failure::input(
        format!("the checkpoint {} is refused: {why}", path.display()),
        "remove this folder to resume from the checkpoint before it, or start the run anew",
    )
}

fn flushed(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn private_folder(path: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
