//! The private distance: its bias, and the power of its test.

use std::path::Path;

use reporting::diagnostic::Failure;
use reporting::figures::{Chart, Mark, Point, Scale, Series};

use super::super::charts::Drawing;
use super::super::runs::distinct;
use super::drawing;
use super::table::Table;

pub(super) fn charts(folder: &Path) -> Result<Vec<Drawing>, Failure> {
    Ok(vec![
        bias(&Table::read(folder, "distance-shift.csv")?)?,
        power(&Table::read(folder, "distance-power.csv")?)?,
    ])
}

/// Both estimators of a distance that is 0, against the rows of a side.
fn bias(table: &Table) -> Result<Drawing, Failure> {
    let [sigma, shift, rows] = table.columns(["sigma", "shift", "rows"])?;
    let mut series = Vec::new();
    for (column, name) in [("dp_swd", "DP-SWD"), ("without bias", "ours")] {
        let column = table.column(&[column])?;
        let levels = table.rows.iter().filter_map(|row| row.get(sigma));
        for level in distinct(levels) {
            let same = |row: &&csv::StringRecord| {
                (row.get(sigma), row.get(shift)) == (Some(level), Some("0"))
            };
            let mut points = Vec::new();
            for row in table.rows.iter().filter(same) {
                points.extend(table.point(row, [rows, column])?);
            }
            series.push(Series::of(
                Mark::Joined,
                format!("{name}, noise {level}"),
                points,
            ));
        }
    }
    let chart = Chart {
        title: "Estimates of a sliced distance that is 0".into(),
        x: Scale::logarithmic("rows of a side"),
        y: Scale::linear("estimate"),
        series,
        ..Chart::default()
    };
    Ok(drawing("distance-bias.svg", chart.draw()?))
}

/// How often the test rejects, against the shift; a line each budget and number of rows.
fn power(table: &Table) -> Result<Drawing, Failure> {
    let names = table.columns(["epsilon", "rows"])?;
    let mut series = Vec::new();
    for row in &table.rows {
        let [budget, count] = names.map(|column| row.get(column).unwrap_or_default());
        let mut points: Vec<Point> = Vec::new();
        for (column, shift) in table.numbered("shift") {
            let share = table.number(row, column)?;
            points.extend(share.map(|(share, y_error)| Point {
                y_error,
                ..(shift, share).into()
            }));
        }
        let name = format!("epsilon {budget}, {count} rows");
        series.push(Series::of(Mark::Joined, name, points));
    }
    let title = "Power of the private two-sample test at level 0.05: delta 1e-5, one row of a side replaced, accountant gaussian";
    let chart = Chart {
        title: title.into(),
        x: Scale::linear("shift of the mean"),
        y: Scale::linear("share of tests that reject"),
        series,
        ..Chart::default()
    };
    Ok(drawing("distance-power.svg", chart.draw()?))
}
