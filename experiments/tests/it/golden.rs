//! What small runs with known noise write today, number by number: a change of the code alone must not move a result.
//!
//! `SLIVER_BLESS=1 just test -p experiments golden` writes `golden.json` anew, for a change that means to move one.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use crate::program::{Home, json, put};

/// What all runs of a kind have, so that they are over in seconds, and the runs of the kind: their names, and their flags.
const RUNS: &[(&str, &[(&str, &str)])] = &[
    (
        "swae --dataset glyphs --records 200 --batch 50 --steps 3 --delta 1e-3 --quick-scores --scored 100 \
         --insecure-noise-seed 7",
        &[
            ("swae", "--conditional --slices 12 --epsilon 5"),
            ("swae-no-privacy", "--conditional --slices 12 --no-privacy"),
        ],
    ),
    (
        "synth --input glyphs --public half --records 300 --public-records 180 --public-epochs 2 --latent 8 --quick-scores \
         --count 9 --epsilon 2 --insecure-noise-seed 3 --delta 1e-4",
        &[
            ("flow-marginals", "--method marginals --slices 16 --steps 5"),
            (
                "flow-fixed",
                "--method fixed --slices 16 --slices-per-step 8 --steps 5",
            ),
            (
                "flow-resampled",
                "--method resampled --slices 16 --batch 50 --steps 5",
            ),
            (
                "flow-generator",
                "--method latent-generator --slices 16 --batch 50 --steps 5",
            ),
            ("flow-mixture", "--method mixture --cells 3"),
        ],
    ),
    // The generators have no public side.
    (
        "synth --input glyphs --records 200 --steps 3 --quick-scores --scored 100 --epsilon 5 --delta 1e-3 \
         --insecure-noise-seed 3 --count 9",
        &[
            (
                "generator-marginals",
                "--method generator --slices-per-step 100",
            ),
            (
                "generator-projections",
                "--method projections --slices-per-step 256",
            ),
        ],
    ),
    (
        "fair --records 300 --steps 8 --insecure-noise-seed 3",
        &[
            ("fair-classification", "classification"),
            ("fair-regression1d", "regression1d"),
            ("fair-regression2d", "regression2d"),
            ("fair-representation", "representation"),
        ],
    ),
    (
        "ldp --steps 3",
        &[("ldp-images", "noisy.safetensors --quick-scores")],
    ),
    (
        "distance --delta 1e-4 --insecure-noise-seed 6 --source a.csv --target b.csv",
        &[("distance", "--radius 4 --epsilon 5 --slices 12")],
    ),
];

/// Rows of a fixed formula.
fn rows(count: usize, width: usize, shift: f64) -> String {
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
    text
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
    let home = Home::new();
    home.put("a.csv", rows(1000, 2, 0.0));
    home.put("b.csv", rows(900, 2, 0.8));
    home.done(
        "privatise glyphs noisy.safetensors --records 200 --mechanism gaussian --epsilon 35 --delta 1e-5 --radius 8 --keep 200 \
         --label-weight 4 --insecure-noise-seed 3",
    );
    let mut found = BTreeMap::new();
    for (common, runs) in RUNS {
        for (name, flags) in *runs {
            home.done(&format!("{common} {flags} --backend flex --run {name}"));
            found.insert((*name).to_owned(), numbers(&home.at(name)));
        }
    }
    let golden = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/golden.json"));
    if std::env::var_os("SLIVER_BLESS").is_some() {
        let text = serde_json::to_string_pretty(&found).expect("JSON");
        put(golden, text + "\n");
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
