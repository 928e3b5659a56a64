//! Figures over runs of `circle`: panels of generated points over the steps and the budgets of both sides, and the
//! distance to the circle over the steps and the budget (Rodriguez-Vitores et al. 2025, arXiv 2502.01701, figures 22
//! and 23).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use reporting::diagnostic::{Failure, OrFailed};
use reporting::figures::{LineChart, Particles, Scale, Series, Snapshot, mean_and_deviation};
use serde_json::Value;

use super::charts::Chart;
use super::runs::{distinct, finished};

/// The part of the plane that is seen.
const SIDE: f64 = 1.4;
/// Points of the circle behind the generated ones.
const CIRCLE: u32 = 200;

/// One finished run.
struct Run {
    folder: PathBuf,
    /// The method in words.
    method: String,
    epsilon: Option<f64>,
    seed: u64,
    distance: f64,
    /// Step and distance.
    course: Vec<(f64, f64)>,
}

impl Run {
    fn budget(&self) -> String {
        let budget = self.epsilon.map(|epsilon| format!("epsilon {epsilon}"));
        budget.unwrap_or_else(|| "not private".into())
    }

    /// What `run.json` in a folder says.
    fn of(folder: &Path, run: &Value) -> Self {
        let settings = &run["settings"];
        let method = match (settings["method"].as_str(), settings["clip"].as_str()) {
            (Some("smoothed"), _) if settings["combine"] == true => "smoothed distance, combined",
            (Some("smoothed"), _) => "smoothed distance",
            (_, Some("rows")) => "private gradients, the paper's constants",
            _ => "private gradients",
        };
        let metrics = std::fs::read_to_string(folder.join("metrics.jsonl")).unwrap_or_default();
        let lines = metrics
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let point =
            |line: Value| Some((line["step"].as_f64()?, line["sliced_w2_squared"].as_f64()?));
        Self {
            folder: folder.into(),
            method: method.into(),
            epsilon: settings["epsilon"].as_f64(),
            seed: settings["seed"].as_u64().unwrap_or(0),
            distance: run["test"]["sliced_w2_squared"]
                .as_f64()
                .unwrap_or(f64::NAN),
            course: lines.filter_map(point).collect(),
        }
    }
}

/// The panels of a run in its folder, by step.
pub fn circle_panels(folder: &Path) -> Result<BTreeMap<u64, Snapshot>, Failure> {
    let mut panels = BTreeMap::new();
    let files = std::fs::read_dir(folder).or_failed()?;
    for entry in files {
        let path = entry.or_failed()?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !(name.starts_with("panel-") && name.ends_with(".json")) {
            continue;
        }
        let text = std::fs::read_to_string(&path).or_failed()?;
        let panel: Value = serde_json::from_str(&text).or_failed()?;
        let step = panel["step"].as_u64().unwrap_or(0);
        let points = serde_json::from_value(panel["points"].clone()).or_failed()?;
        panels.insert(
            step,
            Snapshot {
                title: title(&panel),
                groups: vec![points, circle()],
            },
        );
    }
    Ok(panels)
}

fn title(panel: &Value) -> String {
    let side = |name: &str, key: &str| {
        let epsilon = panel[key].as_f64();
        epsilon.map_or(String::new(), |epsilon| format!(", {name} {epsilon:.2}"))
    };
    format!(
        "step {}: {:.4}{}{}",
        panel["step"],
        panel["sliced_w2_squared"].as_f64().unwrap_or(f64::NAN),
        side("X", "epsilon_source_upper"),
        side("Z", "epsilon_target_upper"),
    )
}

fn circle() -> Vec<(f64, f64)> {
    let point = |i: u32| {
        let angle = f64::from(i) / f64::from(CIRCLE) * std::f64::consts::TAU;
        (0.75 * angle.cos(), 0.75 * angle.sin())
    };
    (0..CIRCLE).map(point).collect()
}

/// The charts that the runs below some folders allow.
pub(super) fn charts(folders: &[PathBuf]) -> Result<Vec<Chart>, Failure> {
    let runs = finished(folders, "circle")?.into_iter();
    let runs: Vec<Run> = runs.map(|(folder, run)| Run::of(&folder, &run)).collect();
    if runs.is_empty() {
        return Err(Failure::input(
            "--runs: no finished run of circle there",
            "run `just sweep assets/sweeps/circle.toml` first",
        ));
    }
    let mut charts = vec![over_budgets(&runs)?];
    for method in distinct(runs.iter().map(|run| run.method.clone())) {
        let of: Vec<&Run> = runs.iter().filter(|run| run.method == method).collect();
        charts.push(over_steps(&method, &of)?);
        charts.extend(panels(&method, &of)?);
    }
    Ok(charts)
}

fn file(method: &str, what: &str) -> String {
    let method = method.replace(", ", "-").replace([' ', '\''], "-");
    format!("circle-{method}-{what}.svg")
}

fn over_budgets(runs: &[Run]) -> Result<Chart, Failure> {
    let mut series = Vec::new();
    for method in distinct(runs.iter().map(|run| run.method.clone())) {
        let of = || runs.iter().filter(|run| run.method == method);
        let mut line = Series::new(method.clone(), Vec::new());
        for epsilon in distinct(of().filter_map(|run| run.epsilon)) {
            let here = of().filter(|run| run.epsilon == Some(epsilon));
            let values: Vec<f64> = here.map(|run| run.distance).collect();
            let (mean, deviation) = mean_and_deviation(&values);
            let deviation = deviation.unwrap_or(0.0).min(0.9 * mean);
            line.points.push((epsilon, mean));
            line.band.push((mean - deviation, mean + deviation));
        }
        if !line.points.is_empty() {
            series.push(line);
        }
    }
    let chart = LineChart {
        x: Scale::logarithmic("epsilon of the circle's points"),
        y: Scale::logarithmic("SW2^2 to the circle"),
        series,
        ..LineChart::default()
    };
    Ok(Chart {
        file: "circle-budgets.svg".into(),
        caption:
            "Squared sliced distance to the circle over its budget, mean and deviation over seeds"
                .into(),
        bytes: chart.draw()?.bytes,
    })
}

fn over_steps(method: &str, runs: &[&Run]) -> Result<Chart, Failure> {
    let budgets = distinct(runs.iter().map(|run| (run.epsilon, run.budget())));
    let series = budgets.into_iter().map(|(_, budget)| {
        let here = runs.iter().filter(|run| run.budget() == budget);
        let courses: Vec<Vec<(f64, f64)>> = here.map(|run| run.course.clone()).collect();
        let mut series = Series::mean_and_deviation(budget, &courses);
        // A logarithmic axis has no place below 0.
        for ((_, mean), (low, _)) in series.points.iter().zip(&mut series.band) {
            *low = low.max(0.1 * mean);
        }
        series
    });
    let chart = LineChart {
        title: method.into(),
        x: Scale::linear("step"),
        y: Scale::logarithmic("SW2^2 to the circle"),
        series: series.collect(),
        ..LineChart::default()
    };
    Ok(Chart {
        file: file(method, "steps"),
        caption: format!("Squared sliced distance to the circle over the steps: {method}"),
        bytes: chart.draw()?.bytes,
    })
}

/// A row a budget, a column a step: the first seed's.
fn panels(method: &str, runs: &[&Run]) -> Result<Option<Chart>, Failure> {
    let seed = runs.iter().map(|run| run.seed).min().unwrap_or(0);
    let mut snapshots = Vec::new();
    let mut columns = usize::MAX;
    for (_, budget) in distinct(runs.iter().map(|run| (run.epsilon, run.budget()))) {
        let run = runs
            .iter()
            .find(|run| run.seed == seed && run.budget() == budget);
        let Some(run) = run else { continue };
        let row: Vec<Snapshot> = circle_panels(&run.folder)?.into_values().collect();
        columns = columns.min(row.len());
        snapshots.push(row);
    }
    if snapshots.is_empty() || columns == 0 {
        return Ok(None);
    }
    let last = |row: Vec<Snapshot>| {
        row.into_iter()
            .rev()
            .take(columns)
            .rev()
            .collect::<Vec<_>>()
    };
    let panels = Particles {
        snapshots: snapshots.into_iter().flat_map(last).collect(),
        names: vec!["generated".into(), "circle".into()],
        density: None,
        levels: Vec::new(),
        x: -SIDE..SIDE,
        y: -SIDE..SIDE,
        columns,
    };
    Ok(Some(Chart {
        file: file(method, "panels"),
        caption: format!(
            "Generated points over the steps (columns), a row a budget, with the squared sliced distance and the \
             epsilon of what the network is fed (X) and of the circle (Z): {method}"
        ),
        bytes: panels.draw()?.bytes,
    }))
}
