//! Charts of the pages of results, from the tables beside them and from published figures: no run is needed.

use std::path::Path;

use reporting::diagnostic::Failure;
use reporting::figures::{Measured, Method, Scale, TradeOff};
use reporting::report::published;

use super::charts::Chart;

/// A column of the sweeps: the accuracy of the field's convolutional classifier.
const ACCURACY: &str = "convolutional classifier trained on 60000";

/// How many published methods a chart has room for: the best on its data set.
const PUBLISHED: usize = 5;

/// A file of comma-separated values, with its names.
struct Table {
    path: String,
    names: csv::StringRecord,
    rows: Vec<csv::StringRecord>,
}

impl Table {
    fn read(folder: &Path, name: &str) -> Result<Self, Failure> {
        let path = folder.join(name);
        let wrong = |e: csv::Error| {
            let help = "give the folder with the tables of the results: --runs docs/results";
            Failure::input(format!("{}: {e}", path.display()), help)
        };
        let mut reader = csv::Reader::from_path(&path).map_err(wrong)?;
        Ok(Self {
            path: path.display().to_string(),
            names: reader.headers().map_err(wrong)?.clone(),
            rows: reader.records().collect::<Result<_, _>>().map_err(wrong)?,
        })
    }

    /// The column whose name has all of these words.
    fn column(&self, words: &[&str]) -> Result<usize, Failure> {
        let has = |name: &str| words.iter().all(|word| name.contains(word));
        self.names.iter().position(has).ok_or_else(|| {
            let message = format!("{}: no column {}", self.path, words.join(" ... "));
            Failure::input(
                message,
                "write the table with the report of its sweep again",
            )
        })
    }

    /// A mean, and a deviation that may stand behind it as `+- 0.1`, where the field is not empty.
    fn number(
        &self,
        row: &csv::StringRecord,
        column: usize,
    ) -> Result<Option<(f64, f64)>, Failure> {
        let text = row.get(column).unwrap_or_default();
        if text.is_empty() {
            return Ok(None);
        }
        let (mean, deviation) = text.split_once(" +- ").unwrap_or((text, "0"));
        match (mean.parse(), deviation.parse()) {
            (Ok(mean), Ok(deviation)) => Ok(Some((mean, deviation))),
            _ => Err(Failure::input(
                format!("{}: {text} is no number", self.path),
                "write the table with the report of its sweep again",
            )),
        }
    }
}

/// All charts that `folder`, `docs/results`, has tables for.
pub(super) fn charts(folder: &Path) -> Result<Vec<Chart>, Failure> {
    let field = Table::read(folder, "flow-field.csv")?;
    let baselines = Table::read(folder, "flow-baselines.csv")?;
    let adult = Table::read(folder, "fair-adult.csv")?;
    Ok(vec![
        error(&field, &baselines, "mnist", "MNIST", |figure| figure.mnist)?,
        error(
            &field,
            &baselines,
            "fashion-mnist",
            "Fashion-MNIST",
            |figure| figure.fashion_mnist,
        )?,
        front(&adult)?,
    ])
}

fn chart(file: &str, chart: &TradeOff) -> Result<Chart, Failure> {
    Ok(Chart {
        file: file.into(),
        caption: chart.title.clone(),
        bytes: chart.draw()?.following_the_reader().bytes,
    })
}

fn point(x: f64, y: f64, y_error: f64) -> Measured {
    let x_error = 0.0;
    Measured {
        x,
        y,
        y_error,
        x_error,
    }
}

/// Error of a classifier that learned from samples, against epsilon, between what the public side teaches alone and
/// what the real records do; published figures beside it.
fn error(
    field: &Table,
    baselines: &Table,
    dataset: &str,
    title: &str,
    theirs: fn(&published::Figure) -> f64,
) -> Result<Chart, Failure> {
    let [of, public, epsilon] = ["dataset", "public", "epsilon"].map(|name| field.column(&[name]));
    let (of, public, epsilon) = (of?, public?, epsilon?);
    let score = field.column(&["Accuracy", ACCURACY, ": mean (mean)"])?;
    let spread = field.column(&["Accuracy", ACCURACY, ": mean (deviation)"])?;
    let mut methods = Vec::new();
    for (side, name) in [
        ("shapes", "ours beside shapes"),
        ("glyphs", "ours beside synthetic digits"),
    ] {
        let mut points = Vec::new();
        for row in &field.rows {
            if (row.get(of), row.get(public)) != (Some(dataset), Some(side)) {
                continue;
            }
            let at = field.number(row, epsilon)?.map(|(at, _)| at);
            let deviation = field
                .number(row, spread)?
                .map_or(0.0, |(deviation, _)| deviation);
            let mean = field.number(row, score)?.map(|(mean, _)| mean);
            points.extend(
                at.zip(mean)
                    .map(|(at, mean)| point(at, 1.0 - mean, deviation)),
            );
        }
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        methods.push((name.to_string(), points));
    }
    let level = |name: &str, first: &str| -> Result<_, Failure> {
        let of = baselines.column(&["dataset"])?;
        let column = baselines.column(&[first, ACCURACY, ": mean (mean)"])?;
        let mut points = Vec::new();
        for row in baselines
            .rows
            .iter()
            .filter(|row| row.get(of) == Some(dataset))
        {
            if let Some((level, _)) = baselines.number(row, column)? {
                points = [0.2, 10.0].map(|at| point(at, 1.0 - level, 0.0)).into();
            }
        }
        Ok((name.to_string(), points))
    };
    methods.push(level(
        "synthetic digits alone, no private record",
        "Baseline",
    )?);
    methods.push(level(
        "the real records, no privacy",
        "Reads private records",
    )?);
    let mut methods: Vec<Method> = methods
        .into_iter()
        .filter(|(_, points)| !points.is_empty())
        .map(|(name, points)| Method {
            name,
            points,
            joined: true,
        })
        .collect();
    let mut best = published::figures();
    best.retain(|figure| figure.classifier == "convolutional");
    best.sort_by(|a, b| theirs(b).total_cmp(&theirs(a)));
    best.truncate(PUBLISHED);
    for figure in best {
        let points = vec![point(figure.epsilon, 1.0 - theirs(&figure), 0.0)];
        let name = match figure.public.as_str() {
            "nothing" => figure.method,
            public => format!("{}, beside {public}", figure.method),
        };
        methods.push(Method {
            name,
            points,
            joined: false,
        });
    }
    let drawn = TradeOff {
        title: format!("{title}, delta 1e-5, and the best published; chance is 0.9"),
        x: Scale::logarithmic("epsilon"),
        y: Scale::logarithmic("error on real test records"),
        methods,
    };
    chart(&format!("error-{dataset}.svg"), &drawn)
}

/// Accuracy against the parity gap on Adult, a line a budget; along it the weight of the penalty rises.
fn front(adult: &Table) -> Result<Chart, Failure> {
    let [budget, gap, score] =
        ["epsilon", "parity gap", "accuracy"].map(|name| adult.column(&[name]));
    let (budget, gap, score) = (budget?, gap?, score?);
    let mut methods: Vec<Method> = Vec::new();
    for row in &adult.rows {
        let name = format!("epsilon {}", row.get(budget).unwrap_or_default());
        if methods.last().is_none_or(|method| method.name != name) {
            methods.push(Method {
                name,
                points: Vec::new(),
                joined: true,
            });
        }
        let numbers = adult.number(row, gap)?.zip(adult.number(row, score)?);
        if let (Some(method), Some(((x, x_error), (y, y_error)))) = (methods.last_mut(), numbers) {
            method.points.push(Measured {
                x,
                y,
                y_error,
                x_error,
            });
        }
    }
    let drawn = TradeOff {
        title: "Adult, delta 9.4e-10; the penalty grows from right to left".into(),
        x: Scale::linear("gap of positive rates between the sexes"),
        y: Scale::linear("accuracy on test records"),
        methods,
    };
    chart("fair-adult.svg", &drawn)
}
