//! Latent spaces in a run: trained once, kept in the cache under the checksum of all that decides them, and records in their latents.

use std::path::Path;

use lab::prelude::*;
use model::latent::{ImageShape, LatentSpace};
use private_synth::images::{Space, SpaceForm, SpaceKind, SpaceTraining};
use private_training::TrainingError;
use serde_json::json;

use crate::random::stream;
use crate::records::Records;
use crate::trained::{CachePath, damaged};

/// Records that are encoded at once.
const PART: usize = 250;
/// One autoencoder for all seeds of a run.
const SEED: u64 = 0;

/// Public images that a latent space learns from.
pub(crate) struct TrainingImages<'a> {
    /// The images.
    pub records: &'a Records,
    /// What they are, in words.
    pub name: &'a str,
    /// Passes over them; what has no end is fresh at each, and so one pass is all of it.
    pub epochs: usize,
}

/// What public images taught: read from `cache`, or trained and written there.
pub(crate) fn trained(
    form: &SpaceForm,
    training_images: &TrainingImages<'_>,
    cache: &Path,
    session: &Session,
) -> Result<Space, Failure> {
    let (records, device) = (training_images.records, &session.chosen.device);
    if form.kind == SpaceKind::Cosines {
        return form.of_weights(&[], device).or_failed();
    }
    let epochs = match records.endless() {
        true => 1,
        false => training_images.epochs,
    };
    let mut key = json!({
        "format": 3,
        "public": records.fingerprint()?,
        "latent": form.latent,
        "training": {
            "epochs": epochs,
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
    let place = CachePath::of(cache, &key, name);
    if let Some(weights) = place.whole()? {
        let space = form.of_weights(&weights, device);
        return space.map_err(|e| damaged(place.path(), &e));
    }
    let count = records.len();
    let from = place.reached(&format!("{count} records of {}", training_images.name))?;
    let steps = epochs * count.div_ceil(SpaceForm::BATCH);
    let done = from.as_ref().map_or(0, |state| state.done);
    let progress = Progress::from(done as u64, steps as u64);
    let images = SpaceTraining {
        count,
        epochs,
        shape: records.shape(),
        gather: |places: &[usize]| Ok(records.gather(places)?),
    };
    let rng = &mut stream(SEED, 3);
    let space = form.trained::<Stopped>(images, device, rng, from.as_ref(), |step, state| {
        Ok(place.after(step, state, &progress, session)?)
    });
    progress.finish();
    let space = space.map_err(|Stopped(failure)| failure)?;
    place.keep(&space.weights())?;
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

/// Latents of all records, `[n, latent]` in rows; no more than some hundred images are in memory at once.
pub(crate) fn encode_records(
    space: &Space,
    records: &Records,
    session: &Session,
) -> Result<Vec<f32>, Failure> {
    let places: Vec<usize> = (0..records.len()).collect();
    let mut latents = Vec::with_capacity(records.len() * space.latent());
    for part in places.chunks(PART) {
        session.interrupt.check("records were encoded")?;
        let images = records.gather(part)?;
        latents.extend(space.encode_in(&images, records.shape(), &session.chosen.device));
    }
    Ok(latents)
}

/// As [`Space::decode_in`], a part at a time.
pub(crate) fn decode_as(
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
