//! Loss curves over epsilon, and trade-off curves over the weight of the penalty.

use reporting::diagnostic::Failure;
use reporting::figures::{Chart, Mark, Point, Scale, Series, mean_and_deviation};

use super::runs::{FairRun, distinct};

/// A chart that is drawn.
pub(super) struct Drawing {
    pub file: String,
    /// What it shows.
    pub caption: String,
    /// SVG.
    pub bytes: Vec<u8>,
}

/// All charts of a task.
pub(super) fn of(kind: &str, runs: &[&FairRun]) -> Result<Vec<Drawing>, Failure> {
    let plain: Vec<&FairRun> = runs.iter().copied().filter(|r| r.is_plain()).collect();
    let (mut charts, mut added) = (Vec::new(), Vec::new());
    for alpha in distinct(plain.iter().map(|r| r.alpha)) {
        let here: Vec<&FairRun> = plain.iter().copied().filter(|r| r.alpha == alpha).collect();
        charts.push(over_steps(
            format!("{kind}-curve-alpha{alpha}.svg"),
            format!("Objective over the steps, alpha {alpha}"),
            alpha,
            ("objective on test records", curves(&here)),
        )?);
        let series = differences(&here);
        if !series.is_empty() {
            added.push(over_steps(
                format!("{kind}-difference-alpha{alpha}.svg"),
                format!("What privacy adds to the objective of the same seed, alpha {alpha}"),
                alpha,
                ("objective minus that without privacy", series),
            )?);
        }
    }
    charts.append(&mut added);
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

/// Lines over the steps.
fn over_steps(
    file: String,
    caption: String,
    alpha: f64,
    (label, series): (&str, Vec<Series>),
) -> Result<Drawing, Failure> {
    let chart = Chart {
        title: format!("alpha {alpha}"),
        x: Scale::linear("step"),
        y: Scale::linear(label),
        series,
        ..Chart::default()
    };
    Ok(Drawing {
        file,
        caption,
        bytes: chart.draw()?.bytes,
    })
}

/// The objective over the steps, a line each budget.
fn curves(runs: &[&FairRun]) -> Vec<Series> {
    let budgets = distinct(runs.iter().map(|r| r.budget())).into_iter();
    let line = |budget: String| {
        let of = runs.iter().filter(|r| r.budget() == budget);
        let curves: Vec<Vec<(f64, f64)>> = of.map(|r| r.objective.clone()).collect();
        Series::mean_and_deviation(budget, &curves)
    };
    budgets.map(line).collect()
}

/// The objective of private runs minus that of the run of the same seed without privacy (figure 21, below): what the
/// noise alone does, where runs of a seed share all else.
fn differences(runs: &[&FairRun]) -> Vec<Series> {
    let coupled = || runs.iter().filter(|r| r.coupled);
    let line = |epsilon: f64| {
        let mut lines = Vec::new();
        for run in coupled().filter(|r| r.epsilon == Some(epsilon)) {
            let plain = coupled().find(|r| r.epsilon.is_none() && r.seed == run.seed);
            let Some(plain) = plain else { continue };
            let pairs = run.objective.iter().zip(&plain.objective);
            let pairs = pairs.filter(|(private, plain)| private.0 == plain.0);
            lines.push(pairs.map(|(a, b)| (a.0, a.1 - b.1)).collect());
        }
        let name = format!("epsilon {epsilon}");
        (!lines.is_empty()).then(|| Series::mean_and_deviation(name, &lines))
    };
    let budgets = distinct(coupled().filter_map(|r| r.epsilon)).into_iter();
    budgets.filter_map(line).collect()
}

/// What unfairness costs: a point each weight or radius, with the spread over seeds.
fn trade_off(
    kind: &str,
    runs: &[&FairRun],
    (unfair, unfair_label): (&str, &str),
    (cost, cost_label): (&str, &str),
) -> Result<Option<Drawing>, Failure> {
    let mut series = Vec::new();
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
            points.push(Point {
                x,
                y,
                x_error: x_error.unwrap_or(0.0),
                y_error: y_error.unwrap_or(0.0),
            });
        }
        if !points.is_empty() {
            series.push(Series::of(Mark::Joined, name, points));
        }
    }
    if series.is_empty() {
        return Ok(None);
    }
    let chart = Chart {
        x: Scale::linear(unfair_label),
        y: Scale::linear(cost_label),
        series,
        ..Chart::default()
    };
    Ok(Some(Drawing {
        file: format!("{kind}-{unfair}.svg"),
        caption: format!("{cost_label} over {unfair_label}, mean and deviation over seeds"),
        bytes: chart.draw()?.bytes,
    }))
}
