//! The state of a run over its steps, as `metrics.jsonl` tells it.

use std::path::Path;

/// The lines of `metrics.jsonl`, and the epsilon spent at each of a private step.
pub fn metrics(out: &Path) -> (Vec<serde_json::Value>, Vec<f64>) {
    let text = std::fs::read_to_string(out.join("metrics.jsonl")).expect("metrics");
    text.lines()
        .map(|line| {
            let mut line: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let spent = line["epsilon_upper"].take().as_f64().unwrap_or(0.0);
            (line, spent)
        })
        .unzip()
}
