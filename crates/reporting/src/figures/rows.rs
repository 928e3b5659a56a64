//! Values by name, one below the other: a bar each, with its spread and its value as it was written.

use plotters::element::{PathElement, Rectangle};
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use super::canvas::{Drawn, UNIT, render};
use super::chart::{TEXT, style, units, write};
use super::lines::SIZE;
use super::palette::{CONTEXT, INK, colour};
use super::text;
use crate::diagnostic::Failure;

const LINE: i32 = 20;
const ROW: i32 = 24;
const MARGIN: i32 = 10;

/// One named value, at least 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What has it.
    pub name: String,
    /// The value.
    pub value: f64,
    /// Half the length of its error bar, 0 for none.
    pub error: f64,
    /// The value in words, behind the bar.
    pub written: String,
    /// In colour: what the chart is about. The others, what it is compared with, are grey.
    pub ours: bool,
}

/// Groups of named values. Bars of a group share a scale that starts at 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// Above the chart; may be empty.
    pub title: String,
    /// Groups by what stands above each of them, which may be empty.
    pub groups: Vec<(String, Vec<Row>)>,
}

impl Rows {
    /// The chart as a picture.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where a group has no row, or one a value below 0 or none.
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
            let widths = rows().map(|row| text::width(of(row), TEXT as f32));
            widths.fold(0.0, f32::max).ceil() as i32
        };
        let width = SIZE.0 as i32;
        let left = MARGIN + widest(|row| &row.name) + 8;
        let room = f64::from(units(
            width - left - widest(|row| &row.written) - 8 - MARGIN,
        ));
        let title = text::wrapped(&self.title, TEXT as f32 + 1.0, (width - 2 * MARGIN) as f32);
        let heads = self.groups.iter().filter(|(name, _)| !name.is_empty());
        let high = 2 * MARGIN
            + LINE * title.len() as i32
            + (LINE + 8) * heads.count() as i32
            + ROW * rows().count() as i32;
        let bytes = render((SIZE.0, high as u32), |root| {
            let mut top = MARGIN;
            for line in &title {
                let place = style(TEXT + 1.0, HPos::Left, VPos::Top);
                write(root, line, (units(MARGIN), units(top)), place)?;
                top += LINE;
            }
            for (name, rows) in &self.groups {
                if !name.is_empty() {
                    let place = style(TEXT, HPos::Left, VPos::Center);
                    write(root, name, (units(left), units(top + 8 + LINE / 2)), place)?;
                    top += LINE + 8;
                }
                let ends = rows.iter().map(|row| row.value + row.error);
                let most = ends.fold(f64::MIN_POSITIVE, f64::max);
                let along = |value: f64| {
                    units(left) + (room * (value / most).clamp(0.0, 1.0)).round() as i32
                };
                for row in rows {
                    let middle = units(top + ROW / 2);
                    let half = units(7);
                    let shade = if row.ours { colour(0) } else { CONTEXT };
                    let bar = [
                        (units(left), middle - half),
                        (along(row.value), middle + half),
                    ];
                    root.draw(&Rectangle::new(bar, shade.filled()))?;
                    let (low, end) = (along(row.value - row.error), along(row.value + row.error));
                    if row.error > 0.0 {
                        let line = vec![(low, middle), (end, middle)];
                        root.draw(&PathElement::new(line, INK.stroke_width(2 * UNIT)))?;
                    }
                    let place = |side| style(TEXT, side, VPos::Center);
                    write(
                        root,
                        &row.name,
                        (units(left - 8), middle),
                        place(HPos::Right),
                    )?;
                    write(
                        root,
                        &row.written,
                        (end + units(8), middle),
                        place(HPos::Left),
                    )?;
                    top += ROW;
                }
            }
            Ok(())
        })?;
        Ok(Drawn { bytes, skipped: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, value: f64) -> Row {
        Row {
            name: name.into(),
            value,
            error: 0.0,
            written: format!("{value} ms"),
            ours: name == "fast",
        }
    }

    #[test]
    fn bars_of_a_group_are_as_long_as_their_values() {
        let chart = Rows {
            title: "times".into(),
            groups: vec![("small".into(), vec![row("fast", 5.0), row("slow", 20.0)])],
        };
        let svg = String::from_utf8(chart.draw().expect("a picture").bytes).expect("text");
        for words in ["times", "small", "fast", "slow", "5 ms", "20 ms"] {
            assert!(svg.contains(words), "{words}");
        }
        let widths = svg.lines().filter(|line| line.starts_with("<rect"));
        let widths = widths.filter_map(|line| line.split("width=\"").nth(1)?.split('"').next());
        let widths: Vec<f64> = widths.filter_map(|width| width.parse().ok()).collect();
        // Behind the ground, in units of which a bar may miss two by rounding.
        assert_eq!(widths.len(), 3);
        assert!((4.0 * widths[1] - widths[2]).abs() < 8.0, "{widths:?}");
    }

    #[test]
    fn what_has_no_length_is_refused() {
        for groups in [
            vec![],
            vec![(String::new(), vec![])],
            vec![(String::new(), vec![row("slow", f64::NAN)])],
            vec![(String::new(), vec![row("slow", -1.0)])],
        ] {
            let title = String::new();
            assert!(Rows { title, groups }.draw().is_err());
        }
    }
}
