//! The private distance: its bias, and the power of its test.

use std::path::Path;

use reporting::diagnostic::Failure;
use reporting::figures::{Scale, TradeOff};

use super::super::charts::Chart;
use super::super::runs::distinct;
use super::table::Table;
use super::{Point, chart, joined};

pub(super) fn charts(folder: &Path) -> Result<Vec<Chart>, Failure> {
    Ok(vec![
        bias(&Table::read(folder, "distance-shift.csv")?)?,
        power(&Table::read(folder, "distance-power.csv")?)?,
    ])
}

/// Both estimators of a distance that is 0, against the rows of a side.
fn bias(table: &Table) -> Result<Chart, Failure> {
    let [sigma, shift] = ["sigma", "shift"].map(|name| table.column(&[name]));
    let (sigma, shift, rows) = (sigma?, shift?, table.column(&["rows"])?);
    let mut methods = Vec::new();
    for (column, name) in [("dp_swd", "DP-SWD"), ("without bias", "ours")] {
        let column = table.column(&[column])?;
        let levels = table.rows.iter().filter_map(|row| row.get(sigma));
        for level in distinct(levels) {
            let same = |row: &&csv::StringRecord| {
                (row.get(sigma), row.get(shift)) == (Some(level), Some("0"))
            };
            let mut points = Vec::new();
            for row in table.rows.iter().filter(same) {
                points.extend(table.pair(row, [rows, column])?);
            }
            methods.push(joined(format!("{name}, noise {level}"), points));
        }
    }
    let title = "Estimates of a sliced distance that is 0";
    let drawn = TradeOff {
        title: title.into(),
        x: Scale::logarithmic("rows of a side"),
        y: Scale::linear("estimate"),
        methods,
    };
    Ok(chart("distance-bias.svg", title, drawn.draw()?))
}

/// How often the test rejects, against the shift; a line each budget and number of rows.
fn power(table: &Table) -> Result<Chart, Failure> {
    let (epsilon, rows) = (table.column(&["epsilon"])?, table.column(&["rows"])?);
    let mut methods = Vec::new();
    for row in &table.rows {
        let [budget, count] = [epsilon, rows].map(|column| row.get(column).unwrap_or_default());
        let mut points: Vec<Point> = Vec::new();
        for (column, shift) in table.numbered("shift") {
            points.extend(
                table
                    .number(row, column)?
                    .map(|share| ((shift, 0.0), share)),
            );
        }
        methods.push(joined(format!("epsilon {budget}, {count} rows"), points));
    }
    let title = "Power of the private two-sample test at level 0.05: delta 1e-5, one row of a side replaced, accountant gaussian";
    let drawn = TradeOff {
        title: title.into(),
        x: Scale::linear("shift of the mean"),
        y: Scale::linear("share of tests that reject"),
        methods,
    };
    Ok(chart("distance-power.svg", title, drawn.draw()?))
}
