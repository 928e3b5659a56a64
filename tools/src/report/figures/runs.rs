//! Finished runs of `fair`, as figures need them.

use std::path::PathBuf;

use reporting::diagnostic::Failure;
use reporting::report::{RunFile, RunRecord, find_runs};
use serde_json::Value;

/// One finished run.
pub(super) struct FairRun {
    pub folder: PathBuf,
    /// Its task, with the notion where that is not statistical parity.
    pub kind: String,
    /// Budget; none without privacy.
    pub epsilon: Option<f64>,
    /// Weight of the penalty.
    pub alpha: f64,
    /// Radius of a post-processing.
    pub post_process: Option<f64>,
    /// The share of epsilon that a post-processing spent.
    pub post_share: f64,
    /// The bounds of its clipping: `M` of the activations, `C` of the loss's gradients.
    pub bounds: [(&'static str, f64); 2],
    /// Those of them that most runs of the task have not, in words.
    pub other_bounds: String,
    /// Scores on test records.
    pub scores: Value,
    /// On test records, over the steps.
    pub objective: Vec<(f64, f64)>,
    /// The public seed.
    pub seed: u64,
    /// Whether it shares batches and noise with other runs of its seed (C.6).
    pub coupled: bool,
}

impl FairRun {
    /// A score, if the task has it.
    pub(super) fn score(&self, name: &str) -> Option<f64> {
        self.scores[name].as_f64()
    }

    /// The budget in words, and the bounds that are not those of most runs.
    pub(super) fn budget(&self) -> String {
        let budget = self
            .epsilon
            .map_or("not private".to_string(), |e| format!("epsilon {e}"));
        format!("{budget}{}", self.other_bounds)
    }

    /// Budget and method in words.
    pub(super) fn method(&self) -> String {
        let how = match self.post_process {
            Some(_) if self.alpha > 0.0 => ", then post-processing",
            Some(_) => ", post-processing",
            None => "",
        };
        let share = match self.post_process {
            Some(_) if self.post_share != 0.5 => format!(" by {} of it", self.post_share),
            _ => String::new(),
        };
        format!("{}{how}{share}", self.budget())
    }

    /// Where a run stands among those of its method: radius of a post-processing, weight of the penalty.
    pub(super) fn level(&self) -> (f64, f64) {
        (self.post_process.unwrap_or(-1.0), self.alpha)
    }

    /// Whether it is the penalty as the task's preset has it.
    pub(super) fn is_plain(&self) -> bool {
        self.post_process.is_none() && self.other_bounds.is_empty()
    }
}

/// The finished runs of an experiment below some folders, with what their `run.json` says.
pub(super) fn finished(
    folders: &[PathBuf],
    experiment: &str,
) -> Result<Vec<(RunRecord, RunFile)>, Failure> {
    let mut found = Vec::new();
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        for path in find_runs(folder)? {
            let mut record = RunRecord::read(&path)?;
            match record.run.take() {
                Some(run) if run.experiment == experiment => found.push((record, run)),
                Some(_) => {}
                None => println!("left out  {}: not finished", path.display()),
            }
        }
    }
    Ok(found)
}

/// The finished runs of `fair` below some folders.
pub(super) fn read(folders: &[PathBuf]) -> Result<Vec<FairRun>, Failure> {
    let run = |(record, run): (RunRecord, RunFile)| {
        let settings = Value::Object(run.settings);
        let task = settings["task"].as_str().unwrap_or_default();
        let objective = record.metrics.curve("objective");
        FairRun {
            kind: match settings["notion"].as_str() {
                Some("eo") => format!("{task}-eo"),
                _ => task.to_string(),
            },
            epsilon: settings["epsilon"].as_f64(),
            alpha: settings["alpha"].as_f64().unwrap_or(0.0),
            post_process: settings["post-process"].as_f64(),
            post_share: settings["post-share"].as_f64().unwrap_or(0.5),
            bounds: [("M", "clip-activation"), ("C", "max-grad-norm")]
                .map(|(name, flag)| (name, settings[flag].as_f64().unwrap_or(0.0))),
            other_bounds: String::new(),
            scores: Value::Object(run.test),
            objective: objective.map_or_else(Vec::new, |curve| curve.points.clone()),
            seed: settings["seed"].as_u64().unwrap_or(0),
            coupled: settings["insecure-noise-seed"].is_u64(),
            folder: record.folder,
        }
    };
    let mut found: Vec<FairRun> = finished(folders, "fair")?.into_iter().map(run).collect();
    name_other_bounds(&mut found);
    Ok(found)
}

/// Finds the bounds that are not those of most runs of a task.
fn name_other_bounds(runs: &mut [FairRun]) {
    for kind in kinds(runs) {
        for which in 0..2 {
            let here = runs.iter().filter(|run| run.kind == kind);
            let values: Vec<f64> = here.map(|run| run.bounds[which].1).collect();
            let count = |value: &f64| values.iter().filter(|other| *other == value).count();
            let Some(&usual) = values.iter().max_by_key(|&value| count(value)) else {
                continue;
            };
            for run in runs.iter_mut().filter(|run| run.kind == kind) {
                let (name, value) = run.bounds[which];
                if value != usual {
                    run.other_bounds += &format!(", {name} {value}");
                }
            }
        }
    }
}

/// The tasks of some runs, in order.
pub(super) fn kinds(runs: &[FairRun]) -> Vec<String> {
    distinct(runs.iter().map(|run| run.kind.clone()))
}

/// Sorted values without repetition.
pub(super) fn distinct<T: PartialOrd>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    values.dedup();
    values
}
