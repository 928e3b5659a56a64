//! What small runs with known noise write today, number by number: a change of the code alone must not move a result.
//!
//! `SLIVER_BLESS=1 just test -p experiments golden` writes `golden.json` anew, for a change that means to move one.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use crate::program::{Ran, done, json, sliver, text, words};

/// A run: its name, its program, its flags.
const RUNS: &[(&str, &str, &str)] = &[
    ("swae", "swae", "--conditional --slices 12 --epsilon 5"),
    (
        "swae-no-privacy",
        "swae",
        "--conditional --slices 12 --no-privacy",
    ),
    (
        "flow-marginals",
        "synth",
        "--method marginals --epsilon 2 --insecure-noise-seed 3 --delta 1e-4 --slices 16 --steps 5",
    ),
    (
        "flow-fixed",
        "synth",
        "--method fixed --epsilon 2 --insecure-noise-seed 3 --delta 1e-4 --slices 16 --slices-per-step 8 --steps 5",
    ),
    (
        "flow-resampled",
        "synth",
        "--method resampled --epsilon 2 --insecure-noise-seed 3 --delta 1e-4 --slices 16 --batch 50 --steps 5",
    ),
    (
        "flow-generator",
        "synth",
        "--method latent-generator --epsilon 2 --insecure-noise-seed 3 --delta 1e-4 --slices 16 --batch 50 --steps 5",
    ),
    (
        "flow-mixture",
        "synth",
        "--method mixture --epsilon 2 --insecure-noise-seed 3 --delta 1e-4 --cells 3",
    ),
    (
        "generator-marginals",
        "generator",
        "--method generator --slices-per-step 100",
    ),
    (
        "generator-projections",
        "generator",
        "--method projections --slices-per-step 256",
    ),
    ("fair-classification", "fair", "classification"),
    ("fair-regression1d", "fair", "regression1d"),
    ("fair-regression2d", "fair", "regression2d"),
    ("fair-representation", "fair", "representation"),
    ("ldp-images", "ldp", "noisy.safetensors --quick-scores"),
    ("distance", "distance", "--radius 4 --epsilon 5 --slices 12"),
];

/// What all runs of a program have, so that they are over in seconds.
fn common(program: &str) -> &'static str {
    match program {
        "swae" => {
            "--dataset glyphs --records 200 --batch 50 --steps 3 --delta 1e-3 --quick-scores --scored 100 \
             --insecure-noise-seed 7"
        }
        "synth" => {
            "--input glyphs --public half --records 300 --public-records 180 --public-epochs 2 --latent 8 --quick-scores \
             --count 9"
        }
        "generator" => {
            "--input glyphs --records 200 --steps 3 --quick-scores --scored 100 --epsilon 5 --delta 1e-3 \
             --insecure-noise-seed 3 --count 9"
        }
        "fair" => "--records 300 --steps 8 --insecure-noise-seed 3",
        "ldp" => "--steps 3",
        "distance" => "--delta 1e-4 --insecure-noise-seed 6",
        _ => unreachable!("{program}"),
    }
}

/// Rows of a fixed formula.
fn rows(path: &Path, count: usize, width: usize, shift: f64) {
    let mut text = String::new();
    for row in 0..count {
        let fields: Vec<String> = (0..width)
            .map(|column| {
                let wave = (1.7 * row as f64 + 2.3 * column as f64 + shift).sin();
                format!("{:.6}", shift + 0.5 * wave)
            })
            .collect();
        writeln!(text, "{}", fields.join(",")).expect("a string grows");
    }
    std::fs::write(path, text).expect("written");
}

/// The numbers of a JSON value under their paths. Times are left out.
fn flatten(path: &str, value: &Value, into: &mut BTreeMap<String, f64>) {
    match value {
        Value::Number(number) => {
            into.insert(path.into(), number.as_f64().expect("a number"));
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                flatten(&format!("{path}/{index}"), value, into);
            }
        }
        Value::Object(values) => {
            for (key, value) in values.iter().filter(|(key, _)| !key.contains("seconds")) {
                flatten(&format!("{path}/{key}"), value, into);
            }
        }
        _ => {}
    }
}

/// The lines of a file, as one JSON array.
fn lines(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .collect()
}

/// The sum and the sum of squares of a file of numbers: weights and samples.
fn sums(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap_or_default();
    let values = bytes
        .chunks_exact(4)
        .map(|four| f32::from_le_bytes(four.try_into().expect("four")));
    let (sum, squares) = values
        .map(f64::from)
        .fold((0.0, 0.0), |(sum, squares), value| {
            (sum + value, squares + value * value)
        });
    serde_json::json!([sum, squares])
}

/// What a run says: the ledger, the curves, the scores and the sums of what it keeps.
fn numbers(out: &Path) -> BTreeMap<String, f64> {
    let run = json(&out.join("run.json"));
    let mut numbers = BTreeMap::new();
    flatten("ledger", &lines(&out.join("ledger.jsonl")), &mut numbers);
    flatten("metrics", &lines(&out.join("metrics.jsonl")), &mut numbers);
    flatten("scores", &run["metrics"], &mut numbers);
    flatten("test", &run["test"], &mut numbers);
    for file in ["weights.f32", "latents.f32", "autoencoder.f32"] {
        if out.join(file).exists() {
            flatten(file, &sums(&out.join(file)), &mut numbers);
        }
    }
    assert!(numbers.len() > 2, "{}: {numbers:?}", out.display());
    numbers
}

/// A ledger comes of arithmetic in `f64`. What was trained went through sums in `f32`, whose order depends on the
/// processor: it is given more room, and a generator that follows noise by autodiff most (2.1e-4 apart on two).
fn agree(name: &str, path: &str, a: f64, b: f64) -> bool {
    let tolerance = match path {
        ledger if ledger.starts_with("ledger") => 1e-9,
        _ if name == "flow-generator" => 1e-3,
        _ => 1e-4,
    };
    (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1e-3)
}

#[test]
fn small_runs_write_what_they_wrote() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path();
    rows(&place.join("a.csv"), 1000, 2, 0.0);
    rows(&place.join("b.csv"), 900, 2, 0.8);
    let noise = "--records 200 --mechanism gaussian --epsilon 35 --delta 1e-5 --radius 8 --keep 200 --label-weight 4 \
                 --insecure-noise-seed 3";
    let mut privatise = sliver("privatise");
    privatise
        .current_dir(place)
        .args(["glyphs", "noisy.safetensors"]);
    done(privatise.args(words(noise)).ran());
    let mut found = BTreeMap::new();
    for (name, program, flags) in RUNS {
        let out = place.join(name);
        // The generators have no public side.
        let subcommand = program.replace("generator", "synth");
        let mut command = sliver(&subcommand);
        command.current_dir(place);
        // A subcommand comes first, where there is one.
        command
            .args(flags.split_whitespace())
            .args(common(program).split_whitespace())
            .args(["--backend", "flex"]);
        if *program == "distance" {
            command.args(["--source", "a.csv", "--target", "b.csv"]);
        }
        command
            .arg("--cache-dir")
            .arg(place.join("cache"))
            .arg("--run")
            .arg(&out);
        let output = command.output().expect("the binary starts");
        assert!(output.status.success(), "{name}: {}", text(&output.stderr));
        found.insert((*name).to_owned(), numbers(&out));
    }
    let golden = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/golden.json"));
    if std::env::var_os("SLIVER_BLESS").is_some() {
        let text = serde_json::to_string_pretty(&found).expect("JSON");
        std::fs::write(golden, text + "\n").expect("written");
    }
    let expected: BTreeMap<String, BTreeMap<String, f64>> =
        serde_json::from_value(json(golden)).expect("numbers");
    assert!(found.keys().eq(expected.keys()), "runs without numbers");
    let mut moved = Vec::new();
    for (name, numbers) in &expected {
        let found = &found[name];
        assert!(found.keys().eq(numbers.keys()), "{name}: {found:?}");
        let apart = |path: &&String| !agree(name, path, found[*path], numbers[*path]);
        moved.extend(
            numbers
                .keys()
                .find(apart)
                .map(|path| format!("{name} {path}: {} for {}", found[path], numbers[path])),
        );
    }
    assert!(moved.is_empty(), "{}", moved.join("\n"));
}
