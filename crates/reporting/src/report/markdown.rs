//! A run as Markdown, for pages of results.

use std::fmt::Write as _;

use super::page::warnings;
use super::privacy::Statement;
use super::record::RunRecord;
use super::results::Row;

/// Returns the command of a run, its results with published ones, its promise, and its warnings.
pub fn markdown(record: &RunRecord) -> String {
    let mut text = String::new();
    let command = record.run.as_ref().and_then(|run| run.command.as_ref());
    if let Some(command) = command {
        let _ = write!(text, "```sh\n{command}\n```\n\n");
    }
    let rows: Vec<Row> = record.results().iter().map(Row::of).collect();
    let published = rows.iter().any(|row| row.paper.is_some());
    let columns = if published { 4 } else { 2 };
    text += &markdown_line(
        ["result", "value", "published", "by"]
            .into_iter()
            .take(columns),
    );
    text += &markdown_rule(columns);
    for row in &rows {
        let [paper, source] = [&row.paper, &row.source].map(|cell| cell.as_deref().unwrap_or(""));
        text += &markdown_line(
            [&row.name, &row.ours, paper, source]
                .into_iter()
                .take(columns),
        );
    }
    let _ = write!(text, "\nPrivacy: {}\n", Statement::of(record).sentence);
    for warning in warnings(record) {
        let _ = write!(text, "\nWarning: {warning}\n");
    }
    text
}

/// Returns one line of a table.
pub(super) fn markdown_line<'a>(fields: impl Iterator<Item = &'a str>) -> String {
    let escaped: Vec<String> = fields.map(|field| field.replace('|', "\\|")).collect();
    format!("| {} |\n", escaped.join(" | "))
}

/// Returns the line below the heading of a table.
pub(super) fn markdown_rule(columns: usize) -> String {
    format!("|{}\n", "---|".repeat(columns))
}
