//! `RUN/checkpoints/`: from where a killed run resumes.
//!
//! A checkpoint is a folder of named files with a manifest that holds their checksums. It is written
//! under a temporary name, flushed, and renamed, so a checkpoint is there whole or not at all. The last
//! one holds the key of the noise of every release after it, in a file of its own; that key goes as soon
//! as the next one is written, before anything more is released. So what lies here opens the noise made
//! since the last checkpoint, and no other. It is readable by its owner alone, and deleted when the run
//! is done.

mod generator;
mod identity;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use dp_core::mechanism::{NoiseSource, NoiseState};
use serde::{Deserialize, Serialize};

pub use generator::GeneratorState;
pub use identity::Identity;
pub use reporting::checksum::hex;

use crate::backend::Backend;
use crate::diagnostic::Failure;

/// The form of the manifest; another number is refused.
const FORMAT: u32 = 3;
/// How many checkpoints are kept: the last one, and one before it in case that one is damaged.
const KEPT: usize = 2;
const MANIFEST: &str = "manifest.json";
/// Secret: the noise of all releases after the checkpoint. The last one alone has it.
const NOISE: &str = "noise.json";
/// A checkpoint that is being written.
const HALF: &str = ".part-";

#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    step: u64,
    #[serde(default)]
    releases: u64,
    identity: Identity,
    files: BTreeMap<String, String>,
    /// Of [`NOISE`], where there was any.
    #[serde(default)]
    noise: Option<String>,
}

/// A checkpoint that was read back and checked.
#[derive(Debug)]
pub struct Checkpoint {
    /// Steps done.
    pub step: u64,
    /// What it belongs to.
    pub identity: Identity,
    /// Where it was read from.
    pub path: PathBuf,
    /// What a reader of the resumed run must know: that its noise is new.
    pub warning: Option<String>,
    files: BTreeMap<String, Vec<u8>>,
    noise: StoredNoise,
}

/// The noise of a checkpoint.
#[derive(Debug)]
enum StoredNoise {
    /// The run had none.
    None,
    /// Its key was removed when a later checkpoint was written.
    Removed,
    Key(NoiseState),
}

impl Checkpoint {
    /// The contents of one file.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names a file that the checkpoint lacks.
    pub fn file(&self, name: &str) -> Result<&[u8], Failure> {
        self.files
            .get(name)
            .map(Vec::as_slice)
            .ok_or_else(|| refused(&self.path, &format!("it has no file {name}")))
    }

    /// One file as JSON.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names a file that is missing or cannot be read.
    pub fn json<T: for<'de> Deserialize<'de>>(&self, name: &str) -> Result<T, Failure> {
        serde_json::from_slice(self.file(name)?)
            .map_err(|e| refused(&self.path, &format!("{name} cannot be read: {e}")))
    }

    /// Refuses a checkpoint of other settings or other records, by name.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] says what differs.
    pub fn check(&self, here: &Identity) -> Result<(), Failure> {
        let there = &self.identity;
        let config = "put back the config.toml that the run was started with";
        for (what, ours, its, remedy) in [
            ("experiment", &here.experiment, &there.experiment, config),
            ("settings", &here.settings, &there.settings, config),
            (
                "private records",
                &here.records,
                &there.records,
                "give the records that the run was started with",
            ),
            (
                "weights of the autoencoder",
                &here.encoder,
                &there.encoder,
                "put back the autoencoder that the run was started with in --cache-dir",
            ),
        ] {
            if ours != its {
                // Without the checksums: those of private records are no one's business.
                return Err(Failure::input(
                    format!(
                        "the checkpoint {} is refused: it belongs to a run with other {what}",
                        self.path.display()
                    ),
                    format!(
                        "{remedy}, or start the run anew in another folder; remove nothing: this \
                         checkpoint is whole, and the one before it is of the same run"
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Refuses a checkpoint whose files do not hold what they must.
    pub fn damaged(&self, why: &dyn std::fmt::Display) -> Failure {
        refused(&self.path, &why.to_string())
    }

    /// Puts `noise` back where it was, if that may be, and says where it may not.
    fn restore_noise(&mut self, here: &Identity, backend: Backend, noise: &mut NoiseSource) {
        let why = match &self.noise {
            StoredNoise::None => return,
            StoredNoise::Key(stored)
                if here.restore_noise(&self.identity, backend, noise, stored) =>
            {
                return;
            }
            StoredNoise::Key(_) => "another program or device, or other latents",
            StoredNoise::Removed => "its key went when a later checkpoint was written",
        };
        let (step, news) = (
            self.step,
            "new noise, so not the same result to the last bit",
        );
        println!("resume    {why}: {news}");
        self.warning = Some(format!("Resumed from step {step}, {why}: {news}."));
    }
}

/// The checkpoints of one run.
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
    /// of the noise from the one before it. Where this fails nothing more may be released.
    ///
    /// - `releases`: how many the ledger holds.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] names the folder and the cause; the checkpoints before it are kept.
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
            File::open(half.path())?.sync_all()?;
            if target.exists() {
                fs::remove_dir_all(&target)?;
            }
            fs::rename(half.keep(), &target)?;
            File::open(&self.folder)?.sync_all()?;
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
                File::open(&path)?.sync_all()?;
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
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] for a checkpoint that is damaged or of another run; [`Failure::Failed`]
    /// where a key that a kill left in an older one cannot be removed.
    pub fn resume(
        &self,
        here: &Identity,
        backend: Backend,
        noise: Option<&mut NoiseSource>,
    ) -> Result<Option<Checkpoint>, Failure> {
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
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names a damaged checkpoint.
    fn last(&self) -> Result<Option<Checkpoint>, Failure> {
        let Some(&step) = self.steps().last() else {
            return Ok(None);
        };
        let path = self.at(step);
        let manifest = manifest(&path)?;
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
        Ok(Some(Checkpoint {
            step,
            identity: manifest.identity,
            path,
            warning: None,
            files,
            noise,
        }))
    }

    /// Removes all checkpoints: the run is done.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] names the folder and the cause.
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

fn manifest(path: &Path) -> Result<Manifest, Failure> {
    serde_json::from_slice(&read(path, MANIFEST)?)
        .map_err(|e| refused(path, &format!("{MANIFEST} cannot be read: {e}")))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity {
            experiment: "test".into(),
            settings: "s".into(),
            records: "r".into(),
            encoder: String::new(),
            program: "p".into(),
        }
    }

    fn files(text: &str) -> BTreeMap<String, Vec<u8>> {
        [("a.bin".to_string(), text.as_bytes().to_vec())].into()
    }

    #[test]
    fn the_last_two_are_kept_and_come_back() {
        let run = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::of(run.path());
        assert!(checkpoints.last().unwrap().is_none());
        for step in [9, 10, 200] {
            let text = step.to_string();
            checkpoints
                .write(step, step + 1, &identity(), None, &files(&text))
                .unwrap();
        }
        assert_eq!(checkpoints.steps(), [10, 200]);
        assert_eq!(
            reporting::released::recorded(run.path()),
            [10, 200].map(|step| (format!("checkpoints/step-{step:09}"), step + 1))
        );
        let last = checkpoints.last().unwrap().unwrap();
        assert_eq!((last.step, last.file("a.bin").unwrap()), (200, &b"200"[..]));
        assert!(last.file("b.bin").is_err());
        checkpoints.remove().unwrap();
        checkpoints.remove().unwrap();
    }

    /// What a refusal says, whose help has `remedy` and nothing that would destroy a whole checkpoint.
    fn helps(refusal: &Failure, remedy: &str) -> String {
        let Failure::BadInput { message, help } = refusal else {
            panic!("{refusal}");
        };
        let help = help.as_deref().unwrap_or_default();
        assert!(
            help.contains(remedy) && help.contains("remove nothing"),
            "{help}"
        );
        assert!(!help.contains("remove this folder"), "{help}");
        message.clone()
    }

    #[test]
    fn damage_and_foreign_checkpoints_are_named() {
        let run = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::of(run.path());
        checkpoints
            .write(1, 1, &identity(), None, &files("one"))
            .unwrap();
        let last = checkpoints.last().unwrap().unwrap();
        let mut other = identity();
        other.program = "q".into();
        assert!(last.check(&other).is_ok());
        other.records = "x".into();
        let refusal = helps(&last.check(&other).unwrap_err(), "give the records");
        assert!(refusal.contains("other private records"), "{refusal}");
        assert!(
            refusal.ends_with("records"),
            "no checksum of theirs: {refusal}"
        );
        other = identity();
        other.encoder = "e".into();
        let refusal = helps(&last.check(&other).unwrap_err(), "--cache-dir");
        assert!(
            refusal.contains("other weights of the autoencoder"),
            "{refusal}"
        );
        other = identity();
        other.settings = "t".into();
        let refusal = helps(&last.check(&other).unwrap_err(), "config.toml");
        assert!(refusal.contains("other settings"), "{refusal}");
        fs::write(last.path.join("a.bin"), "two").unwrap();
        let refusal = checkpoints.last().unwrap_err().to_string();
        assert!(
            refusal.contains("a.bin does not have the SHA-256"),
            "{refusal}"
        );
        fs::write(last.path.join(MANIFEST), "{").unwrap();
        let refusal = checkpoints.last().unwrap_err().to_string();
        assert!(refusal.contains(MANIFEST), "{refusal}");
    }

    /// Text of what lies in a folder, at any depth.
    fn everything(folder: &Path) -> String {
        let entries = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
        entries
            .map(|path| match path.is_dir() {
                true => everything(&path),
                false => String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned(),
            })
            .collect()
    }

    #[test]
    fn the_key_of_noise_that_has_left_goes_with_the_next_checkpoint() {
        let run = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::of(run.path());
        let mut noise = NoiseSource::secret().unwrap();
        let mut keys = Vec::new();
        for step in 1..=3 {
            let state = noise.state();
            keys.push(serde_json::to_string(&state).unwrap());
            let half = run.path().join("checkpoints/.part-killed");
            if step == 3 {
                fs::create_dir(&half).unwrap();
                fs::write(half.join(NOISE), &keys[1]).unwrap();
            }
            checkpoints
                .write(step, step, &identity(), Some(&state), &files("one"))
                .unwrap();
            noise.advance();
        }
        let found = everything(run.path());
        assert!(found.contains(&keys[2]));
        assert!(!found.contains(&keys[0]) && !found.contains(&keys[1]));

        // As by a kill between the new checkpoint and the removal of the old one's key.
        let old = checkpoints.at(2).join(NOISE);
        fs::write(&old, &keys[1]).unwrap();
        let mut again = NoiseSource::secret().unwrap();
        let resume = |noise: &mut NoiseSource| {
            let resumed = checkpoints.resume(&identity(), Backend::Flex, Some(noise));
            resumed.unwrap().unwrap().step
        };
        assert_eq!(resume(&mut again), 3);
        assert_eq!(serde_json::to_string(&again.state()).unwrap(), keys[2]);
        assert!(!old.exists());

        // The one before it is whole, and resumes with noise of its own.
        fs::remove_dir_all(checkpoints.at(3)).unwrap();
        let mut fresh = NoiseSource::secret().unwrap();
        let own = fresh.state();
        assert_eq!(resume(&mut fresh), 2);
        assert!(fresh.state() == own);
    }

    #[test]
    fn a_known_key_stays_so_that_a_run_can_be_repeated() {
        let run = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::of(run.path());
        let known = NoiseSource::insecure(4).state();
        for step in 1..=2 {
            checkpoints
                .write(step, step, &identity(), Some(&known), &files("one"))
                .unwrap();
        }
        fs::remove_dir_all(checkpoints.at(2)).unwrap();
        let mut noise = NoiseSource::insecure(5);
        checkpoints
            .resume(&identity(), Backend::Flex, Some(&mut noise))
            .unwrap();
        assert!(noise.state() == known);
    }

    #[test]
    fn a_half_written_checkpoint_is_none() {
        let run = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::of(run.path());
        fs::create_dir_all(run.path().join("checkpoints/.part-x")).unwrap();
        assert!(checkpoints.last().unwrap().is_none());
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_reads_a_checkpoint() {
        use std::os::unix::fs::PermissionsExt;
        let run = tempfile::tempdir().unwrap();
        Checkpoints::of(run.path())
            .write(1, 1, &identity(), None, &files("one"))
            .unwrap();
        let mode = fs::metadata(run.path().join("checkpoints"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o077, 0);
    }
}
