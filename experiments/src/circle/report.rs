//! Panels over the steps of a run, and the distance over them.

use lab::diagnostic::Failure;
use lab::figures::{Particles, Scale, Snapshot};
use lab::run_folder::RunFolder;
use lab::session::{Picture, Scores, Session, curve};
use serde_json::json;

/// Points of a panel.
const POINTS: usize = 400;
/// The steps that have a panel, as parts of 25 of the run.
const PARTS: [u64; 5] = [1, 3, 7, 13, 25];

/// Writes generated points as `panel-STEP.json`, where their step has a panel.
pub(crate) fn panel(
    session: &Session,
    steps: u64,
    scores: &Scores,
    [source, target]: [Option<f64>; 2],
    generated: &[f32],
) -> Result<(), Failure> {
    let step = session.step;
    let steps = PARTS.map(|part| match part {
        25 => steps,
        part => part * (steps / 25).max(1),
    });
    if !steps.contains(&step) {
        return Ok(());
    }
    let points = generated.chunks_exact(2).take(POINTS);
    let panel = json!({
        "step": step,
        "sliced_w2_squared": scores.values()["sliced_w2_squared"],
        "epsilon_source_upper": source,
        "epsilon_target_upper": target,
        "points": points.collect::<Vec<_>>(),
    });
    let file = format!("panel-{step}.json");
    session.folder.write_json(&file, &panel).map(drop)
}

/// The panels of a run, and its scores over the steps.
pub(crate) fn pictures(folder: &RunFolder) -> Result<Vec<Picture>, Failure> {
    let snapshots = tools::figures::circle_panels(folder.path())?.into_values();
    let snapshots: Vec<Snapshot> = snapshots.collect();
    let (columns, side) = (snapshots.len().clamp(1, 3), 1.4);
    let panels = Particles {
        snapshots,
        names: vec!["generated".into(), "circle".into()],
        density: None,
        levels: Vec::new(),
        x: -side..side,
        y: -side..side,
        columns,
    };
    let caption = "Generated points over the steps, with the squared sliced distance to the circle and the epsilon \
                   of both sides (X: what the network is fed, Z: the circle)";
    let y = Scale::logarithmic("SW2^2 to the circle");
    let shown = [("sliced_w2_squared", "generated")];
    let over_steps = "The squared sliced distance to fresh points of the circle";
    Ok(vec![
        ("panels.svg", caption.into(), panels.draw()?.bytes),
        curve(folder, y, &shown, over_steps)?,
    ])
}
