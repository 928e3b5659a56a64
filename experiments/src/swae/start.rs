//! Where the weights start: trained on synthetic records, or those of a finished run on synthetic records.
//!
//! The public training has the form of the private one, without clipping and without noise: the cross-entropy of what
//! is rebuilt, and the distance of the latents to the prior, class by class where the synthetic records are of the classes
//! of the private ones.

use std::path::Path;

use burn::tensor::Device;
use data::{DatasetKind, Glyphs, Shapes};
use lab::diagnostic::{Failure, OrFailed};
use lab::progress::Progress;
use lab::run_folder::RunFolder;
use lab::session::{Session, load_weights};
use model::latent::{TrainingState, TrainingStep};
use model::swae::{Swae, SwaeConfig};
use private_training::adam::ModuleAdam;
use private_training::weights::{from_host, to_host};
use private_training::{Clipping, Gradients, Loss, Objective, Penalty, Prior, cosine};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;
use serde_json::json;

use super::Settings;
use crate::random::stream;
use crate::records::{SHAPES, kind, synthetic};
use crate::trained::{self, CachePath, damaged};

const GLYPHS: &str = "glyphs";
/// Synthetic records of a step, fresh ones in each.
const BATCH: usize = 100;
const LEARNING_RATE: f64 = 2e-3;
/// The weight of the distance to the prior: gradients that nothing clips need more of it than private steps.
const ALPHA: f64 = 0.99;
/// Apart from the seeds of private glyphs, so that no record is on both sides.
const SEED: u64 = u64::MAX;
/// The weights of another run, kept where the run's own folder may be gone when this one resumes.
const START: &str = "start.f32";

/// `--start-from` in full: what `public` stands for, and no run whose weights are not public.
///
/// - `given_steps`: whether steps on synthetic records are asked for.
pub(crate) fn resolve(settings: &Settings, given_steps: bool) -> Result<Option<String>, Failure> {
    let trained = ["public", GLYPHS, SHAPES];
    if given_steps
        && !settings
            .start_from
            .as_deref()
            .is_some_and(|from| trained.contains(&from))
    {
        return Err(Failure::input(
            "--public-steps: nothing is trained on synthetic records".to_string(),
            "leave it out, or say --start-from public",
        ));
    }
    let Some(from) = settings.start_from.as_deref() else {
        return Ok(None);
    };
    Ok(Some(match from {
        "public" if digits(settings)? => GLYPHS.into(),
        "public" => SHAPES.into(),
        GLYPHS | SHAPES => from.into(),
        run => {
            let other: Settings = RunFolder::open(Path::new(run))?.read_toml("config.toml")?;
            check_run(settings, run, &other)?;
            run.into()
        }
    }))
}

/// Whether the classes of the records are those of glyphs.
fn digits(settings: &Settings) -> Result<bool, Failure> {
    Ok(kind("dataset", &settings.dataset)? != DatasetKind::FashionMnist)
}

/// Whether the weights start from synthetic digits beside private ones.
pub(crate) fn draws_digits(settings: &Settings) -> Result<bool, Failure> {
    let from = settings.start_from.as_deref();
    Ok(from.is_some_and(|from| from != SHAPES) && digits(settings)?)
}

/// Refuses the weights of a run that are not public, or do not fit.
fn check_run(settings: &Settings, run: &str, other: &Settings) -> Result<(), Failure> {
    let refuse =
        |why: String, help: &str| Err(Failure::input(format!("--start-from {run}: {why}"), help));
    if !Path::new(run).join("run.json").exists() {
        return refuse("this run is not finished".into(), "resume it first");
    }
    if kind("dataset", &other.dataset)? != DatasetKind::Glyphs {
        let why = format!(
            "its records are of {}, so its weights are not public: what they cost would add to what this run promises",
            other.dataset
        );
        return refuse(
            why,
            "start from a run on glyphs, which the program draws, or from public",
        );
    }
    if kind("dataset", &settings.dataset)? == DatasetKind::Glyphs && settings.seed == other.seed {
        let why = format!("its glyphs are those of this run, --seed {}", other.seed);
        return refuse(why, "give this run another --seed");
    }
    if other.latent != settings.latent {
        let why = format!(
            "its latents have {} dimensions, these {}",
            other.latent, settings.latent
        );
        return refuse(why, &format!("say --latent {}", other.latent));
    }
    if other.conditional && !settings.conditional {
        return refuse("its decoder needs labels".into(), "say --conditional");
    }
    Ok(())
}

/// Whether the synthetic records come with the labels of the private ones.
pub(crate) fn labelled(settings: &Settings) -> Result<bool, Failure> {
    let glyphs = settings.start_from.as_deref() == Some(GLYPHS);
    Ok(glyphs && settings.conditional && digits(settings)?)
}

/// What the weights knew before a private record was read; none where they were random.
pub(crate) fn knowledge(settings: &Settings) -> Result<Option<String>, Failure> {
    let Some(from) = settings.start_from.as_deref() else {
        return Ok(None);
    };
    let labels = if labelled(settings)? {
        "with"
    } else {
        "without"
    };
    Ok(Some(match synthetic(from) {
        Some(what) => format!(
            "The weights started from a training on {} {from}: {what}, {labels} their labels.",
            settings.public_steps as usize * BATCH
        ),
        None => format!(
            "The weights started from those of a run on {GLYPHS}: {}.",
            synthetic(GLYPHS).unwrap_or_default()
        ),
    }))
}

/// The network that the settings start from, as `fresh` where they name nothing.
pub(crate) fn network(
    fresh: Swae,
    settings: &Settings,
    session: &Session,
) -> Result<Swae, Failure> {
    let (Some(from), device) = (settings.start_from.as_deref(), &session.chosen.device) else {
        return Ok(fresh);
    };
    let classes = fresh.classes;
    let found = match from {
        GLYPHS | SHAPES => public(settings, classes, session)?,
        run => of_run(settings, run, session)?,
    };
    Ok(found.seeing_labels(classes, device))
}

fn untrained(latent: usize, classes: usize, device: &Device) -> Swae {
    SwaeConfig { latent, classes }.init(&mut ChaCha20Rng::seed_from_u64(SEED), device)
}

/// The weights of a finished run.
fn of_run(settings: &Settings, run: &str, session: &Session) -> Result<Swae, Failure> {
    let (latent, device) = (settings.latent, &session.chosen.device);
    let kept = session.folder.file(START);
    if let Some(bytes) = trained::read(&kept)? {
        let (classes, weights) = bytes.split_at_checked(8).unwrap_or_default();
        let classes = classes.first().map_or(0, |&c| usize::from(c));
        let weights = lab::session::floats_of_bytes(weights);
        let untrained = untrained(latent, classes, device);
        return from_host(untrained, &weights).map_err(|e| damaged(&kept, &e));
    }
    let folder = RunFolder::open(Path::new(run))?;
    let other: Settings = folder.read_toml("config.toml")?;
    // Another run may lie there by now.
    check_run(settings, run, &other)?;
    let classes = if other.conditional {
        Glyphs::CLASSES
    } else {
        0
    };
    let network = load_weights(untrained(latent, classes, device), &folder)?;
    let mut bytes = (classes as u64).to_le_bytes().to_vec();
    bytes.extend(lab::session::floats_to_bytes(&to_host(&network)));
    trained::write(&kept, &bytes)?;
    Ok(network)
}

/// Weights that are trained on synthetic records: read from the cache, or trained and written there.
fn public(settings: &Settings, classes: usize, session: &Session) -> Result<Swae, Failure> {
    let from = settings.start_from.as_deref().unwrap_or_default();
    let steps = settings.public_steps as usize;
    let labelled = labelled(settings)?;
    let classes = if labelled { classes } else { 0 };
    let latent = settings.latent;
    let key = json!({
        "format": 1,
        "network": "swae",
        "public": [from, &SEED.to_string(), &Shapes::VERSION.to_string()],
        "labelled": labelled,
        "latent": latent,
        "training": [steps, BATCH],
        "rates": [LEARNING_RATE, ALPHA],
    });
    let place = CachePath::of(&session.running.cache()?, &key, "an autoencoder");
    let device = &session.chosen.device;
    let mut network = untrained(latent, classes, device);
    if let Some(weights) = place.whole()? {
        return from_host(network, &weights).map_err(|e| damaged(place.path(), &e));
    }
    let mut optimizer = ModuleAdam::default();
    let mut before = 0;
    if let Some(state) = place.reached(&format!("{} {from}", steps * BATCH))? {
        let damage = |e| damaged(place.path(), &e);
        network = from_host(network, &state.weights).map_err(damage)?;
        optimizer = ModuleAdam::from_bytes(&state.optimizer, device).map_err(damage)?;
        before = state.done;
    }
    let mut gradients = Gradients::new(objective(latent));
    let progress = Progress::from(before as u64, steps as u64);
    for step in before..steps {
        // Each step has a generator of its own, so that a training goes on where it was stopped.
        *gradients.public_rng() = stream(SEED, 1 + step as u64);
        let (pixels, sizes) = records(from, labelled, step, classes);
        let batch = network.batch(pixels, &sizes, device).or_failed()?;
        let (gradient, losses) = gradients.without_privacy(&network, &batch).or_failed()?;
        let rate = LEARNING_RATE * cosine(step as u64, steps as u64, 0.1);
        network = optimizer.step(rate, network, gradient.into_params_without_privacy());
        let state = || TrainingState {
            done: step + 1,
            weights: to_host(&network),
            optimizer: optimizer.to_bytes(),
        };
        let step = TrainingStep {
            done: step + 1,
            steps,
            loss: losses.losses[0],
        };
        place.after(step, &state, &progress, session)?;
    }
    progress.finish();
    place.keep(&to_host(&network))?;
    Ok(network)
}

/// What the public training minimises.
fn objective(latent: usize) -> Objective {
    let loss = Loss::binary_cross_entropy_with_logits().weight(1.0 - ALPHA);
    // A tight frame of whole bases.
    let slices = latent * 96_usize.div_ceil(latent);
    // Nothing is clipped.
    let clip = Clipping::new(1.0, 1.0);
    let penalty = Penalty::to(Prior::UniformBall)
        .weight(ALPHA)
        .clipping(clip)
        .slices(slices);
    Objective::of([loss.max_grad_norm(1.0)]).penalty(penalty)
}

/// The synthetic records of a step, class after class: pixels, and records of each class, or of all.
fn records(from: &str, labelled: bool, step: usize, classes: usize) -> (Vec<f32>, Vec<usize>) {
    let all = (step * BATCH) as u64..((step + 1) * BATCH) as u64;
    let mut indices: Vec<u64> = all.collect();
    let glyphs = Glyphs::train(SEED);
    let mut sizes = vec![BATCH];
    if labelled {
        indices.sort_by_key(|&index| glyphs.label(index));
        sizes = vec![0; classes];
        for &index in &indices {
            sizes[usize::from(glyphs.label(index))] += 1;
        }
    }
    let shapes = Shapes::grey(Glyphs::SIDE, 0);
    let image = |&index: &u64| match from {
        SHAPES => shapes.image(index),
        _ => glyphs.image(index).to_vec(),
    };
    let images: Vec<Vec<u8>> = indices.par_iter().map(image).collect();
    let unit = |byte: u8| f32::from(byte) / 255.0;
    (images.into_iter().flatten().map(unit).collect(), sizes)
}

/// Glyphs of a class, apart from those of the training and from private ones: pixels in rows.
pub(crate) fn glyphs(class: usize, places: std::ops::Range<usize>) -> Vec<f32> {
    let glyphs = Glyphs::test(SEED);
    let classes = Glyphs::CLASSES as u64;
    // Each class has one of every ten.
    let shows = |index: &u64| usize::from(glyphs.label(*index)) == class;
    let images: Vec<_> = places
        .into_par_iter()
        .filter_map(|block| {
            let first = block as u64 * classes;
            let found = (first..first + classes).find(shows)?;
            Some(glyphs.image(found))
        })
        .collect();
    let unit = |byte: u8| f32::from(byte) / 255.0;
    images.into_iter().flatten().map(unit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swae::latents::{decode, with_labels};

    #[test]
    fn labels_mean_nothing_to_weights_that_never_saw_them() {
        let device = Device::flex();
        let latents = [0.3, -0.2, 0.1, 0.0, 0.5, -0.4];
        let plain = untrained(3, 0, &device);
        let images = decode(&plain, latents.to_vec(), &device);
        let seeing = plain.seeing_labels(4, &device);
        for labels in [[0, 1], [3, 2]] {
            let inputs = with_labels(&latents, 3, 4, &labels);
            let found = decode(&seeing, inputs, &device);
            assert!(found.iter().zip(&images).all(|(a, b)| (a - b).abs() < 1e-6));
        }
        assert_eq!(
            to_host(&seeing.clone().seeing_labels(4, &device)),
            to_host(&seeing)
        );
    }
}
