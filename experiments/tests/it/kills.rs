//! Ten kills of each experiment that goes step by step, each after one to three more steps and before the next
//! checkpoint: the run that they leave is that of a run without them, and the ledger counts what was made again.

use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use crate::program::{Ran, done, folder, killed_after, lines, sliver, weights, words};

/// Whether a step that is made again is released again.
#[derive(Clone, Copy, PartialEq)]
enum Steps {
    Release,
    /// Everything was released before the first one.
    Compute,
}

const KILLS: usize = 10;
const STEPS: usize = 30;
const COMMON: &str = "--steps 30 --backend flex --checkpoint-every 1";

/// What the model is known by: the files that are there, and the lines of its metrics without what was spent.
fn made(run: &Path) -> Vec<(&'static str, Vec<u8>)> {
    let files = words("weights.f32 latents.f32 samples.png group.svg");
    let files = files
        .into_iter()
        .filter_map(|name| Some((name, std::fs::read(run.join(name)).ok()?)));
    let mut made: Vec<_> = files.collect();
    made.extend(weights(run).map(|weights| ("model.bpk", weights)));
    if run.join("metrics.jsonl").exists() {
        let lines = crate::program::metrics(run).0;
        made.push(("metrics.jsonl", serde_json::to_vec(&lines).expect("JSON")));
    }
    made
}

/// Kills `experiment` ten times, and holds what it leaves against a run that nobody killed.
fn survives(experiment: &str, kind: Steps, flags: &[&str]) {
    let (keep, whole) = folder();
    let killed = keep.path().join("killed");
    let command = |out: &Path| {
        let mut command = sliver(experiment);
        command.args(flags).args(words(COMMON));
        if experiment != "ldp" {
            command.args(["--insecure-noise-seed", "7"]);
        }
        command.arg("--run");
        command.arg(out);
        command
    };
    let finish = |out: &Path| {
        done(command(out).ran());
    };
    finish(&whole);
    let mut rng = ChaCha20Rng::seed_from_u64(30);
    let mut reached = 0;
    for _ in 0..KILLS {
        let step = reached + rng.random_range(1..=3);
        assert!(step < STEPS, "{step} of {STEPS}");
        killed_after(&mut command(&killed), &killed, step);
        // The checkpoint of the very step is the one that the kill prevented.
        reached = step - 1;
    }
    finish(&killed);
    let again = if kind == Steps::Release { KILLS } else { 0 };
    assert_eq!(lines(&killed), lines(&whole) + again);
    let (killed, whole) = (made(&killed), made(&whole));
    assert!(
        whole.len() >= 2,
        "{:?}",
        whole.iter().map(|(name, _)| name).collect::<Vec<_>>()
    );
    for ((name, killed), (expected, whole)) in killed.iter().zip(&whole) {
        assert_eq!(name, expected);
        assert!(killed == whole, "{name} differs");
    }
}

#[test]
fn ten_kills_of_an_autoencoder() {
    let flags =
        "--records 200 --batch 20 --delta 1e-3 --slices 8 --epsilon 5 --ema 0.9 --quick-scores";
    let flags: Vec<&str> = flags.split(' ').collect();
    survives("swae", Steps::Release, &flags);
}

#[test]
fn ten_kills_of_fair_learning() {
    let flags = "representation --records 600 --ema 0.9";
    let flags: Vec<&str> = flags.split(' ').collect();
    survives("fair", Steps::Release, &flags);
}

/// With what an experiment keeps from run to run in a folder of its own.
fn with_cache(flags: &str, test: impl FnOnce(&[&str])) {
    let cache = tempfile::tempdir().expect("a temporary folder");
    let path = cache.path().to_str().expect("text");
    let mut flags: Vec<&str> = flags.split(' ').collect();
    flags.extend(["--cache-dir", path]);
    test(&flags);
}

#[test]
fn ten_kills_of_a_generator_of_latents() {
    let flags = "glyphs --method latent-generator --public half --records 400 --public-records 200 --public-epochs 1 --delta 1e-4 \
                 --quick-scores --slices 8 --batch 50 --count 9";
    with_cache(flags, |flags| {
        survives("synth", Steps::Release, flags);
    });
}

#[test]
fn ten_kills_of_a_generator() {
    let flags = "glyphs --method projections --records 300 --slices-per-step 8 --batch 20 --delta 1e-4 --quick-scores --scored 100 \
                 --count 9";
    with_cache(flags, |flags| {
        survives("synth", Steps::Release, flags);
    });
}

#[test]
fn ten_kills_of_learning_from_privatised_records() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let file = place.path().join("noisy.safetensors");
    let noise = "--records 300 --mechanism gaussian --epsilon 35 --delta 1e-4 --radius 8 --keep 30 --label-weight 4";
    let mut command = sliver("privatise");
    command.args(["glyphs".as_ref(), file.as_os_str()]);
    done(command.args(words(noise)).ran());
    let file = file.display();
    let flags = format!("--input {file} --batch 40 --quick-scores --scored 100");
    with_cache(&flags, |flags| {
        survives("ldp", Steps::Compute, flags);
    });
}
