//! What is shown of a run.

use lab::diagnostic::Failure;
use lab::figures::{Histogram, LineChart, Scale, Series, scatter};
use lab::report::{Better, Metric};
use lab::run_folder::RunFolder;
use lab::session::{Report, Session};
use serde_json::{Value, json};

use super::metrics::{Predictions, Scores};
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
    let scores = run.scores(predicted)?;
    let mut pictures = groups(run, predicted)?;
    pictures.push(curve(&session.folder)?);
    Ok(Report {
        pictures,
        metrics: metrics(&scores),
        test: json!(scores).as_object().cloned().unwrap_or_default(),
        ..Report::default()
    })
}

fn metrics(scores: &Scores) -> Vec<Metric> {
    let (lower, higher) = (Some(Better::Lower), Some(Better::Higher));
    let (in_ball, distance) = (scores.w2_squared_in_ball, scores.kolmogorov_smirnov);
    let penalised = "SW2^2 between groups, as it is penalised";
    let of = |(name, value, better): (&str, Option<f64>, Option<Better>)| {
        let metric = Metric::new(name, value?);
        Some(Metric { better, ..metric })
    };
    let metrics = [
        ("Objective on test records", Some(scores.objective), lower),
        ("Loss", Some(scores.loss), lower),
        ("Penalty", Some(scores.penalty), lower),
        ("SW2^2 between groups", Some(scores.w2_squared), lower),
        (penalised, in_ball, lower),
        ("Accuracy", scores.accuracy, higher),
        (
            "Disparate impact (1 is fair)",
            scores.disparate_impact,
            None,
        ),
        ("EO0 (1 is fair)", scores.eo0, None),
        ("EO1 (1 is fair)", scores.eo1, None),
        ("OD0", scores.od0, None),
        ("OD1", scores.od1, None),
        (
            "Demographic parity gap",
            scores.demographic_parity_gap,
            lower,
        ),
        ("Mean squared error", scores.mse, lower),
        ("RL_core", scores.rl_core, lower),
        (
            "Kolmogorov-Smirnov distance between groups",
            distance,
            lower,
        ),
    ];
    metrics.into_iter().filter_map(of).collect()
}

type Picture = (&'static str, String, Vec<u8>);

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

/// The scores over the steps.
fn curve(folder: &RunFolder) -> Result<Picture, Failure> {
    let text = std::fs::read_to_string(folder.file("metrics.jsonl")).map_err(Failure::failed)?;
    let lines = text.lines().map(serde_json::from_str);
    let lines: Vec<Value> = lines.collect::<Result<_, _>>().map_err(Failure::failed)?;
    let curve = |key: &str| {
        let point = |line: &Value| Some((line["step"].as_f64()?, line[key].as_f64()?));
        Series::new(key, lines.iter().filter_map(point).collect())
    };
    let chart = LineChart {
        x: Scale::linear("step"),
        y: Scale::linear("on test records"),
        series: ["objective", "loss", "penalty"].map(curve).into(),
        ..LineChart::default()
    };
    let caption = "Objective, loss and penalty over the steps".to_string();
    Ok(("curve.svg", caption, chart.draw()?.bytes))
}
