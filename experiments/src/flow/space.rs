//! The public autoencoder: trained once, kept by the checksum of all that decides it.

use std::path::Path;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use lab::checkpoint::hex;
use lab::diagnostic::Failure;
use lab::progress::Progress;
use model::latent::{DcganAutoencoder, ImageShape, LatentSpace, SmallAutoencoder, Training};
use model::weights::{from_host, to_host};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde_json::{Value, json};

use super::Settings;
use super::sides::{Records, Sides};

const BATCH: usize = 25;
/// Records that are encoded at once.
const PART: usize = 250;
const LEARNING_RATE: f64 = 2e-3;
/// One autoencoder for all seeds of a flow.
const SEED: u64 = 0;

/// The autoencoder of a run, for images of its size.
pub enum Space {
    /// Grey images of up to 32x32.
    Small(Box<SmallAutoencoder>),
    /// Photographs of 64x64.
    Dcgan(Box<DcganAutoencoder>),
}

impl LatentSpace for Space {
    fn shape(&self) -> ImageShape {
        match self {
            Self::Small(space) => space.shape(),
            Self::Dcgan(space) => space.shape(),
        }
    }

    fn latent(&self) -> usize {
        match self {
            Self::Small(space) => space.latent(),
            Self::Dcgan(space) => space.latent(),
        }
    }

    fn features(&self, images: Tensor<4>) -> Tensor<2> {
        match self {
            Self::Small(space) => space.features(images),
            Self::Dcgan(space) => space.features(images),
        }
    }

    fn logits(&self, latents: Tensor<2>) -> Tensor<4> {
        match self {
            Self::Small(space) => space.logits(latents),
            Self::Dcgan(space) => space.logits(latents),
        }
    }
}

impl Space {
    /// Latents of all records, `[n, latent]` in rows; no more than some hundred images are in memory
    /// at once.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] names a photograph that cannot be read.
    pub fn encode_records(&self, records: &Records, device: &Device) -> Result<Vec<f32>, Failure> {
        let mut latents = Vec::with_capacity(records.len() * self.latent());
        let places: Vec<usize> = (0..records.len()).collect();
        for part in places.chunks(PART) {
            let images = padded(&records.gather(part)?, records.shape(), self.shape());
            latents.extend(self.encode_host(&images, device));
        }
        Ok(latents)
    }

    /// Its weights, one after the other.
    pub fn weights(&self) -> Vec<f32> {
        match self {
            Self::Small(space) => to_host(space.as_ref()),
            Self::Dcgan(space) => to_host(space.as_ref()),
        }
    }

    /// Images of some latents, `[n, latent]` in rows, in the size of the records that they stand for.
    pub fn decode_as(&self, latents: &[f32], shape: ImageShape, device: &Device) -> Vec<f32> {
        cropped(&self.decode_host(latents, device), self.shape(), shape)
    }
}

/// The autoencoder of the settings: read from `cache`, or trained and written there.
///
/// # Errors
///
/// [`Failure::BadInput`] names a damaged file; [`Failure::Failed`] where it cannot be written.
pub fn autoencoder(
    settings: &Settings,
    sides: &Sides,
    cache: &Path,
    device: &Device,
) -> Result<Space, Failure> {
    let training = Training {
        epochs: settings.public_epochs,
        batch: BATCH,
        learning_rate: LEARNING_RATE,
    };
    let mut key = json!({
        "format": 3,
        "public": sides.public.fingerprint()?,
        "latent": settings.latent,
        "training": training,
        "seed": SEED,
    });
    let mut rng = ChaCha20Rng::seed_from_u64(SEED);
    rng.set_stream(3);
    let autodiff = device.clone().autodiff();
    let latent = settings.latent;
    if settings.photographs() {
        key["width"] = json!(settings.width);
        let width = settings.width;
        let fresh = DcganAutoencoder::new(3, latent, width, &mut rng, &autodiff);
        kept(fresh, &key, &training, sides, cache, &mut rng, device)
            .map(|space| Space::Dcgan(Box::new(space)))
    } else {
        let fresh = SmallAutoencoder::new(1, latent, &mut rng, &autodiff);
        kept(fresh, &key, &training, sides, cache, &mut rng, device)
            .map(|space| Space::Small(Box::new(space)))
    }
}

fn kept<M: LatentSpace + Module>(
    fresh: M,
    key: &Value,
    training: &Training,
    sides: &Sides,
    cache: &Path,
    rng: &mut ChaCha20Rng,
    device: &Device,
) -> Result<M, Failure> {
    let folder = cache.join("autoencoders");
    let path = folder.join(format!("{}.bin", &hex(key.to_string().as_bytes())[..24]));
    if let Some(weights) = read(&path)? {
        println!("public    autoencoder {}", path.display());
        return from_host(fresh.valid(), &weights).map_err(|e| damaged(&path, &e));
    }
    println!(
        "public    training an autoencoder on {} records of {}",
        sides.public.len(),
        sides.public_name
    );
    let steps = training.epochs * sides.public.len().div_ceil(BATCH);
    let progress = Progress::new(steps as u64);
    let (shape, whole) = (sides.public.shape(), fresh.shape());
    let trained = training.run::<_, Stopped>(
        fresh,
        sides.public.len(),
        |places| Ok(padded(&sides.public.gather(places)?, shape, whole)),
        rng,
        device,
        |step| {
            progress.step();
            if step.done % 50 == 0 || step.done == step.steps {
                progress.message(format!("{:.1} nats", step.loss));
            }
        },
    );
    progress.finish();
    let trained = trained.map_err(|Stopped(failure)| failure)?.valid();
    write(&folder, &path, &to_host(&trained))?;
    Ok(trained)
}

/// Why a training stopped.
struct Stopped(Failure);

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl From<model::ModelError> for Stopped {
    fn from(error: model::ModelError) -> Self {
        Self(Failure::run(error))
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

fn damaged(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::input(
        format!("the autoencoder {}: {why}", path.display()),
        "remove this file, and it is trained anew",
    )
}

/// A SHA-256 in hexadecimal, then the weights.
fn read(path: &Path) -> Result<Option<Vec<f32>>, Failure> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(damaged(path, &e)),
    };
    let (sum, weights) = bytes
        .split_at_checked(64)
        .ok_or_else(|| damaged(path, &"it is cut short"))?;
    if hex(weights).as_bytes() != sum {
        return Err(damaged(path, &"its checksum does not fit its weights"));
    }
    let (weights, _) = weights.as_chunks::<4>();
    Ok(Some(
        weights.iter().map(|&b| f32::from_le_bytes(b)).collect(),
    ))
}

fn write(folder: &Path, path: &Path, weights: &[f32]) -> Result<(), Failure> {
    let body: Vec<u8> = weights.iter().flat_map(|w| w.to_le_bytes()).collect();
    let bytes = [hex(&body).into_bytes(), body].concat();
    let attempt = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        std::io::Write::write_all(&mut file, &bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    attempt().map_err(|e| Failure::Failed {
        message: format!("{} could not be written: {e}", path.display()),
        help: Some("free some space, or choose another --cache-dir".into()),
    })
}
