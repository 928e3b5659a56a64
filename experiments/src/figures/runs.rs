//! Finished runs of `fair`, as figures need them.

use std::path::{Path, PathBuf};

use lab::diagnostic::Failure;
use serde_json::Value;

/// One finished run.
pub struct FairRun {
    /// Its folder.
    pub folder: PathBuf,
    /// Its task, with the notion where that is not statistical parity.
    pub kind: String,
    /// Budget; none without privacy.
    pub epsilon: Option<f64>,
    /// Weight of the penalty.
    pub alpha: f64,
    /// Radius of a post-processing.
    pub post_process: Option<f64>,
    /// Whether the paper's sensitivity was declared.
    pub paper: bool,
    /// Scores on test records.
    pub scores: Value,
    /// Lines of `metrics.jsonl`.
    pub course: Vec<Value>,
    /// The public seed.
    pub seed: u64,
}

impl FairRun {
    /// A score, if the task has it.
    pub fn score(&self, name: &str) -> Option<f64> {
        self.scores[name].as_f64()
    }

    /// The budget in words.
    pub fn budget(&self) -> String {
        self.epsilon
            .map_or("not private".to_string(), |e| format!("epsilon {e}"))
    }
}

/// The finished runs below a folder.
///
/// # Errors
///
/// [`Failure::BadInput`] names a `run.json` that cannot be read.
pub fn read(folder: &Path) -> Result<Vec<FairRun>, Failure> {
    let mut found = Vec::new();
    for path in lab::report::find_runs(folder)? {
        let file = path.join("run.json");
        if !file.exists() {
            println!("left out  {}: not finished", path.display());
            continue;
        }
        let bad = |e: &dyn std::fmt::Display| {
            Failure::input(
                format!("{}: {e}", file.display()),
                "finish the run, or leave its folder out",
            )
        };
        let text = std::fs::read_to_string(&file).map_err(|e| bad(&e))?;
        let told: Value = serde_json::from_str(&text).map_err(|e| bad(&e))?;
        if told["experiment"] != "fair" {
            continue;
        }
        let settings = &told["settings"];
        let task = settings["task"].as_str().unwrap_or_default();
        let course = std::fs::read_to_string(path.join("metrics.jsonl")).unwrap_or_default();
        found.push(FairRun {
            kind: match settings["notion"].as_str() {
                Some("eo") => format!("{task}-eo"),
                _ => task.to_string(),
            },
            epsilon: settings["epsilon"].as_f64(),
            alpha: settings["alpha"].as_f64().unwrap_or(0.0),
            post_process: settings["post-process"].as_f64(),
            paper: settings["paper-sensitivity"].as_bool().unwrap_or(false),
            scores: told["test"].clone(),
            course: course
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect(),
            seed: settings["seed"].as_u64().unwrap_or(0),
            folder: path,
        });
    }
    Ok(found)
}

/// The tasks of some runs, in order.
pub fn kinds(runs: &[FairRun]) -> Vec<String> {
    distinct(runs.iter().map(|run| run.kind.clone()))
}

/// Sorted values without repetition.
pub fn distinct<T: PartialOrd>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    values.dedup();
    values
}
