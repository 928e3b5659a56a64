//! Sweeps: runs that differ only in their seeds, as mean and standard deviation.

mod find;
mod table;

pub use find::{SAMPLED_RUNS, find_runs};

use super::notes::{names, notes};
use super::privacy::{Standing, Statement};
use super::record::RunRecord;
use super::run_file::Better;
use super::settings::Settings;
use super::together::{Together, sentence};
use crate::figures::mean_and_deviation;

/// Settings that differ between repetitions in the same cell.
const SEEDS: [&str; 2] = ["seed", "insecure-noise-seed"];

/// The mean and the deviation of one result over the runs of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The number of runs that have the result.
    pub runs: usize,
    /// The mean over these runs.
    pub mean: f64,
    /// Their standard deviation, with divisor `n - 1`; absent for a single run.
    pub deviation: Option<f64>,
}

/// The runs of a sweep that differ only in their seeds.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The experiment.
    pub experiment: String,
    /// The settings without the seeds.
    pub settings: Settings,
    /// Epsilon and delta of one finished run, or a statement that nothing is promised.
    pub privacy: String,
    /// Epsilon and delta of all its runs together, if they use the same private records.
    pub privacy_of_all: String,
    /// The number of finished runs.
    pub finished: usize,
    /// The number of runs that did not finish; no mean includes them.
    pub unfinished: usize,
    /// The mean and the deviation of each result of [`Sweep::results`]; absent if no run has a finite one.
    pub spreads: Vec<Option<Spread>>,
}

/// A sweep: one cell for each combination of settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// The settings that differ between cells.
    pub varying: Vec<String>,
    /// The names of the results, and whether higher or lower is better.
    pub results: Vec<(String, Option<Better>)>,
    /// The cells, sorted by the settings that vary.
    pub cells: Vec<Cell>,
    /// A sentence about the budget that all private runs spend together.
    pub together: Option<String>,
    /// Warnings about single runs that a reader must know before believing the rest.
    pub warnings: Vec<String>,
}

impl Sweep {
    /// Groups runs by experiment and settings without the seeds.
    pub fn of(records: &[RunRecord]) -> Self {
        let mut groups: Vec<Group<'_>> = Vec::new();
        let mut results: Vec<(String, Option<Better>)> = Vec::new();
        for record in records {
            let settings = record.settings.without(&SEEDS);
            let experiment = record.run.as_ref().map(|run| run.experiment.as_str());
            let same = |group: &&mut Group<'_>| {
                // An unfinished run does not say which experiment it belongs to.
                let both = group.experiment.zip(experiment);
                group.settings == settings && both.is_none_or(|(a, b)| a == b)
            };
            match groups.iter_mut().find(same) {
                Some(group) => {
                    group.experiment = group.experiment.or(experiment);
                    group.runs.push(record);
                }
                None => groups.push(Group {
                    experiment,
                    settings,
                    runs: vec![record],
                }),
            }
            for metric in record.results() {
                if results.iter().all(|(name, _)| *name != metric.name) {
                    results.push((metric.name, metric.better));
                }
            }
        }
        let mut cells: Vec<Cell> = groups
            .into_iter()
            .map(|group| cell(group, &results))
            .collect();
        let varying = varying(&cells);
        cells.sort_by(|a, b| order(&varying, a, b));
        Self {
            varying,
            results,
            cells,
            together: sentence(records),
            warnings: notes(records, &names(records)),
        }
    }
}

/// Runs that differ only in their seeds.
struct Group<'a> {
    experiment: Option<&'a str>,
    settings: Settings,
    runs: Vec<&'a RunRecord>,
}

/// Compares cells by the settings that vary: absent ones first, then numbers, then words.
fn order(varying: &[String], a: &Cell, b: &Cell) -> std::cmp::Ordering {
    let mut orders = varying.iter().map(|name| {
        let (a, b) = (a.settings.get(name), b.settings.get(name));
        let number = |value: Option<&str>| value.and_then(|v| v.parse::<f64>().ok());
        match (number(a), number(b)) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            (first, second) => {
                let rank =
                    |value: Option<&str>, number: Option<f64>| (value.is_some(), number.is_none());
                rank(a, first).cmp(&rank(b, second)).then(a.cmp(&b))
            }
        }
    });
    let first = orders.find(|order| order.is_ne());
    first.unwrap_or_else(|| a.experiment.cmp(&b.experiment))
}

fn cell(group: Group<'_>, results: &[(String, Option<Better>)]) -> Cell {
    let runs = group.runs;
    let finished: Vec<&&RunRecord> = runs.iter().filter(|r| r.run.is_some()).collect();
    let mut privacy: Vec<String> = Vec::new();
    for record in &finished {
        let brief = Statement::of(record).brief();
        if !privacy.contains(&brief) {
            privacy.push(brief);
        }
    }
    if privacy.is_empty() {
        privacy.push(Standing::Unfinished.heading().to_string());
    }
    let privacy = privacy.join("; ");
    let spreads = results
        .iter()
        .map(|(name, _)| {
            let values: Vec<f64> = finished
                .iter()
                .flat_map(|record| record.results())
                .filter(|metric| metric.name == *name)
                .filter_map(|metric| metric.value)
                .filter(|value| value.is_finite())
                .collect();
            (!values.is_empty()).then(|| {
                let (mean, deviation) = mean_and_deviation(&values);
                Spread {
                    runs: values.len(),
                    mean,
                    deviation,
                }
            })
        })
        .collect();
    Cell {
        experiment: group
            .experiment
            .map_or_else(|| runs[0].experiment(), str::to_string),
        settings: group.settings,
        privacy_of_all: Together::of(&runs).brief(runs.len(), &privacy),
        privacy,
        finished: finished.len(),
        unfinished: runs.len() - finished.len(),
        spreads,
    }
}

fn varying(cells: &[Cell]) -> Vec<String> {
    let mut names: Vec<&str> = cells
        .iter()
        .flat_map(|cell| cell.settings.iter().map(|(name, _)| name))
        .collect();
    names.sort_unstable();
    names.dedup();
    let varies = |name: &&str| {
        cells
            .windows(2)
            .any(|pair| pair[0].settings.get(name) != pair[1].settings.get(name))
    };
    names
        .into_iter()
        .filter(varies)
        .map(str::to_string)
        .collect()
}
