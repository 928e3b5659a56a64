//! Figures over runs of `ldp`: the distance of generated records to clean ones over the noise and over the number of
//! records, for each loss (Reshetova, Chen and Ozgur 2023, arXiv 2306.09547, figures 7 and 8).

use std::path::PathBuf;

use reporting::diagnostic::Failure;
use reporting::figures::{Chart, Point, Scale, Series};
use reporting::report::RunFile;
use serde_json::Value;

use super::charts::Drawing;
use super::runs::{distinct, finished};

/// What is read of a run.
struct Run {
    loss: String,
    /// The deviation, or the scale, of the noise.
    noise: f64,
    records: f64,
    /// The 2-Wasserstein distance to clean records.
    distance: f64,
}

impl Run {
    /// What `run.json` says.
    fn of(run: &RunFile) -> Self {
        let number = |name| run.test.get(name).and_then(Value::as_f64);
        let number = |name| number(name).unwrap_or(f64::NAN);
        let loss = run.settings.get("loss").and_then(Value::as_str);
        Self {
            loss: loss.unwrap_or("").to_string(),
            noise: number("noise_scale"),
            records: number("privatised_records"),
            distance: number("w2_squared").sqrt(),
        }
    }
}

/// The charts that the runs below some folders allow.
pub(super) fn charts(folders: &[PathBuf]) -> Result<Vec<Drawing>, Failure> {
    let runs = finished(folders, "ldp")?.into_iter();
    let runs: Vec<Run> = runs.map(|(_, run)| Run::of(&run)).collect();
    if runs.is_empty() {
        return Err(Failure::input(
            "--figures ldp: no finished run of ldp there",
            "run `just sweep assets/sweeps/ldp.toml` first",
        ));
    }
    let most = runs.iter().map(|run| run.records).fold(0.0, f64::max);
    let whole: Vec<&Run> = runs.iter().filter(|run| run.records == most).collect();
    let over_noise = lines(&whole, |run| run.noise);
    let slopes = over_noise
        .iter()
        .map(|line| format!("{} {:.3}", line.name, fit(&line.points).0));
    let slopes = slopes.collect::<Vec<_>>().join(", ");
    println!("slopes    {slopes}");
    let mut charts = vec![chart(
        "ldp-noise.svg",
        format!("over the noise; slopes of the means: {slopes}"),
        Scale::linear("deviation, or scale, of the noise"),
        over_noise,
    )?];
    // At the noise of the runs on fewer records.
    let fewer = runs.iter().filter(|run| run.records < most);
    let noises: Vec<f64> = fewer.map(|run| run.noise).collect();
    if !noises.is_empty() {
        let here = runs.iter().filter(|run| noises.contains(&run.noise));
        let over_records = lines(&here.collect::<Vec<_>>(), |run| run.records);
        // Through two points goes any line.
        for line in over_records.iter().filter(|line| line.points.len() > 2) {
            println!("{:9} {}", line.name, rate(&line.points));
        }
        charts.push(chart(
            "ldp-records.svg",
            "over the number of privatised records".into(),
            Scale::logarithmic("privatised records"),
            over_records,
        )?);
    }
    Ok(charts)
}

/// The mean distance of each loss over something, with its deviation over seeds.
fn lines(runs: &[&Run], at: fn(&Run) -> f64) -> Vec<Series> {
    let line = |loss: String| {
        let of = runs.iter().filter(|run| run.loss == loss);
        let points = of.map(|run| (at(run), run.distance)).collect();
        Series::mean_and_deviation(loss, &[points])
    };
    distinct(runs.iter().map(|run| run.loss.clone()))
        .into_iter()
        .map(line)
        .collect()
}

fn chart(file: &str, over: String, x: Scale, series: Vec<Series>) -> Result<Drawing, Failure> {
    let chart = Chart {
        x,
        y: Scale::linear("2-Wasserstein distance"),
        series,
        ..Chart::default()
    };
    Ok(Drawing {
        file: file.into(),
        caption: format!(
            "Distance of generated records to clean ones, mean and deviation over seeds, {over}"
        ),
        bytes: chart.draw()?.bytes,
    })
}

/// The rate that is expected of the number of records, and how far the points are from it.
fn rate(points: &[Point]) -> String {
    let points: Vec<Point> = points
        .iter()
        .map(|p| (p.x.powf(-0.5), p.y).into())
        .collect();
    let (slope, floor) = fit(&points);
    let off = points.iter().map(|p| (p.y - floor - slope * p.x).abs());
    let off = off.fold(0.0, f64::max);
    format!("{floor:.2} + {slope:.2} n^(-1/2), off by up to {off:.2}")
}

/// Slope and intercept of the line of least squares.
fn fit(points: &[Point]) -> (f64, f64) {
    let n = points.len() as f64;
    let mean = |of: fn(&Point) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.x), mean(|p| p.y));
    let along: f64 = points.iter().map(|p| (p.x - x) * (p.y - y)).sum();
    let spread: f64 = points.iter().map(|p| (p.x - x).powi(2)).sum();
    (along / spread, y - x * along / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_told_with_what_it_misses() {
        let mut points = [1.0, 4.0, 16.0, 64.0].map(|n: f64| (n, 6.0 + 20.0 / n.sqrt()).into());
        assert_eq!(rate(&points), "6.00 + 20.00 n^(-1/2), off by up to 0.00");
        // Least squares spread a change of one point over all.
        points[3].y += 1.0;
        assert_eq!(rate(&points), "6.61 + 19.23 n^(-1/2), off by up to 0.49");
    }
}
