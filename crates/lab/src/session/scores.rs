//! What a run is judged by: the same numbers in `metrics.jsonl`, in `run.json`, and on the page.

use serde_json::{Map, Value, json};

use super::experiment::{Evaluation, Picture, Report};
use super::steps::METRICS;
use crate::diagnostic::{Failure, OrFailed};
use crate::figures::{Chart, Scale, Series};
use crate::report::{Better, Metric};
use crate::run_folder::RunFolder;

/// Scores that the progress bar shows.
const SHOWN: usize = 2;

/// Numbers by a name in files, each a line of the page, the most important one first.
#[derive(Debug, Clone, Default)]
pub struct Scores(Vec<(&'static str, Metric)>);

impl Scores {
    /// With one more, if it has a value: `key` in files, `name` on the page.
    #[must_use]
    pub fn with(
        mut self,
        key: &'static str,
        name: &str,
        value: impl Into<Option<f64>>,
        better: impl Into<Option<Better>>,
    ) -> Self {
        if let Some(value) = value.into() {
            let metric = Metric::new(name, value);
            let better = better.into();
            self.0.push((key, Metric { better, ..metric }));
        }
        self
    }

    /// By their names in files.
    pub fn values(&self) -> Map<String, Value> {
        let values = self.0.iter();
        let values = values.map(|(key, metric)| (key.to_string(), json!(metric.value)));
        values.collect()
    }

    /// As lines of the page.
    pub fn metrics(&self) -> Vec<Metric> {
        self.0.iter().map(|(_, metric)| metric.clone()).collect()
    }

    /// As a line of `metrics.jsonl` of a run whose steps are releases.
    pub fn evaluation(&self) -> Evaluation {
        let shown = self.0.iter().take(SHOWN).map(|(key, metric)| {
            let value = metric.value.unwrap_or(f64::NAN);
            format!("{} {value:.4}", key.replace('_', " "))
        });
        Evaluation {
            scores: self.values().into(),
            message: shown.collect::<Vec<_>>().join(", "),
            accounted: true,
        }
    }

    /// As a report without pictures.
    pub fn report(&self) -> Report {
        Report {
            metrics: self.metrics(),
            test: self.values(),
            ..Report::default()
        }
    }
}

/// Scores of `metrics.jsonl` over the steps, each by its name there and with its name in the picture.
pub fn curve(
    folder: &RunFolder,
    y: Scale,
    scores: &[(&str, &str)],
    caption: &str,
) -> Result<Picture, Failure> {
    let text = std::fs::read_to_string(folder.file(METRICS)).or_failed()?;
    let lines = text.lines().map(serde_json::from_str);
    let lines: Vec<Value> = lines.collect::<Result<_, _>>().or_failed()?;
    let series = |&(key, name): &(&str, &str)| {
        let point = |line: &Value| Some((line["step"].as_f64()?, line[key].as_f64()?));
        Series::new(name, lines.iter().filter_map(point))
    };
    let chart = Chart {
        x: Scale::linear("step"),
        y,
        series: scores.iter().map(series).collect(),
        ..Chart::default()
    };
    Ok(("curve.svg", caption.into(), chart.draw()?.bytes))
}
