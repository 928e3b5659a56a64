//! Latent spaces of images: a public autoencoder, trained once and stored under the checksum of all that decides it, or
//! cosines.

use std::path::Path;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use lab::diagnostic::{Failure, OrFailed};
use lab::progress::Progress;
use lab::session::Session;
use model::latent::{DcganAutoencoder, ImageShape, LatentSpace, LatentTraining, SmallAutoencoder};
use private_training::TrainingError;
use private_training::weights::{from_host, to_host};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde_json::json;

use private_synth::images::{CosineSpace, RefinedCosines};

use crate::random::stream;
use crate::trained::{CachePath, damaged};

use crate::records::Records;

const BATCH: usize = 25;
/// Records that are encoded at once.
const PART: usize = 250;
const LEARNING_RATE: f64 = 2e-3;
/// One autoencoder for all seeds of a run.
const SEED: u64 = 0;

/// How images become latents, and latents images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpaceKind {
    /// Cosines, which learn from nothing.
    Cosines,
    /// Cosines, and public images teach how images of them look.
    Refined,
    /// An autoencoder of small layers.
    Small,
    /// One of photographs of 64x64, whose narrowest layer has so many channels.
    Dcgan(usize),
}

/// A latent space before its training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpaceForm {
    /// How it works.
    pub kind: SpaceKind,
    /// Its dimension.
    pub latent: usize,
    /// The images that it takes and gives: those of records, or larger ones.
    pub shape: ImageShape,
}

/// Public images that a latent space learns from.
pub(crate) struct TrainingImages<'a> {
    /// The images.
    pub records: &'a Records,
    /// What they are, in words.
    pub name: &'a str,
    /// Passes over them; what has no end is fresh at each, and so one pass is all of it.
    pub epochs: usize,
}

/// A latent space.
pub(crate) enum Space {
    /// Images by cosines that learned from nothing.
    Cosines(CosineSpace),
    /// Images by cosines that public ones refine.
    Refined(Box<RefinedCosines>),
    /// Images by an autoencoder of small layers.
    Small(Box<SmallAutoencoder>),
    /// Photographs of 64x64.
    Dcgan(Box<DcganAutoencoder>),
}

impl Space {
    fn form(&self) -> &dyn LatentSpace {
        match self {
            Self::Cosines(space) => space,
            Self::Refined(space) => &**space,
            Self::Small(space) => &**space,
            Self::Dcgan(space) => &**space,
        }
    }
}

impl LatentSpace for Space {
    fn shape(&self) -> ImageShape {
        self.form().shape()
    }

    fn latent(&self) -> usize {
        self.form().latent()
    }

    fn features(&self, images: Tensor<4>) -> Tensor<2> {
        self.form().features(images)
    }

    fn logits(&self, latents: Tensor<2>) -> Tensor<4> {
        self.form().logits(latents)
    }

    fn decode(&self, latents: Tensor<2>) -> Tensor<4> {
        self.form().decode(latents)
    }
}

impl Space {
    /// Latents of all records, `[n, latent]` in rows; no more than some hundred images are in memory
    /// at once.
    pub(crate) fn encode_records(
        &self,
        records: &Records,
        session: &Session,
    ) -> Result<Vec<f32>, Failure> {
        let places: Vec<usize> = (0..records.len()).collect();
        let mut latents = Vec::with_capacity(records.len() * self.latent());
        for part in places.chunks(PART) {
            session.interrupt.check("records were encoded")?;
            let (images, device) = (records.gather(part)?, &session.chosen.device);
            latents.extend(self.encode_in(&images, records.shape(), device));
        }
        Ok(latents)
    }

    /// Latents of images of `shape`.
    pub(crate) fn encode_in(&self, images: &[f32], shape: ImageShape, device: &Device) -> Vec<f32> {
        self.encode_host(&padded(images, shape, self.shape()), device)
    }

    /// Its weights, one after the other; cosines have none.
    pub(crate) fn weights(&self) -> Vec<f32> {
        match self {
            Self::Cosines(_) => Vec::new(),
            Self::Refined(space) => to_host(space.as_ref()),
            Self::Small(space) => to_host(space.as_ref()),
            Self::Dcgan(space) => to_host(space.as_ref()),
        }
    }

    /// Images of some latents, `[n, latent]` in rows, in the size of the records that they stand for.
    pub(crate) fn decode_in(
        &self,
        latents: &[f32],
        shape: ImageShape,
        device: &Device,
    ) -> Vec<f32> {
        cropped(&self.decode_host(latents, device), self.shape(), shape)
    }

    /// As [`Space::decode_in`], a part at a time.
    pub(crate) fn decode_as(
        &self,
        latents: &[f32],
        shape: ImageShape,
        session: &Session,
    ) -> Result<Vec<f32>, Failure> {
        let mut images = Vec::new();
        for part in latents.chunks(PART * self.latent()) {
            session.interrupt.check("latents were decoded")?;
            images.extend(self.decode_in(part, shape, &session.chosen.device));
        }
        Ok(images)
    }
}

impl SpaceForm {
    /// With weights as [`Space::weights`] gives them.
    pub(crate) fn of_weights(
        &self,
        weights: &[f32],
        device: &Device,
    ) -> Result<Space, TrainingError> {
        let mut rng = ChaCha20Rng::seed_from_u64(SEED);
        Ok(match self.fresh(&mut rng, device)? {
            cosines @ Space::Cosines(_) => cosines,
            Space::Refined(space) => Space::Refined(Box::new(from_host(*space, weights)?)),
            Space::Small(space) => Space::Small(Box::new(from_host(*space, weights)?)),
            Space::Dcgan(space) => Space::Dcgan(Box::new(from_host(*space, weights)?)),
        })
    }

    /// What public images taught: read from `cache`, or trained and written there.
    pub(crate) fn trained(
        &self,
        training_images: &TrainingImages<'_>,
        cache: &Path,
        session: &Session,
    ) -> Result<Space, Failure> {
        let mut rng = stream(SEED, 3);
        let autodiff = session.chosen.device.clone().autodiff();
        let fresh = self.fresh(&mut rng, &autodiff).or_failed()?;
        if let Space::Cosines(_) = fresh {
            return Ok(fresh);
        }
        let training = LatentTraining {
            epochs: match training_images.records.endless() {
                true => 1,
                false => training_images.epochs,
            },
            batch: BATCH,
            learning_rate: LEARNING_RATE,
        };
        let mut key = json!({
            "format": 3,
            "public": training_images.records.fingerprint()?,
            "latent": self.latent,
            "training": training,
            "seed": SEED,
        });
        match self.kind {
            SpaceKind::Dcgan(width) => key["width"] = json!(width),
            SpaceKind::Refined => key["encoder"] = json!("cosines"),
            SpaceKind::Small | SpaceKind::Cosines => {}
        }
        let name = match self.kind {
            SpaceKind::Refined => "a decoder of cosines",
            _ => "an autoencoder",
        };
        let place = CachePath::of(cache, &key, name);
        let how = (training, place, training_images, session);
        Ok(match fresh {
            cosines @ Space::Cosines(_) => cosines,
            Space::Refined(fresh) => Space::Refined(Box::new(learn(*fresh, how, rng)?)),
            Space::Dcgan(fresh) => Space::Dcgan(Box::new(learn(*fresh, how, rng)?)),
            Space::Small(fresh) => Space::Small(Box::new(learn(*fresh, how, rng)?)),
        })
    }

    fn fresh(&self, rng: &mut ChaCha20Rng, device: &Device) -> Result<Space, TrainingError> {
        let Self {
            kind,
            latent,
            shape,
        } = *self;
        Ok(match kind {
            SpaceKind::Cosines => Space::Cosines(CosineSpace::new(shape, latent)?),
            SpaceKind::Refined => {
                Space::Refined(Box::new(RefinedCosines::new(shape, latent, rng, device)?))
            }
            SpaceKind::Small => {
                Space::Small(Box::new(SmallAutoencoder::new(shape, latent, rng, device)))
            }
            SpaceKind::Dcgan(width) => Space::Dcgan(Box::new(DcganAutoencoder::new(
                3, latent, width, rng, device,
            ))),
        })
    }
}

fn learn<M: LatentSpace + Module>(
    fresh: M,
    (training, place, training_images, session): (
        LatentTraining,
        CachePath,
        &TrainingImages<'_>,
        &Session,
    ),
    mut rng: ChaCha20Rng,
) -> Result<M, Failure> {
    if let Some(weights) = place.whole()? {
        return from_host(fresh.valid(), &weights).map_err(|e| damaged(place.path(), &e));
    }
    let (records, name) = (training_images.records, training_images.name);
    let count = records.len();
    let from = place.reached(&format!("{count} records of {name}"))?;
    let steps = training.epochs * count.div_ceil(BATCH);
    let done = from.as_ref().map_or(0, |state| state.done);
    let progress = Progress::from(done as u64, steps as u64);
    let (shape, whole) = (records.shape(), fresh.shape());
    let trained = training.run::<_, Stopped>(
        fresh,
        count,
        |places| Ok(padded(&records.gather(places)?, shape, whole)),
        &mut rng,
        from.as_ref(),
        |step, state| Ok(place.after(step, state, &progress, session)?),
    );
    progress.finish();
    let trained = trained.map_err(|Stopped(failure)| failure)?.valid();
    place.keep(&to_host(&trained))?;
    Ok(trained)
}

/// Why a training stopped.
struct Stopped(Failure);

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl From<private_training::TrainingError> for Stopped {
    fn from(error: private_training::TrainingError) -> Self {
        Self(Failure::failed(error))
    }
}

/// Images in the middle of larger ones, zeros around.
fn padded(images: &[f32], from: ImageShape, to: ImageShape) -> Vec<f32> {
    if from.side == to.side {
        return images.to_vec();
    }
    let (side, whole, margin) = (from.side, to.side, (to.side - from.side) / 2);
    let mut padded = vec![0.0; images.len() / (side * side) * whole * whole];
    for (image, target) in images
        .chunks_exact(side * side)
        .zip(padded.chunks_exact_mut(whole * whole))
    {
        for (y, row) in image.chunks_exact(side).enumerate() {
            let start = (y + margin) * whole + margin;
            target[start..start + side].copy_from_slice(row);
        }
    }
    padded
}

/// The middle of images.
fn cropped(images: &[f32], from: ImageShape, to: ImageShape) -> Vec<f32> {
    if from.side == to.side {
        return images.to_vec();
    }
    let (side, whole, margin) = (to.side, from.side, (from.side - to.side) / 2);
    let mut cropped = Vec::with_capacity(images.len() / (whole * whole) * side * side);
    for image in images.chunks_exact(whole * whole) {
        for y in margin..margin + side {
            let start = y * whole + margin;
            cropped.extend_from_slice(&image[start..start + side]);
        }
    }
    cropped
}
