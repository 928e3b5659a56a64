//! `account curve`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use reporting::diagnostic::Failure;
use reporting::figures::{Chart, Mark, Point, Scale, Series};
use serde_json::json;

use super::arguments::{AccountantName, CurveFlags};
use super::output::{NOT_A_BOUND, number};
use super::refusal::refusal;

/// Most points of a curve.
const MOST_POINTS: u32 = 2000;

pub(super) fn curve(asked: &CurveFlags) -> Result<(), Failure> {
    if !(2..=MOST_POINTS).contains(&asked.points) {
        return Err(Failure::input(
            format!(
                "--points is {}, but must be between 2 and {MOST_POINTS}",
                asked.points
            ),
            "40 points make a smooth curve",
        ));
    }
    let is = |path: &Path, ending| path.extension().is_some_and(|found| found == ending);
    let neither = |path: &&PathBuf| !is(path, "svg") && !is(path, "csv");
    if let Some(path) = asked.out.iter().find(neither) {
        return Err(Failure::input(
            format!("--out is {}, but must end in .svg or .csv", path.display()),
            "a picture is written as SVG, values as CSV",
        ));
    }
    let names = if asked.accountant.is_empty() {
        vec![
            AccountantName::Pld,
            AccountantName::Rdp,
            AccountantName::GdpCltUniform,
        ]
    } else {
        asked.accountant.clone()
    };
    let chart = match asked.delta {
        Some(delta) => over_steps(asked, &names, delta)?,
        None => trade_off(asked, &names)?,
    };
    for path in &asked.out {
        if is(path, "csv") {
            write(path, csv(&chart).as_bytes())?;
            continue;
        }
        let drawn = chart.draw()?;
        write(path, &drawn.bytes)?;
        if drawn.skipped > 0 {
            eprintln!(
                "{}: {} values are not finite and are not drawn",
                path.display(),
                drawn.skipped
            );
        }
    }
    if asked.json {
        println!("{}", json(&chart, &names, asked));
    } else {
        for path in &asked.out {
            println!("wrote {}: {}", path.display(), chart.title);
        }
    }
    Ok(())
}

fn over_steps(asked: &CurveFlags, names: &[AccountantName], delta: f64) -> Result<Chart, Failure> {
    if asked.steps < 1 {
        return Err(Failure::input(
            "--steps is 0, but must be at least 1",
            "a curve runs from 1 step to --steps",
        ));
    }
    let mut steps: Vec<u64> = (1..=asked.points)
        .map(|k| {
            let share = f64::from(k) / f64::from(asked.points);
            ((share * asked.steps as f64).round() as u64).max(1)
        })
        .collect();
    steps.dedup();
    let mut series = vec![];
    for name in names {
        let accountant = name.accountant();
        let mut points = vec![];
        for count in &steps {
            let event = asked.mechanism.event(asked.noise_multiplier, *count)?;
            let epsilon = accountant.epsilon(&event, delta).map_err(refusal)?;
            points.push((*count as f64, epsilon).into());
        }
        series.push(named(name, points));
    }
    Ok(Chart {
        title: format!("epsilon at delta {delta:e}"),
        x: Scale::linear("steps"),
        y: Scale::linear("epsilon"),
        series,
        ..Chart::default()
    })
}

fn trade_off(asked: &CurveFlags, names: &[AccountantName]) -> Result<Chart, Failure> {
    let event = asked.mechanism.event(asked.noise_multiplier, asked.steps)?;
    let alphas: Vec<f64> = (0..asked.points)
        .map(|k| f64::from(k) / f64::from(asked.points - 1))
        .collect();
    let mut series = vec![];
    for name in names {
        let accountant = name.accountant();
        let values = accountant
            .trade_off_curve(&event, &alphas)
            .map_err(refusal)?;
        let points = alphas.iter().copied().zip(values).map(Point::from);
        series.push(named(name, points.collect()));
    }
    Ok(Chart {
        title: format!("trade-off function after {} steps", asked.steps),
        x: Scale::linear("type I error"),
        y: Scale::linear("type II error"),
        series,
        ..Chart::default()
    })
}

/// The curve of an accountant; one that is no upper bound is dashed and says so.
fn named(name: &AccountantName, points: Vec<Point>) -> Series {
    let accountant = name.accountant();
    let (mark, note) = match accountant.is_upper_bound() {
        true => (Mark::Line, ""),
        false => (Mark::Dashed, " (not an upper bound)"),
    };
    Series::of(mark, format!("{}{note}", accountant.name()), points)
}

fn csv(chart: &Chart) -> String {
    let mut text = chart.x.label.replace(' ', "_");
    for series in &chart.series {
        let _ = write!(text, ",{}", series.name);
    }
    text.push('\n');
    for (row, point) in chart.series[0].points.iter().enumerate() {
        let _ = write!(text, "{}", point.x);
        for series in &chart.series {
            let _ = write!(text, ",{}", series.points[row].y);
        }
        text.push('\n');
    }
    text
}

fn json(chart: &Chart, names: &[AccountantName], asked: &CurveFlags) -> serde_json::Value {
    let curve = |(name, series): (&AccountantName, &Series)| {
        let accountant = name.accountant();
        let values = |pick: fn(&Point) -> f64| -> Vec<_> {
            let points = series.points.iter();
            points.map(|point| number(pick(point))).collect()
        };
        let mut object = json!({
            "accountant": accountant.name(),
            "is_upper_bound": accountant.is_upper_bound(),
            "x": values(|point| point.x),
            "y": values(|point| point.y),
        });
        if !accountant.is_upper_bound() {
            object["note"] = json!(NOT_A_BOUND);
        }
        object
    };
    let curves: Vec<_> = names.iter().zip(&chart.series).map(curve).collect();
    let mut object = json!({
        "accountant": curves[0]["accountant"],
        "is_upper_bound": curves[0]["is_upper_bound"],
        "delta": asked.delta,
        "noise_multiplier": asked.noise_multiplier,
        "steps": asked.steps,
        "x": chart.x.label,
        "y": chart.y.label,
        "curves": curves,
    });
    if asked.delta.is_some() {
        let last = chart.series[0].points.last();
        object["epsilon"] = last.map_or(json!(null), |point| number(point.y));
    }
    object
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, bytes).map_err(|error| {
        Failure::input(
            format!("{} cannot be written: {error}", path.display()),
            "its folder must exist",
        )
    })
}
