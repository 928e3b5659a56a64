//! What is shown of a run.

use lab::diagnostic::Failure;
use lab::figures::{Histogram, Scale, scatter};
use lab::session::{Picture, Report, Session, curve};

use super::metrics::{Predictions, scores};
use super::settings::Notion;
use super::table::Tables;
use super::train::Fair;

/// Points of a scatter plot.
const POINTS: usize = 3000;

/// Scores and pictures of predictions of test records.
pub(crate) fn report(
    run: &Fair,
    session: &Session,
    predicted: &Predictions,
) -> Result<Report, Failure> {
    let mut pictures = groups(run, predicted)?;
    let curves = ["objective", "loss", "penalty"].map(|key| (key, key));
    let caption = "Objective, loss and penalty over the steps";
    let y = Scale::linear("on test records");
    pictures.push(curve(&session.folder, y, &curves, caption)?);
    Ok(Report {
        pictures,
        ..scores(predicted, &run.tables, &run.settings)?.report()
    })
}

/// Predictions by group.
fn groups(run: &Fair, predicted: &Predictions) -> Result<Vec<Picture>, Failure> {
    let test = &run.tables.test;
    let d = run.settings.task.penalised();
    if d > 1 {
        let count = test.len().min(POINTS);
        let classes: Vec<usize> = test.groups()[..count].iter().map(|&g| g.into()).collect();
        let points = &predicted.activations[..count * d];
        let radius = points.iter().fold(0.1f32, |r, x| r.max(x.abs()));
        let bytes = scatter(points, d, &classes, radius)?;
        let caption = format!("{count} test records by sensitive attribute");
        return Ok(vec![("group.svg", caption, bytes)]);
    }
    let mut pictures = Vec::new();
    let groups = Tables::groups(test, run.settings.notion);
    let names = ["group.svg", "group-class-1.svg"];
    for (class, (pair, name)) in groups.chunks_exact(2).zip(names).enumerate() {
        let values = |group: &Vec<usize>| {
            let value = |&i: &usize| f64::from(predicted.activations[i]);
            group.iter().map(value).collect()
        };
        let of = match run.settings.notion {
            Notion::Sp => String::new(),
            Notion::Eo => format!(", Y = {class}"),
        };
        let named = |a: usize| (format!("A = {a}{of}"), values(&pair[a]));
        let chart = Histogram {
            quantity: "output".into(),
            groups: [0, 1].map(named).into(),
            bins: 40,
            range: run.settings.task.classifies().then_some((0.0, 1.0)),
            ..Histogram::default()
        };
        let caption = format!("Outputs on test records by group{of}");
        pictures.push((name, caption, chart.draw()?.bytes));
    }
    Ok(pictures)
}
