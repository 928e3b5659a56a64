//! A sweep as a page.

use serde::Serialize;

use super::table::{value, words};
use super::{Cell, Sweep};
use crate::diagnostic::Failure;
use crate::figures::{Measured, Method, Scale, TradeOff};
use crate::report::html;
use crate::report::picture::Picture;

#[derive(Debug, Serialize)]
struct Page {
    title: String,
    runs: usize,
    heading: Vec<String>,
    results: Vec<String>,
    rows: Vec<Row>,
    charts: Vec<Picture>,
    common: Vec<(String, String)>,
    together: Option<String>,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Row {
    values: Vec<String>,
    results: Vec<String>,
}

impl Sweep {
    /// The page of the sweep: the table, and a chart of each result where a number varies.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where it cannot be rendered.
    pub fn page(&self) -> Result<String, Failure> {
        let first = self.cells.first();
        let rows = self.cells.iter().map(|cell| Row {
            values: self.row(cell),
            results: cell
                .spreads
                .iter()
                .map(|spread| words(*spread, cell.finished))
                .collect(),
        });
        let common = first.into_iter().flat_map(|cell| {
            let settings = cell.settings.iter();
            settings
                .filter(|(name, _)| !self.varying.iter().any(|v| v == name))
                .map(|(name, value)| (name.to_string(), value.to_string()))
        });
        html::render(
            "sweep.html.jinja",
            &Page {
                title: format!(
                    "{} over seeds",
                    first.map_or("Sweep".into(), |cell| cell.experiment.clone())
                ),
                runs: self.cells.iter().map(|c| c.finished + c.unfinished).sum(),
                heading: self.heading(),
                results: self.results.iter().map(|(name, _)| name.clone()).collect(),
                rows: rows.collect(),
                charts: self.charts(),
                common: common.collect(),
                together: self.together.clone(),
                warnings: self.warnings.clone(),
            },
        )
    }

    /// Each result over the first setting that varies in numbers (epsilon, if it does).
    fn charts(&self) -> Vec<Picture> {
        let number = |cell: &Cell, name: &str| cell.settings.get(name)?.parse::<f64>().ok();
        let numeric = |name: &&String| {
            let values = self.cells.iter().filter_map(|cell| number(cell, name));
            values.clone().count() >= 2
        };
        let mut names: Vec<&String> = self.varying.iter().filter(numeric).collect();
        names.sort_by_key(|name| *name != "epsilon");
        let Some(&x) = names.first() else {
            return Vec::new();
        };
        let xs: Vec<f64> = self
            .cells
            .iter()
            .filter_map(|cell| number(cell, x))
            .collect();
        let (low, high) = xs
            .iter()
            .fold((f64::INFINITY, 0.0f64), |(l, h), &v| (l.min(v), h.max(v)));
        let mut pictures = Vec::new();
        for (index, (name, _)) in self.results.iter().enumerate() {
            let mut methods: Vec<Method> = Vec::new();
            for cell in &self.cells {
                let (Some(at), Some(spread)) = (number(cell, x), cell.spreads[index]) else {
                    continue;
                };
                let others = self.varying.iter().filter(|other| *other != x);
                let method: Vec<String> = others
                    .map(|other| format!("{other} {}", value(cell, other)))
                    .collect();
                let method = method.join(", ");
                let point = Measured {
                    x: at,
                    y: spread.mean,
                    y_error: spread.deviation.unwrap_or(0.0),
                    x_error: 0.0,
                };
                match methods.iter_mut().find(|known| known.name == method) {
                    Some(known) => known.points.push(point),
                    None => methods.push(Method {
                        name: method,
                        points: vec![point],
                        joined: true,
                    }),
                }
            }
            for method in &mut methods {
                method.points.sort_by(|a, b| a.x.total_cmp(&b.x));
            }
            let chart = TradeOff {
                title: name.clone(),
                x: Scale {
                    label: x.clone(),
                    logarithmic: low > 0.0 && high > 10.0 * low,
                },
                y: Scale::linear(""),
                methods,
            };
            // A result that no cell has leaves no chart; its column says so.
            if let Ok(drawn) = chart.draw() {
                let alt = format!("{name} over {x}, mean and standard deviation over seeds");
                pictures.extend(Picture::of(&drawn.bytes, "", &alt));
            }
        }
        pictures
    }
}
