//! Charts of the pages of results, from the tables beside them, from published figures and from a plan: no run is needed.

mod copies;
mod distance;
mod promise;
mod published;
mod table;
mod times;

use std::path::Path;

use reporting::diagnostic::Failure;
use reporting::figures::{Drawn, Measured, Method};

use super::charts::Chart;

/// Two values, each with its deviation.
type Point = ((f64, f64), (f64, f64));

/// All charts that `folder`, `docs/results`, has tables for.
pub(super) fn charts(folder: &Path) -> Result<Vec<Chart>, Failure> {
    let mut charts = copies::charts(folder)?;
    charts.extend(distance::charts(folder)?);
    charts.extend(times::charts(folder)?);
    charts.push(promise::trade_off()?);
    Ok(charts)
}

fn chart(file: &str, caption: &str, drawn: Drawn) -> Chart {
    Chart {
        file: file.into(),
        caption: caption.into(),
        bytes: drawn.following_the_reader().bytes,
    }
}

/// Points of one name, joined by a line.
fn joined(name: impl Into<String>, points: impl IntoIterator<Item = Point>) -> Method {
    let measured = |((x, x_error), (y, y_error))| Measured {
        x,
        y,
        y_error,
        x_error,
    };
    Method {
        name: name.into(),
        points: points.into_iter().map(measured).collect(),
        joined: true,
    }
}
