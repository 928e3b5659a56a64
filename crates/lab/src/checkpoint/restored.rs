//! A checkpoint that was read back.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dp_core::mechanism::{NoiseSource, NoiseState};
use private_training::RngState;
use rand_chacha::ChaCha20Rng;
use serde::Deserialize;

use super::{Identity, refused};
use crate::backend::Backend;
use crate::diagnostic::Failure;

/// A checkpoint that was read back and checked.
pub struct RestoredCheckpoint {
    pub step: u64,
    /// What it belongs to.
    pub identity: Identity,
    pub path: PathBuf,
    /// What a reader of the resumed run must know: that its noise is new.
    pub warning: Option<String>,
    pub(super) files: BTreeMap<String, Vec<u8>>,
    pub(super) noise: StoredNoise,
}

pub(super) enum StoredNoise {
    /// The run had none.
    None,
    /// Its key was removed when a later checkpoint was written.
    Removed,
    Key(NoiseState),
}

impl RestoredCheckpoint {
    /// The contents of one file; one that the checkpoint lacks is refused.
    pub fn file(&self, name: &str) -> Result<&[u8], Failure> {
        self.files
            .get(name)
            .map(Vec::as_slice)
            .ok_or_else(|| refused(&self.path, &format!("it has no file {name}")))
    }

    /// The random numbers of a state that it holds.
    pub fn rng(&self, state: &RngState) -> Result<ChaCha20Rng, Failure> {
        state.generator().map_err(|e| self.damaged(&e))
    }

    /// One file as JSON.
    pub fn json<T: for<'de> Deserialize<'de>>(&self, name: &str) -> Result<T, Failure> {
        serde_json::from_slice(self.file(name)?)
            .map_err(|e| refused(&self.path, &format!("{name} cannot be read: {e}")))
    }

    /// Refuses a checkpoint of other settings or other records, by name.
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

    /// Puts `noise` back where it was if that may be, and says so if it may not.
    pub(super) fn restore_noise(
        &mut self,
        here: &Identity,
        backend: Backend,
        noise: &mut NoiseSource,
    ) {
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
