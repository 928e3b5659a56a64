//! What privacy costs in time and memory: the tables of the pages themselves, whose numbers stand nowhere else.

use std::path::Path;

use reporting::diagnostic::Failure;
use reporting::figures::{Chart, Mark, Row, Rows, Scale, Series};

use super::super::charts::Drawing;
use super::drawing;
use super::table::Table;

pub(super) fn charts(folder: &Path) -> Result<Vec<Drawing>, Failure> {
    let steps = Table::of_page(folder, "dp_sgd.md", &["batch 256, ms", "batch 2048, ms"])?;
    let scale = Table::of_page(folder, "tables.md", &["records", "MB of Parquet", "peak"])?;
    let time: &[_] = &[
        ("read, s", "records read, s"),
        ("released", "counts released, s"),
        ("whole run", "copy written, s"),
    ];
    let memory: &[_] = &[
        ("MB of Parquet", "the private file, MB"),
        ("peak", "peak of memory, MiB"),
    ];
    let over = |file, title, unit, columns| over_records(&scale, file, title, unit, columns);
    let copy = [
        "Time of a private copy of a table",
        "Memory of a private copy of a table",
    ];
    Ok(vec![
        step(&steps)?,
        over("table-time.svg", copy[0], "seconds", time)?,
        over(
            "table-memory.svg",
            copy[1],
            "MB of the file, MiB of memory",
            memory,
        )?,
    ])
}

/// A private step of each program, and a plain one.
fn step(table: &Table) -> Result<Drawing, Failure> {
    let mut groups = Vec::new();
    for batch in ["batch 256", "batch 2048"] {
        let column = table.column(&[batch])?;
        let mut rows = Vec::new();
        for row in &table.rows {
            let [name, written] = [0, column].map(|column| row.get(column).unwrap_or_default());
            rows.extend(table.number(row, column)?.map(|(value, error)| Row {
                name: name.into(),
                value,
                error,
                written: format!("{written} ms"),
                ours: name.starts_with("sliver"),
            }));
        }
        groups.push((batch.to_string(), rows));
    }
    let chart = Rows {
        title: "A step of DP-SGD, two threads of a CPU".into(),
        groups,
    };
    Ok(drawing("private-step.svg", chart.draw()?))
}

/// Columns of a table against the number of records.
fn over_records(
    table: &Table,
    file: &str,
    title: &str,
    unit: &str,
    columns: &[(&str, &str)],
) -> Result<Drawing, Failure> {
    let records = table.column(&["records"])?;
    let mut series = Vec::new();
    for (words, name) in columns {
        let column = table.column(&[words])?;
        let mut points = Vec::new();
        for row in &table.rows {
            points.extend(table.point(row, [records, column])?);
        }
        series.push(Series::of(Mark::Joined, *name, points));
    }
    let chart = Chart {
        title: title.into(),
        x: Scale::logarithmic("records"),
        y: Scale::logarithmic(unit),
        series,
        ..Chart::default()
    };
    Ok(drawing(file, chart.draw()?))
}
