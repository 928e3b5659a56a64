//! Latent spaces in a run: trained once on public images, kept in the cache under the checksum of all that decides them, and records
//! in their latents.

use std::path::Path;

use lab::checkpoint::hex;
use lab::diagnostic::{Failure, OrFailed};
use lab::prelude::Progress;
use lab::run_folder::write_file;
use lab::session::{Session, floats_of_bytes, floats_to_bytes};
use model::latent::{ImageShape, LatentSpace};
use private_synth::images::{Space, SpaceForm, SpaceKind, SpaceTraining};
use private_training::{TrainingError, TrainingState};
use serde_json::json;

use super::public::PublicImages;
use crate::random::stream;
use crate::records::FirstRecords;

/// Records that are encoded at once.
const PART: usize = 250;
/// One autoencoder for all seeds of a run.
const SEED: u64 = 0;

/// What public images taught: read from the cache, or trained and written there. A training that is stopped goes on where it was.
pub(super) fn trained(
    form: &SpaceForm,
    public: &PublicImages,
    session: &Session,
) -> Result<Space, Failure> {
    let (records, device) = (&public.records, &session.chosen.device);
    if form.kind == SpaceKind::Cosines {
        return form.of_weights(&[], device).or_failed();
    }
    let mut key = json!({
        "format": 3,
        "public": records.fingerprint()?,
        "latent": form.latent,
        "training": {
            "epochs": public.epochs,
            "batch": SpaceForm::BATCH,
            "learning_rate": SpaceForm::LEARNING_RATE,
        },
        "seed": SEED,
    });
    match form.kind {
        SpaceKind::Dcgan(width) => key["width"] = json!(width),
        SpaceKind::Refined => key["encoder"] = json!("cosines"),
        SpaceKind::Small | SpaceKind::Cosines => {}
    }
    let name = match form.kind {
        SpaceKind::Refined => "a decoder of cosines",
        _ => "an autoencoder",
    };
    let file = format!("{}.bin", &hex(key.to_string().as_bytes())[..24]);
    let path = session.running.cache()?.join("autoencoders").join(file);
    if let Some(bytes) = read(&path)? {
        println!("public    {name}, from {}", path.display());
        let space = form.of_weights(&floats_of_bytes(&bytes), device);
        return space.map_err(|e| damaged(&path, &e));
    }
    let part = path.with_extension("part");
    let cut = || damaged(&part, &"it is cut short");
    let from = read(&part)?.map(|bytes| state(&bytes).ok_or_else(cut));
    let from = from.transpose()?;
    let done = from.as_ref().map_or(0, |state| state.done);
    let after = match done {
        0 => String::new(),
        done => format!(", from step {done}"),
    };
    let (count, epochs) = (records.count, public.epochs);
    println!(
        "public    training {name} on {count} records of {}{after}",
        public.name
    );
    let steps = epochs * count.div_ceil(SpaceForm::BATCH);
    let progress = Progress::from("public steps", done as u64, steps as u64);
    let images = SpaceTraining {
        count,
        epochs,
        shape: records.shape(),
        gather: |places: &[usize]| records.gather(places).map_err(Stopped),
    };
    let rng = &mut stream(SEED, 3);
    let space = form.trained::<Stopped>(images, device, rng, from.as_ref(), |step, state| {
        let (done, steps) = (step.done, step.steps);
        progress.step();
        if done.is_multiple_of(50) || done == steps {
            progress.message(format!("{:.1} nats", step.loss));
        }
        if session.interrupt.asked() && done < steps {
            write(&part, &bytes_of(&state()))?;
            let what = format!("{name} was trained, after step {done} of {steps}");
            session.interrupt.check(&what)?;
        }
        Ok(())
    });
    progress.finish();
    let space = space.map_err(|Stopped(failure)| failure)?;
    write(&path, &floats_to_bytes(&space.weights()))?;
    // Nobody misses it if it cannot be removed: the whole is read first.
    let _ = std::fs::remove_file(&part);
    Ok(space)
}

/// Why a training stopped.
struct Stopped(Failure);

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl From<TrainingError> for Stopped {
    fn from(error: TrainingError) -> Self {
        Self(Failure::failed(error))
    }
}

/// The failure of a file that cannot be used.
fn damaged(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::input(
        format!("the trained network {}: {why}", path.display()),
        "remove this file, and it is trained anew",
    )
}

/// The content of a file that starts with its SHA-256 in hexadecimal; none if there is no file.
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

/// A training that was stopped: steps done, number of weights, weights, optimizer.
fn bytes_of(state: &TrainingState) -> Vec<u8> {
    let mut bytes = (state.done as u64).to_le_bytes().to_vec();
    bytes.extend((state.weights.len() as u64).to_le_bytes());
    bytes.extend(floats_to_bytes(&state.weights));
    bytes.extend(&state.optimizer);
    bytes
}

/// What [`bytes_of`] wrote; none if it ends early.
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

/// Latents of all records, `[n, latent]` in rows; no more than some hundred images are in memory at once.
pub(super) fn encode_records(
    space: &Space,
    records: &FirstRecords,
    session: &Session,
) -> Result<Vec<f32>, Failure> {
    let places: Vec<usize> = (0..records.count).collect();
    let mut latents = Vec::with_capacity(records.count * space.latent());
    for part in places.chunks(PART) {
        session.interrupt.check("records were encoded")?;
        let images = records.gather(part)?;
        latents.extend(space.encode_in(&images, records.shape(), &session.chosen.device));
    }
    Ok(latents)
}

/// As [`Space::decode_in`], a part at a time.
pub(super) fn decode_as(
    space: &Space,
    latents: &[f32],
    shape: ImageShape,
    session: &Session,
) -> Result<Vec<f32>, Failure> {
    let mut images = Vec::new();
    for part in latents.chunks(PART * space.latent()) {
        session.interrupt.check("latents were decoded")?;
        images.extend(space.decode_in(part, shape, &session.chosen.device));
    }
    Ok(images)
}
