//! A sweep as a table.

use std::fmt::Write as _;

use super::{Cell, Spread, Sweep};
use crate::diagnostic::Failure;
use crate::report::markdown::{markdown_line, markdown_rule};
use crate::report::number::significant;

impl Sweep {
    /// Returns the names of the columns before the results.
    fn heading(&self) -> Vec<String> {
        let mut names = self.varying.clone();
        names.extend(
            [
                "privacy of one run",
                "privacy of all its runs",
                "runs",
                "unfinished",
            ]
            .map(String::from),
        );
        names
    }

    /// Returns the values of those columns.
    fn row(&self, cell: &Cell) -> Vec<String> {
        let mut row: Vec<String> = self.varying.iter().map(|name| value(cell, name)).collect();
        row.extend([
            cell.privacy.clone(),
            cell.privacy_of_all.clone(),
            cell.finished.to_string(),
            cell.unfinished.to_string(),
        ]);
        row
    }

    /// Returns comma-separated values (RFC 4180), with results in full precision and separate columns for mean and deviation.
    pub fn csv(&self) -> String {
        let mut heading = self.heading();
        for (name, _) in &self.results {
            heading.extend([format!("{name} (mean)"), format!("{name} (deviation)")]);
        }
        let line = |fields: Vec<String>| {
            let quoted = fields.into_iter().map(|field| {
                if field.contains([',', '"', '\n', '\r']) {
                    format!("\"{}\"", field.replace('"', "\"\""))
                } else {
                    field
                }
            });
            quoted.collect::<Vec<_>>().join(",") + "\n"
        };
        let mut text = line(heading);
        for cell in &self.cells {
            let mut row = self.row(cell);
            for (field, name) in row.iter_mut().zip(&self.varying) {
                *field = cell.settings.get(name).unwrap_or_default().to_string();
            }
            for spread in &cell.spreads {
                let number = |v: Option<f64>| v.map_or_else(String::new, |v| v.to_string());
                row.push(number(spread.map(|s| s.mean)));
                row.push(number(spread.and_then(|s| s.deviation)));
            }
            text.push_str(&line(row));
        }
        text
    }

    /// Returns a Markdown table, followed by the budget that all private runs spend together, and the warnings.
    ///
    /// - `columns`: the columns to print, in this order, by their names or parts of them; all columns if it is empty.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names a column that does not exist, and those that do.
    pub fn markdown(&self, columns: &[String]) -> Result<String, Failure> {
        let mut heading = self.heading();
        heading.extend(self.results.iter().map(|(name, _)| name.clone()));
        let mut chosen = (0..heading.len()).collect::<Vec<_>>();
        if !columns.is_empty() {
            chosen.clear();
            for name in columns {
                chosen.extend(columns_named(&heading, name)?);
            }
        }
        let only = |row: &[String]| markdown_line(chosen.iter().map(|&at| row[at].as_str()));
        let mut text = only(&heading) + &markdown_rule(chosen.len());
        for cell in &self.cells {
            let mut row = self.row(cell);
            let results = cell.spreads.iter().map(|s| words(*s, cell.finished));
            row.extend(results.map(|result| result.replace('\u{b1}', "+-")));
            text += &only(&row);
        }
        if let Some(together) = &self.together {
            let _ = write!(text, "\n{together}\n");
        }
        for warning in &self.warnings {
            let _ = write!(text, "\nWarning: {warning}\n");
        }
        Ok(text)
    }
}

/// Returns the column of this name, or else those whose names contain it.
fn columns_named(heading: &[String], name: &str) -> Result<Vec<usize>, Failure> {
    if let Some(at) = heading.iter().position(|column| column == name) {
        return Ok(vec![at]);
    }
    let lower = name.to_lowercase();
    let contains = |&at: &usize| heading[at].to_lowercase().contains(&lower);
    let found: Vec<usize> = (0..heading.len()).filter(contains).collect();
    if found.is_empty() {
        return Err(Failure::input(
            format!("--column {name}: there is no such column"),
            format!("the columns are: {}", heading.join("; ")),
        ));
    }
    Ok(found)
}

/// Returns a setting of a cell, or a dash.
fn value(cell: &Cell, name: &str) -> String {
    cell.settings.get(name).unwrap_or("\u{2013}").to_string()
}

/// Returns mean and deviation, and the number of runs if not all have the result.
fn words(spread: Option<Spread>, finished: usize) -> String {
    let Some(spread) = spread else {
        return "\u{2013}".into();
    };
    let mut text = significant(spread.mean, 5);
    if let Some(deviation) = spread.deviation {
        let _ = write!(text, " \u{b1} {}", significant(deviation, 3));
    }
    if spread.runs < finished {
        let _ = write!(text, " ({} of {finished} runs)", spread.runs);
    }
    text
}
