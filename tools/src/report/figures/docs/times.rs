//! What privacy costs in time and memory: the tables of the pages themselves, whose numbers stand nowhere else.

use std::path::Path;

use reporting::diagnostic::Failure;
use reporting::figures::{Row, Rows, Scale, TradeOff};

use super::super::charts::Chart;
use super::table::Table;
use super::{chart, joined};

pub(super) fn charts(folder: &Path) -> Result<Vec<Chart>, Failure> {
    let steps = Table::of_page(folder, "dp_sgd.md", &["batch 256, ms", "batch 2048, ms"])?;
    let scale = Table::of_page(folder, "tables.md", &["records", "MB of Parquet", "peak"])?;
    let time = [
        ("read, s", "records read, s"),
        ("released", "counts released, s"),
        ("whole run", "copy written, s"),
    ];
    let memory = [
        ("MB of Parquet", "the private file, MB"),
        ("peak", "peak of memory, MiB"),
    ];
    Ok(vec![
        step(&steps)?,
        over_records(
            &scale,
            "table-time.svg",
            "Time of a private copy of a table",
            "seconds",
            &time,
        )?,
        over_records(
            &scale,
            "table-memory.svg",
            "Memory of a private copy of a table",
            "MB of the file, MiB of memory",
            &memory,
        )?,
    ])
}

/// A private step of each program, and a plain one.
fn step(table: &Table) -> Result<Chart, Failure> {
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
    let title = "A step of DP-SGD, two threads of a CPU";
    let drawn = Rows {
        title: title.into(),
        groups,
    };
    Ok(chart("private-step.svg", title, drawn.draw()?))
}

/// Columns of a table against the number of records.
fn over_records(
    table: &Table,
    file: &str,
    title: &str,
    unit: &str,
    columns: &[(&str, &str)],
) -> Result<Chart, Failure> {
    let records = table.column(&["records"])?;
    let mut methods = Vec::new();
    for (words, name) in columns {
        let column = table.column(&[words])?;
        let mut points = Vec::new();
        for row in &table.rows {
            points.extend(table.pair(row, [records, column])?);
        }
        methods.push(joined(*name, points));
    }
    let drawn = TradeOff {
        title: title.into(),
        x: Scale::logarithmic("records"),
        y: Scale::logarithmic(unit),
        methods,
    };
    Ok(chart(file, &drawn.title, drawn.draw()?))
}
