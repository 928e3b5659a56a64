//! Run folders as runs leave them, in miniature.

use std::fs;
use std::path::{Path, PathBuf};

use reporting::figures::{Chart, Scale, Series, grid};
use serde_json::{Value, json};

/// One ledger line of a private training step.
pub(crate) fn step(sensitivity: f64, secret: bool) -> Value {
    json!({
        "event": {"type": "sampled",
            "sampler": {"kind": "without_replacement", "records": 60000, "batch": 600},
            "event": {"type": "gaussian", "noise_multiplier": 0.75}},
        "count": 1, "neighbours": "replace_one",
        "sensitivity": sensitivity, "deviation": 0.75 * sensitivity, "secret_noise": secret
    })
}

/// The content of a finished run's `run.json`.
pub(crate) fn finished(seed: u64, epsilon: f64, score: f64) -> Value {
    json!({
        "experiment": "swae",
        "title": "Private autoencoder on <glyphs> & \"more\"",
        "version": "0.1.0",
        "commit": "0123456789abcdef",
        "device": "flex on 2 threads",
        "settings": {"dataset": "glyphs", "epsilon": epsilon, "delta": 1e-5, "seed": seed,
            "a-very-long-setting-name-without-any-space-in-it-at-all": 2.449489742783178},
        "records": 60000,
        "privacy": "(1, 1e-5)-differentially private; neighbours: replace one record. Not covered: \
                    the choice of hyperparameters.",
        "private": true,
        "plan": {"epsilon_upper": epsilon, "delta": 1e-5, "accountant": "pld",
            "neighbours": "replace one record", "noise_multiplier": 0.75, "steps": 4,
            "step": step(1.0, true)["event"]},
        "releases": 4,
        "took": {"seconds": 3301.24, "resumed": false},
        "training_seconds": 3222.8,
        "public_knowledge": "An autoencoder learned from 300 public images: shapes.",
        "test": {"reconstruction": score},
        "command": "sliver swae --dataset glyphs --epsilon 1 --seed 3 \
                    --out runs/swae/a-name-that-is-long-enough-to-be-wider-than-a-telephone",
        "figures": [
            {"file": "samples.png", "caption": "Samples <b>bold</b>"},
            {"file": "chart.svg", "caption": "A chart", "alt": "It falls."}
        ],
        "metrics": [
            {"name": "reconstruction", "value": score, "unit": "nats", "better": "lower",
                "paper": 100.5, "source": "Rodriguez-Vitores et al. 2025, table 2"},
            {"name": "accuracy", "value": 0.912_345_678, "better": "higher"},
            {"name": "Columns alone: accuracy", "value": 0.5, "better": "higher"}
        ],
        "finished": "2026-03-01T12:00:00Z"
    })
}

/// Writes a run folder; without `run` it is one that was cut off.
pub(crate) fn write(folder: &Path, run: Option<&Value>) -> PathBuf {
    fs::create_dir_all(folder).expect("a folder");
    let put = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).expect(name);
    if let Some(run) = run {
        put("run.json", run.to_string().as_bytes());
    }
    put(
        "config.toml",
        b"dataset = \"glyphs\"\nepsilon = 1.0\nseed = 9\ndelta = 1e-5\n",
    );
    let mut ledger = String::new();
    for sensitivity in [0.1, 0.2, 0.1, 0.15] {
        ledger.push_str(&format!("{}\n", step(sensitivity, true)));
    }
    put("ledger.jsonl", ledger.as_bytes());
    let mut metrics = String::new();
    for step in 1..=5 {
        let loss = 100.0 / f64::from(step);
        metrics.push_str(&format!(
            "{}\n",
            json!({"step": step, "loss": {"test": loss}})
        ));
    }
    put("metrics.jsonl", metrics.as_bytes());
    let images: Vec<f32> = (0..20 * 64).map(|k| (k % 64) as f32 / 64.0).collect();
    put(
        "samples.png",
        &grid(&images, [8, 8, 1], 10, 8).expect("a grid"),
    );
    let chart = Chart {
        title: "falling".into(),
        x: Scale::linear("step"),
        y: Scale::linear("loss"),
        series: vec![Series::new("loss", vec![(0.0, 2.0), (1.0, 1.0)])],
        ..Chart::default()
    };
    put("chart.svg", &chart.draw().expect("a chart").bytes);
    folder.to_path_buf()
}
