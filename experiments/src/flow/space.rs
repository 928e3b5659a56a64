//! The public autoencoder: trained once, kept by the checksum of all that decides it.

use std::path::Path;

use burn::module::Module;
use burn::tensor::Device;
use lab::checkpoint::hex;
use lab::diagnostic::Failure;
use lab::progress::Progress;
use model::latent::{SmallAutoencoder, Training};
use model::weights::{from_host, to_host};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde_json::json;

use super::Settings;
use super::sides::{Sides, padded};

const BATCH: usize = 100;
const LEARNING_RATE: f64 = 2e-3;
/// One autoencoder for all seeds of a flow.
const SEED: u64 = 0;

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
) -> Result<SmallAutoencoder, Failure> {
    let training = Training {
        epochs: settings.public_epochs,
        batch: BATCH,
        learning_rate: LEARNING_RATE,
    };
    let key = json!({
        "format": 2,
        "public": sides.public.fingerprint(),
        "latent": settings.latent,
        "training": training,
        "seed": SEED,
    });
    let folder = cache.join("autoencoders");
    let path = folder.join(format!("{}.bin", &hex(key.to_string().as_bytes())[..24]));
    let mut rng = ChaCha20Rng::seed_from_u64(SEED);
    rng.set_stream(3);
    let autodiff = device.clone().autodiff();
    let fresh = SmallAutoencoder::new(1, settings.latent, &mut rng, &autodiff);
    if let Some(weights) = read(&path)? {
        println!("public    autoencoder {}", path.display());
        return from_host(fresh.valid(), &weights).map_err(|e| damaged(&path, &e));
    }
    println!(
        "public    training an autoencoder on {} records of {}",
        sides.public.len(),
        sides.public_name
    );
    let steps = settings.public_epochs * sides.public.len().div_ceil(BATCH);
    let progress = Progress::new(steps as u64);
    let side = sides.public.side();
    let trained = training.run::<_, model::ModelError>(
        fresh,
        sides.public.len(),
        |places| Ok(padded(&sides.public.gather(places), side)),
        &mut rng,
        device,
        |step| {
            progress.step();
            if step.done % 50 == 0 || step.done == step.steps {
                progress.message(format!("{:.1} nats", step.loss));
            }
        },
    );
    progress.finish();
    let trained = trained.map_err(Failure::run)?.valid();
    write(&folder, &path, &to_host(&trained))?;
    Ok(trained)
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
