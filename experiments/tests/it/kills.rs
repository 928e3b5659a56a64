//! Ten kills of each experiment that goes step by step, each after one to three more steps and before the next
//! checkpoint: the run that they leave is that of a run without them, and the ledger counts what was made again.

use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use crate::ldp::{NOISE, privatised};
use crate::program::{Home, done, killed_after, lines, metrics, weights, words};

/// Whether a step that is made again is released again.
#[derive(Clone, Copy, PartialEq)]
enum Steps {
    Release,
    /// Everything was released before the first one.
    Compute,
}

const KILLS: usize = 10;
const STEPS: usize = 30;

/// What the model is known by: the files that are there, and the lines of its metrics without what was spent.
fn made(run: &Path) -> Vec<(&'static str, Vec<u8>)> {
    let files = words("weights.f32 latents.f32 samples.png group.svg");
    let files = files
        .into_iter()
        .filter_map(|name| Some((name, std::fs::read(run.join(name)).ok()?)));
    let mut made: Vec<_> = files.collect();
    made.extend(weights(run).map(|weights| ("model.bpk", weights)));
    if run.join("metrics.jsonl").exists() {
        let lines = metrics(run).0;
        made.push(("metrics.jsonl", serde_json::to_vec(&lines).expect("JSON")));
    }
    made
}

/// Kills what this line runs ten times, and holds what it leaves against a run that nobody killed.
fn survives(home: &Home, steps: Steps, line: &str) {
    let [whole, killed] = ["whole", "killed"].map(|name| home.at(name));
    let command = |out: &Path| {
        let line = format!("{line} --steps {STEPS} --backend flex --checkpoint-every 1 --run");
        let mut command = home.sliver(&line);
        command.arg(out);
        command
    };
    done(command(&whole));
    let mut rng = ChaCha20Rng::seed_from_u64(30);
    let mut reached = 0;
    for _ in 0..KILLS {
        let step = reached + rng.random_range(1..=3);
        assert!(step < STEPS, "{step} of {STEPS}");
        killed_after(&mut command(&killed), &killed, step);
        // The checkpoint of the very step is the one that the kill prevented.
        reached = step - 1;
    }
    done(command(&killed));
    let again = if steps == Steps::Release { KILLS } else { 0 };
    assert_eq!(lines(&killed), lines(&whole) + again);
    let (killed, whole) = (made(&killed), made(&whole));
    assert!(whole.len() >= 2, "{}", whole.len());
    for ((name, killed), (expected, whole)) in killed.iter().zip(&whole) {
        assert_eq!(name, expected);
        assert!(killed == whole, "{name} differs");
    }
}

#[test]
fn ten_kills_of_an_autoencoder() {
    let flags =
        "--records 200 --batch 20 --delta 1e-3 --slices 8 --epsilon 5 --ema 0.9 --quick-scores";
    let line = format!("swae {flags} --insecure-noise-seed 7");
    survives(&Home::new(), Steps::Release, &line);
}

#[test]
fn ten_kills_of_fair_learning() {
    let line = "fair representation --records 600 --ema 0.9 --insecure-noise-seed 7";
    survives(&Home::new(), Steps::Release, line);
}

#[test]
fn ten_kills_of_a_generator_of_latents() {
    let flags = "--method latent-generator --public half --records 400 --public-records 200 --public-epochs 1 --delta 1e-4 \
                 --quick-scores --slices 8 --batch 50 --count 9";
    let line = format!("synth glyphs {flags} --insecure-noise-seed 7");
    survives(&Home::new(), Steps::Release, &line);
}

#[test]
fn ten_kills_of_a_generator() {
    let flags = "--method projections --records 300 --slices-per-step 8 --batch 20 --delta 1e-4 --quick-scores --scored 100 --count 9";
    let line = format!("synth glyphs {flags} --insecure-noise-seed 7");
    survives(&Home::new(), Steps::Release, &line);
}

#[test]
fn ten_kills_of_learning_from_privatised_records() {
    let home = privatised(NOISE);
    let line = "ldp --input noisy.safetensors --batch 40 --quick-scores --scored 100";
    survives(&home, Steps::Compute, line);
}
