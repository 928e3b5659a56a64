//! Named values, one below the other: a bar for each, with its spread and its value in words.

use super::chart::{LINE, MARGIN, SIZE, TEXT};
use super::palette::{CONTEXT, INK, colour};
use super::svg::{Anchor, Drawn, Svg};
use super::text;
use crate::diagnostic::Failure;

/// The distance from one bar to the next.
const ROW: f64 = 24.0;

/// One named value, at least 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The name.
    pub name: String,
    /// The value.
    pub value: f64,
    /// Half the length of its error bar, 0 for none.
    pub error: f64,
    /// The value in words, shown after the bar.
    pub written: String,
    /// Whether the chart is about this value, which is then in colour. Values for comparison are grey.
    pub ours: bool,
}

/// Groups of named values; the bars of a group share a scale that starts at 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// The title above the chart; may be empty.
    pub title: String,
    /// The groups, each with the heading above it, which may be empty.
    pub groups: Vec<(String, Vec<Row>)>,
}

impl Rows {
    /// Draws the chart.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] if a group has no row, or if a value is negative or not finite.
    pub fn draw(&self) -> Result<Drawn, Failure> {
        let rows = || self.groups.iter().flat_map(|(_, rows)| rows);
        let bad = |row: &Row| !row.value.is_finite() || row.value < 0.0;
        if rows().next().is_none()
            || self.groups.iter().any(|(_, rows)| rows.is_empty())
            || rows().any(bad)
        {
            return Err(Failure::failed(format!(
                "the chart \"{}\" needs rows of finite values, none below 0",
                self.title
            )));
        }
        let widest = |of: fn(&Row) -> &String| {
            let widths = rows().map(|row| text::width(of(row), TEXT));
            widths.fold(0.0, f64::max).ceil()
        };
        let width = SIZE.0;
        let left = MARGIN + widest(|row| &row.name) + 8.0;
        let room = width - left - widest(|row| &row.written) - 8.0 - MARGIN;
        let title = text::wrapped(&self.title, TEXT + 1.0, width - 2.0 * MARGIN);
        let heads = self.groups.iter().filter(|(name, _)| !name.is_empty());
        let high = 2.0 * MARGIN
            + LINE * title.len() as f64
            + (LINE + 8.0) * heads.count() as f64
            + ROW * rows().count() as f64;
        let mut svg = Svg::new((width, high));
        let mut top = MARGIN;
        for line in &title {
            let place = (MARGIN, top + LINE / 2.0 - 2.0);
            svg.text(line, place, TEXT + 1.0, Anchor::Start);
            top += LINE;
        }
        for (name, rows) in &self.groups {
            if !name.is_empty() {
                let place = (left, top + 8.0 + LINE / 2.0);
                svg.text(name, place, TEXT, Anchor::Start);
                top += LINE + 8.0;
            }
            let ends = rows.iter().map(|row| row.value + row.error);
            let most = ends.fold(f64::MIN_POSITIVE, f64::max);
            let along = |value: f64| left + room * (value / most).clamp(0.0, 1.0);
            for row in rows {
                let middle = top + ROW / 2.0;
                let shade = if row.ours { colour(0) } else { CONTEXT };
                let bar = [(left, middle - 7.0), (along(row.value), middle + 7.0)];
                svg.block(bar, shade, 1.0);
                let [low, end] = [-row.error, row.error].map(|error| along(row.value + error));
                if row.error > 0.0 {
                    svg.lines([[(low, middle), (end, middle)]], INK, 2.0, "");
                }
                svg.text(&row.name, (left - 8.0, middle), TEXT, Anchor::End);
                svg.text(&row.written, (end + 8.0, middle), TEXT, Anchor::Start);
                top += ROW;
            }
        }
        Ok(svg.finish(0))
    }
}
