//! What copies teach, and what fairness costs: from sweeps of copies and of fair learning.

use std::path::Path;

use reporting::diagnostic::Failure;
use reporting::figures::{Chart, Mark, Point, Scale, Series};

use super::super::charts::Drawing;
use super::drawing;
use super::published::{self, Figure};
use super::table::Table;

/// A column of the sweeps: the accuracy of the field's convolutional classifier.
const ACCURACY: &str = "convolutional classifier trained on 60000";

/// How many published methods a chart has room for: the best on its data set.
const PUBLISHED: usize = 5;

pub(super) fn charts(folder: &Path) -> Result<Vec<Drawing>, Failure> {
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

/// Error of a classifier that learned from samples, against epsilon, between what the public side teaches alone and
/// what the real records do; published figures beside it.
fn error(
    field: &Table,
    baselines: &Table,
    dataset: &str,
    title: &str,
    published: &[Figure],
    theirs: fn(&Figure) -> f64,
) -> Result<Drawing, Failure> {
    let [of, public, epsilon] = field.columns(["input", "public", "epsilon"])?;
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
            points.extend(at.zip(mean).map(|(at, mean)| Point {
                y_error: deviation,
                ..(at, 1.0 - mean).into()
            }));
        }
        points.sort_by(|a: &Point, b| a.x.total_cmp(&b.x));
        methods.push(Series::of(Mark::Joined, name, points));
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
                points = [0.2, 10.0].map(|at| (at, 1.0 - level)).into();
            }
        }
        Ok(Series::of(Mark::Joined, name, points))
    };
    methods.push(level(
        "synthetic digits alone, no private record",
        "Baseline",
    )?);
    methods.push(level(
        "the real records, no privacy",
        "Reads private records",
    )?);
    methods.retain(|method: &Series| !method.points.is_empty());
    let convolutional = |figure: &&Figure| figure.classifier == "convolutional";
    let mut best: Vec<&Figure> = published.iter().filter(convolutional).collect();
    best.sort_by(|a, b| theirs(b).total_cmp(&theirs(a)));
    best.truncate(PUBLISHED);
    for figure in best {
        let point = (figure.epsilon, 1.0 - theirs(figure));
        let name = match figure.public.as_str() {
            "nothing" => figure.method.clone(),
            public => format!("{}, beside {public}", figure.method),
        };
        methods.push(Series::of(Mark::Points, name, [point]));
    }
    let chart = Chart {
        title: format!("{title}, delta 1e-5, and the best published; chance is 0.9"),
        x: Scale::logarithmic("epsilon"),
        y: Scale::logarithmic("error on real test records"),
        series: methods,
        ..Chart::default()
    };
    Ok(drawing(&format!("error-{dataset}.svg"), chart.draw()?))
}

/// Accuracy against the parity gap on Adult, a line a budget; along it the weight of the penalty rises. The same on records that
/// were moved to a barycentre, and published methods at epsilon 1, beside it.
fn front(ours: [&Table; 2], theirs: &Table) -> Result<Drawing, Failure> {
    let mut series: Vec<Series> = Vec::new();
    let mut add = |name: String, point: Option<Point>| {
        if series.last().is_none_or(|last| last.name != name) {
            series.push(Series::of(Mark::Joined, name, point));
        } else if let Some(last) = series.last_mut() {
            last.points.extend(point);
        }
    };
    for (table, more) in ours.into_iter().zip(["", ", at the barycentre"]) {
        let [budget, gap, score] = table.columns(["epsilon", "parity gap", "accuracy"])?;
        for row in &table.rows {
            let name = format!("epsilon {}{more}", row.get(budget).unwrap_or_default());
            add(name, table.point(row, [gap, score])?);
        }
    }
    let names = ["accuracy", "method", "epsilon", "parity gap"];
    let [accuracy, method, at, gap] = theirs.columns(names)?;
    for row in theirs.rows.iter().filter(|row| row.get(at) == Some("1")) {
        let name = format!("{}, epsilon 1", row.get(method).unwrap_or_default());
        add(name, theirs.point(row, [gap, accuracy])?);
    }
    let chart = Chart {
        title: "Adult, delta 9.4e-10; the penalty grows from right to left".into(),
        x: Scale::linear("gap of positive rates between the sexes"),
        y: Scale::linear("accuracy on test records"),
        series,
        ..Chart::default()
    };
    Ok(drawing("fair-adult.svg", chart.draw()?))
}
