//! What copies teach, and what fairness costs: from sweeps of copies and of fair learning.

use std::path::Path;

use reporting::diagnostic::Failure;
use reporting::figures::{Method, Scale, TradeOff};

use super::super::charts::Chart;
use super::published::{self, Figure};
use super::table::Table;
use super::{Point, joined};

/// A column of the sweeps: the accuracy of the field's convolutional classifier.
const ACCURACY: &str = "convolutional classifier trained on 60000";

/// How many published methods a chart has room for: the best on its data set.
const PUBLISHED: usize = 5;

pub(super) fn charts(folder: &Path) -> Result<Vec<Chart>, Failure> {
    let field = Table::read(folder, "flow-field.csv")?;
    let baselines = Table::read(folder, "flow-baselines.csv")?;
    let adult = Table::read(folder, "fair-adult.csv")?;
    let repaired = Table::read(folder, "fair-repair.csv")?;
    let theirs = Table::read(folder, "fair-published.csv")?;
    let published = published::read(folder)?;
    let error =
        |dataset, title, theirs| error(&field, &baselines, dataset, title, &published, theirs);
    Ok(vec![
        error("mnist", "MNIST", |figure| figure.mnist)?,
        error("fashion-mnist", "Fashion-MNIST", |figure| {
            figure.fashion_mnist
        })?,
        front([&adult, &repaired], &theirs)?,
    ])
}

fn chart(file: &str, chart: &TradeOff) -> Result<Chart, Failure> {
    Ok(super::chart(file, &chart.title, chart.draw()?))
}

fn point(x: f64, y: f64, y_error: f64) -> Point {
    ((x, 0.0), (y, y_error))
}

/// Error of a classifier that learned from samples, against epsilon, between what the public side teaches alone and
/// what the real records do; published figures beside it.
fn error(
    field: &Table,
    baselines: &Table,
    dataset: &str,
    title: &str,
    published: &[Figure],
    theirs: fn(&Figure) -> f64,
) -> Result<Chart, Failure> {
    let [of, public, epsilon] = ["input", "public", "epsilon"].map(|name| field.column(&[name]));
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
        points.sort_by(|a: &Point, b| a.0.0.total_cmp(&b.0.0));
        methods.push(joined(name, points));
    }
    let level = |name: &str, first: &str| -> Result<_, Failure> {
        let of = baselines.column(&["input"])?;
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
        Ok(joined(name, points))
    };
    methods.push(level(
        "synthetic digits alone, no private record",
        "Baseline",
    )?);
    methods.push(level(
        "the real records, no privacy",
        "Reads private records",
    )?);
    methods.retain(|method: &Method| !method.points.is_empty());
    let convolutional = |figure: &&Figure| figure.classifier == "convolutional";
    let mut best: Vec<&Figure> = published.iter().filter(convolutional).collect();
    best.sort_by(|a, b| theirs(b).total_cmp(&theirs(a)));
    best.truncate(PUBLISHED);
    for figure in best {
        let points = vec![point(figure.epsilon, 1.0 - theirs(figure), 0.0)];
        let name = match figure.public.as_str() {
            "nothing" => figure.method.clone(),
            public => format!("{}, beside {public}", figure.method),
        };
        methods.push(Method {
            joined: false,
            ..joined(name, points)
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

/// Accuracy against the parity gap on Adult, a line a budget; along it the weight of the penalty rises. The same on records that
/// were moved to a barycentre, and published methods at epsilon 1, beside it.
fn front(ours: [&Table; 2], theirs: &Table) -> Result<Chart, Failure> {
    let mut lines: Vec<(String, Vec<Point>)> = Vec::new();
    for (table, more) in ours.into_iter().zip(["", ", at the barycentre"]) {
        let columns = ["epsilon", "parity gap", "accuracy"].map(|name| table.column(&[name]));
        let [budget, gap, score] = columns;
        let (budget, gap, score) = (budget?, gap?, score?);
        for row in &table.rows {
            let name = format!("epsilon {}{more}", row.get(budget).unwrap_or_default());
            if lines.last().is_none_or(|(last, _)| *last != name) {
                lines.push((name, Vec::new()));
            }
            if let Some((_, points)) = lines.last_mut() {
                points.extend(table.pair(row, [gap, score])?);
            }
        }
    }
    let columns = ["accuracy", "method", "epsilon"].map(|name| theirs.column(&[name]));
    let [accuracy, method, at] = columns;
    let (accuracy, method, at) = (accuracy?, method?, at?);
    let their_gap = theirs.column(&["parity gap"])?;
    let mut published: Vec<(String, Vec<Point>)> = Vec::new();
    for row in theirs.rows.iter().filter(|row| row.get(at) == Some("1")) {
        let name = format!("{}, epsilon 1", row.get(method).unwrap_or_default());
        let points = theirs.pair(row, [their_gap, accuracy])?;
        match published.last_mut() {
            Some((last, known)) if *last == name => known.extend(points),
            _ => published.push((name, points.into_iter().collect())),
        }
    }
    let methods = lines.into_iter().chain(published);
    let methods = methods.map(|(name, points)| joined(name, points));
    let drawn = TradeOff {
        title: "Adult, delta 9.4e-10; the penalty grows from right to left".into(),
        x: Scale::linear("gap of positive rates between the sexes"),
        y: Scale::linear("accuracy on test records"),
        methods: methods.collect(),
    };
    chart("fair-adult.svg", &drawn)
}
