//! Charts of the pages of results, from the tables beside them, from published figures and from a plan: no run is needed.

mod copies;
mod distance;
mod promise;
mod published;
mod table;
mod times;

use std::path::Path;

use reporting::diagnostic::Failure;
use reporting::figures::Drawn;

use super::charts::Drawing;

/// All charts that `folder`, `docs/results`, has tables for.
pub(super) fn charts(folder: &Path) -> Result<Vec<Drawing>, Failure> {
    let mut charts = copies::charts(folder)?;
    charts.extend(distance::charts(folder)?);
    charts.extend(times::charts(folder)?);
    charts.push(promise::trade_off()?);
    Ok(charts)
}

fn drawing(file: &str, drawn: Drawn) -> Drawing {
    Drawing {
        file: file.into(),
        caption: String::new(),
        bytes: drawn.following_the_reader().bytes,
    }
}
