//! Networks that were trained on public records, kept in the cache behind a checksum.

use std::path::{Path, PathBuf};

use lab::prelude::*;
use private_training::{TrainingState, TrainingStep};
use serde_json::Value;

/// The failure of a file that cannot be used.
pub(crate) fn damaged(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::input(
        format!("the trained network {}: {why}", path.display()),
        "remove this file, and it is trained anew",
    )
}

/// The content of a file that starts with its SHA-256 in hexadecimal; none where there is no file.
fn read(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(damaged(path, &e)),
    };
    let (sum, body) = bytes
        .split_at_checked(64)
        .ok_or_else(|| damaged(path, &"it is cut short"))?;
    if hex(body).as_bytes() != sum {
        return Err(damaged(path, &"its checksum does not fit its weights"));
    }
    Ok(Some(body.to_vec()))
}

/// Writes a body behind its SHA-256 in hexadecimal, whole or not at all.
fn write(path: &Path, body: &[u8]) -> Result<(), Failure> {
    write_file(path, &[hex(body).as_bytes(), body].concat())
}

/// Where a network that is trained on public records is kept: whole, or as far as its training came.
pub(crate) struct CachePath {
    path: PathBuf,
    name: &'static str,
}

impl CachePath {
    /// In `cache`, by all that decides the network; `name` is what it is called, with its article.
    pub(crate) fn of(cache: &Path, key: &Value, name: &'static str) -> Self {
        let file = format!("{}.bin", &hex(key.to_string().as_bytes())[..24]);
        Self {
            path: cache.join("autoencoders").join(file),
            name,
        }
    }

    /// The file of the whole.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The weights, where the training is done.
    pub(crate) fn whole(&self) -> Result<Option<Vec<f32>>, Failure> {
        let Some(bytes) = read(&self.path)? else {
            return Ok(None);
        };
        println!("public    {}, from {}", self.name, self.path.display());
        Ok(Some(floats_of_bytes(&bytes)))
    }

    /// Where a training was stopped, which is said with `what` it is a training on.
    pub(crate) fn reached(&self, what: &str) -> Result<Option<TrainingState>, Failure> {
        let part = self.part();
        let from = read(&part)?
            .map(|bytes| state(&bytes).ok_or_else(|| damaged(&part, &"it is cut short")))
            .transpose()?;
        let done = from.as_ref().map_or(0, |state| state.done);
        let after = match done {
            0 => String::new(),
            done => format!(", from step {done}"),
        };
        println!("public    training {} on {what}{after}", self.name);
        Ok(from)
    }

    /// Shows a step, and keeps the state after it where the training is to stop there.
    pub(crate) fn after(
        &self,
        step: TrainingStep,
        state: &dyn Fn() -> TrainingState,
        progress: &Progress,
        session: &Session,
    ) -> Result<(), Failure> {
        progress.step();
        if step.done.is_multiple_of(50) || step.done == step.steps {
            progress.message(format!("{:.1} nats", step.loss));
        }
        if session.interrupt.asked() && step.done < step.steps {
            write(&self.part(), &bytes_of(&state()))?;
            let (done, steps) = (step.done, step.steps);
            session.interrupt.check(&format!(
                "{} was trained, after step {done} of {steps}",
                self.name
            ))?;
        }
        Ok(())
    }

    /// Keeps the weights of a training that is done.
    pub(crate) fn keep(&self, weights: &[f32]) -> Result<(), Failure> {
        write(&self.path, &floats_to_bytes(weights))?;
        // Nobody misses it where it cannot be removed: the whole is read first.
        let _ = std::fs::remove_file(self.part());
        Ok(())
    }

    fn part(&self) -> PathBuf {
        self.path.with_extension("part")
    }
}

/// A training that was stopped: steps done, number of weights, weights, optimizer.
fn bytes_of(state: &TrainingState) -> Vec<u8> {
    let mut bytes = (state.done as u64).to_le_bytes().to_vec();
    bytes.extend((state.weights.len() as u64).to_le_bytes());
    bytes.extend(floats_to_bytes(&state.weights));
    bytes.extend(&state.optimizer);
    bytes
}

/// What [`bytes_of`] wrote; none where it ends early.
fn state(bytes: &[u8]) -> Option<TrainingState> {
    let (done, rest) = bytes.split_first_chunk::<8>()?;
    let (count, rest) = rest.split_first_chunk::<8>()?;
    let length = u64::from_le_bytes(*count).checked_mul(4)?;
    let (weights, optimizer) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    Some(TrainingState {
        done: usize::try_from(u64::from_le_bytes(*done)).ok()?,
        weights: floats_of_bytes(weights),
        optimizer: optimizer.to_vec(),
    })
}
