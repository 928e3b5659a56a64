//! Loss curves over epsilon, and trade-off curves over the weight of the penalty.

use reporting::diagnostic::Failure;
use reporting::figures::{
    LineChart, Measured, Method, Scale, Series, TradeOff, mean_and_deviation,
};

use super::runs::{FairRun, distinct};

pub(super) struct Chart {
    pub file: String,
    /// What it shows.
    pub caption: String,
    /// SVG.
    pub bytes: Vec<u8>,
}

/// All charts of a task.
pub(super) fn of(kind: &str, runs: &[&FairRun]) -> Result<Vec<Chart>, Failure> {
    let mut charts = curves(kind, runs)?;
    charts.extend(differences(kind, runs)?);
    for (unfair, label) in [
        ("w2_squared", "SW2^2 between groups"),
        ("kolmogorov_smirnov", "Kolmogorov-Smirnov distance"),
        ("demographic_parity_gap", "demographic parity gap"),
        ("eo0", "EO0 (1 is fair)"),
        ("eo1", "EO1 (1 is fair)"),
    ] {
        let (cost, cost_label) = if runs.iter().any(|r| r.score("mse").is_some()) {
            ("mse", "mean squared error")
        } else if kind == "representation" {
            ("rl_core", "reconstruction of core features")
        } else {
            ("accuracy", "accuracy")
        };
        charts.extend(trade_off(kind, runs, (unfair, label), (cost, cost_label))?);
    }
    Ok(charts)
}

/// For each weight of the penalty the objective over the steps, a line each budget.
fn curves(kind: &str, runs: &[&FairRun]) -> Result<Vec<Chart>, Failure> {
    let plain: Vec<&&FairRun> = runs.iter().filter(|r| r.is_plain()).collect();
    let mut charts = Vec::new();
    for alpha in distinct(plain.iter().map(|r| r.alpha)) {
        let here = || plain.iter().filter(move |r| r.alpha == alpha);
        let series: Vec<Series> = distinct(here().map(|r| r.budget()))
            .into_iter()
            .map(|budget| {
                let curves: Vec<Vec<(f64, f64)>> = here()
                    .filter(|r| r.budget() == budget)
                    .map(|r| curve(r))
                    .collect();
                Series::mean_and_deviation(budget, &curves)
            })
            .collect();
        charts.push(Chart {
            file: format!("{kind}-curve-alpha{alpha}.svg"),
            caption: format!("Objective over the steps, alpha {alpha}"),
            bytes: over_steps(alpha, "objective on test records", series)?,
        });
    }
    Ok(charts)
}

/// Lines over the steps, as a picture.
fn over_steps(alpha: f64, label: &str, series: Vec<Series>) -> Result<Vec<u8>, Failure> {
    let chart = LineChart {
        title: format!("alpha {alpha}"),
        x: Scale::linear("step"),
        y: Scale::linear(label),
        series,
        ..LineChart::default()
    };
    Ok(chart.draw()?.bytes)
}

/// For each weight of the penalty the objective of private runs minus that of the run of the same seed
/// without privacy (figure 21, below): what the noise alone does, where runs of a seed share all else.
fn differences(kind: &str, runs: &[&FairRun]) -> Result<Vec<Chart>, Failure> {
    let known: Vec<&&FairRun> = runs.iter().filter(|r| r.is_plain() && r.coupled).collect();
    let mut charts = Vec::new();
    for alpha in distinct(known.iter().map(|r| r.alpha)) {
        let here = || known.iter().filter(move |r| r.alpha == alpha);
        let mut series = Vec::new();
        for epsilon in distinct(here().filter_map(|r| r.epsilon)) {
            let mut lines = Vec::new();
            for run in here().filter(|r| r.epsilon == Some(epsilon)) {
                let plain = here().find(|r| r.epsilon.is_none() && r.seed == run.seed);
                let Some(plain) = plain else { continue };
                let pairs = curve(run).into_iter().zip(curve(plain));
                lines.push(
                    pairs
                        .filter(|(private, plain)| private.0 == plain.0)
                        .map(|(private, plain)| (private.0, private.1 - plain.1))
                        .collect(),
                );
            }
            if !lines.is_empty() {
                let name = format!("epsilon {epsilon}");
                series.push(Series::mean_and_deviation(name, &lines));
            }
        }
        if series.is_empty() {
            continue;
        }
        charts.push(Chart {
            file: format!("{kind}-difference-alpha{alpha}.svg"),
            caption: format!("What privacy adds to the objective of the same seed, alpha {alpha}"),
            bytes: over_steps(alpha, "objective minus that without privacy", series)?,
        });
    }
    Ok(charts)
}

/// The objective on test records over the steps of a run.
fn curve(run: &FairRun) -> Vec<(f64, f64)> {
    let point =
        |line: &serde_json::Value| Some((line["step"].as_f64()?, line["objective"].as_f64()?));
    run.steps.iter().filter_map(point).collect()
}

/// What unfairness costs: a point each weight or radius, with the spread over seeds.
fn trade_off(
    kind: &str,
    runs: &[&FairRun],
    (unfair, unfair_label): (&str, &str),
    (cost, cost_label): (&str, &str),
) -> Result<Option<Chart>, Failure> {
    let mut methods = Vec::new();
    for name in distinct(runs.iter().map(|r| r.method())) {
        let of: Vec<&&FairRun> = runs.iter().filter(|r| r.method() == name).collect();
        let mut points = Vec::new();
        for value in distinct(of.iter().map(|r| r.level())) {
            let at = |score: &str| -> Vec<f64> {
                of.iter()
                    .filter(|r| r.level() == value)
                    .filter_map(|r| r.score(score))
                    .collect()
            };
            let (x, y) = (at(unfair), at(cost));
            if x.is_empty() || y.is_empty() {
                continue;
            }
            let ((x, x_error), (y, y_error)) = (mean_and_deviation(&x), mean_and_deviation(&y));
            points.push(Measured {
                x,
                y,
                x_error: x_error.unwrap_or(0.0),
                y_error: y_error.unwrap_or(0.0),
            });
        }
        if !points.is_empty() {
            methods.push(Method {
                name,
                points,
                joined: true,
            });
        }
    }
    if methods.is_empty() {
        return Ok(None);
    }
    let chart = TradeOff {
        title: String::new(),
        x: Scale::linear(unfair_label),
        y: Scale::linear(cost_label),
        methods,
    };
    Ok(Some(Chart {
        file: format!("{kind}-{unfair}.svg"),
        caption: format!("{cost_label} over {unfair_label}, mean and deviation over seeds"),
        bytes: chart.draw()?.bytes,
    }))
}
