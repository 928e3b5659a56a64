//! What is shown of a run: panels over its steps, and the distance over them.

use lab::diagnostic::Failure;
use lab::figures::{LineChart, Particles, Scale, Series, Snapshot};
use lab::report::{Better, Metric};
use lab::run_folder::RunFolder;
use lab::session::{Report, Session};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::train::Circle;

/// Points of a panel.
const POINTS: usize = 400;
/// The steps that have a panel, as parts of 25 of the run.
const PARTS: [u64; 5] = [1, 3, 7, 13, 25];

/// Generated points at one step, as `panel-STEP.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Panel {
    step: u64,
    sliced_w2_squared: f64,
    epsilon_source_upper: Option<f64>,
    epsilon_target_upper: Option<f64>,
    points: Vec<(f64, f64)>,
}

fn in_plane(rows: &[f32]) -> Vec<(f64, f64)> {
    let points = rows.chunks_exact(2).take(POINTS);
    points.map(|p| (f64::from(p[0]), f64::from(p[1]))).collect()
}

fn panel_steps(steps: u64) -> impl Iterator<Item = u64> {
    let part = (steps / 25).max(1);
    PARTS
        .into_iter()
        .map(move |p| if p == 25 { steps } else { p * part })
}

impl Panel {
    /// The first of the generated points.
    pub(crate) fn new(
        step: u64,
        distance: f64,
        epsilons: [Option<f64>; 2],
        generated: &[f32],
    ) -> Self {
        Self {
            step,
            sliced_w2_squared: distance,
            epsilon_source_upper: epsilons[0],
            epsilon_target_upper: epsilons[1],
            points: in_plane(generated),
        }
    }

    /// Writes it, where its step has a panel.
    pub(crate) fn write(&self, folder: &RunFolder, steps: u64) -> Result<(), Failure> {
        match panel_steps(steps).any(|step| step == self.step) {
            true => folder.write_json(&name(self.step), self).map(drop),
            false => Ok(()),
        }
    }

    fn title(&self) -> String {
        let sides = [
            ("X", self.epsilon_source_upper),
            ("Z", self.epsilon_target_upper),
        ];
        let sides = sides
            .iter()
            .filter_map(|(side, epsilon)| epsilon.map(|e| format!(", {side} {e:.2}")));
        let sides: String = sides.collect();
        format!("step {}: {:.4}{sides}", self.step, self.sliced_w2_squared)
    }
}

fn name(step: u64) -> String {
    format!("panel-{step}.json")
}

/// The panels of a run, and its score.
pub(crate) fn report(run: &Circle, session: &Session) -> Result<Report, Failure> {
    let folder = &session.folder;
    let distance = run.distance(&run.generated()?)?;
    let mut snapshots = Vec::new();
    let mut seen = 0;
    for step in panel_steps(run.settings.steps) {
        let path = folder.file(&name(step));
        // Short runs have fewer.
        if step <= seen || !path.exists() {
            continue;
        }
        seen = step;
        let text = std::fs::read_to_string(&path).map_err(Failure::failed)?;
        let panel: Panel = serde_json::from_str(&text).map_err(Failure::failed)?;
        snapshots.push(Snapshot {
            title: panel.title(),
            groups: vec![panel.points, in_plane(&run.fresh_target)],
        });
    }
    let columns = snapshots.len().clamp(1, 3);
    let side = 1.4;
    let panels = Particles {
        snapshots,
        names: vec!["generated".into(), "circle".into()],
        density: None,
        levels: Vec::new(),
        x: -side..side,
        y: -side..side,
        columns,
    };
    let panels = panels.draw()?.bytes;
    let caption = "Generated points over the steps, with the squared sliced distance to the circle and the epsilon \
                   of both sides (X: what the network is fed, Z: the circle)";
    let mut metrics = vec![Metric::new("SW2^2 to the circle", distance).better(Better::Lower)];
    let test = json!({"sliced_w2_squared": distance});
    // Steps that a killed run made again count.
    let releases = run
        .planned(run.settings.steps)
        .max(session.ledger.releases());
    let [source, target] = run.epsilons(releases)?;
    let name = "Epsilon where one of the circle's points is replaced (upper bound)";
    metrics.extend(target.map(|target| Metric::new(name, target)));
    Ok(Report {
        pictures: vec![("panels.svg", caption.into(), panels), curve(folder)?],
        metrics,
        test: test.as_object().cloned().unwrap_or_default(),
        more: vec![
            ("epsilon_source_upper", json!(source)),
            ("epsilon_target_upper", json!(target)),
        ],
        ..Report::default()
    })
}

/// The distance over the steps.
fn curve(folder: &RunFolder) -> Result<(&'static str, String, Vec<u8>), Failure> {
    let text = std::fs::read_to_string(folder.file("metrics.jsonl")).map_err(Failure::failed)?;
    let lines = text.lines().map(serde_json::from_str);
    let lines: Vec<Value> = lines.collect::<Result<_, _>>().map_err(Failure::failed)?;
    let point = |line: &Value| Some((line["step"].as_f64()?, line["sliced_w2_squared"].as_f64()?));
    let points = lines.iter().filter_map(point).collect();
    let chart = LineChart {
        x: Scale::linear("step"),
        y: Scale::logarithmic("SW2^2 to the circle"),
        series: vec![Series::new("generated", points)],
        ..LineChart::default()
    };
    let caption = "The squared sliced distance to fresh points of the circle".to_string();
    Ok(("curve.svg", caption, chart.draw()?.bytes))
}
