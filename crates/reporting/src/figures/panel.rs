//! Square panels side by side: planes of points with a round circle.

use std::ops::Range;

use plotters::chart::ChartBuilder;
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{Color, TRANSPARENT};

use super::axis::Axis;
use super::canvas::{Area, Drawn, UNIT, render};
use super::chart::{Key, Plot, legend, legend_height, style, units, write};
use super::palette::{FAINT, INK};
use crate::diagnostic::Failure;

/// Nominal side of the plane inside a panel.
const SIDE: i32 = 250;
const LEFT: i32 = 40;
const RIGHT: i32 = 14;
const TOP: i32 = 30;
const BOTTOM: i32 = 28;
const TEXT: f64 = 13.0;

/// Panels over the same plane.
pub(super) struct Panels<'p> {
    pub titles: Vec<String>,
    pub columns: usize,
    pub x: Range<f64>,
    pub y: Range<f64>,
    pub keys: &'p [Key],
}

impl Panels<'_> {
    /// Draws the frames, and lets `inside` fill the panel of each number; `inside` says how many
    /// values it left out.
    pub(super) fn draw(
        &self,
        inside: impl Fn(&Plot<'_, '_>, usize) -> Result<usize, Failure>,
    ) -> Result<Drawn, Failure> {
        for (name, range) in [("x", &self.x), ("y", &self.y)] {
            if !(range.start.is_finite() && range.end.is_finite() && range.start < range.end) {
                return Err(Failure::failed(format!(
                    "panels cannot be drawn: their {name} runs from {} to {}",
                    range.start, range.end
                )));
            }
        }
        // One unit is as long in both directions.
        let (wide, high) = (self.x.end - self.x.start, self.y.end - self.y.start);
        let largest = wide.max(high);
        let side = |length: f64| ((f64::from(SIDE) * length / largest) as i32).max(20);
        let (inner_x, inner_y) = (side(wide), side(high));
        let cell = (LEFT + inner_x + RIGHT, TOP + inner_y + BOTTOM);
        let columns = self.columns.clamp(1, self.titles.len().max(1));
        let rows = self.titles.len().div_ceil(columns);
        let width = cell.0 * columns as i32;
        let above = legend_height(self.keys, width);
        let height = above + cell.1 * rows as i32;
        let mut skipped = 0;
        let bytes = render((width as u32, height as u32), |root| {
            legend(root, self.keys, units(4), units(width))?;
            let (_, below) = root.split_vertically(units(above));
            for (number, part) in below.split_evenly((rows, columns)).iter().enumerate() {
                let Some(title) = self.titles.get(number) else {
                    continue;
                };
                let plot = self.panel(root, part, title)?;
                skipped += inside(&plot, number)?;
            }
            Ok(())
        })?;
        Ok(Drawn { bytes, skipped })
    }

    fn panel<'a, 'b>(
        &self,
        root: &'a Area<'b>,
        part: &'a Area<'b>,
        title: &str,
    ) -> Result<Plot<'a, 'b>, Failure> {
        let place = style(TEXT, HPos::Left, VPos::Top);
        write(part, title, (units(LEFT), units(8)), place)?;
        let mut chart = ChartBuilder::on(part)
            .margin_top(units(TOP))
            .margin_right(units(RIGHT))
            .x_label_area_size(units(BOTTOM))
            .y_label_area_size(units(LEFT))
            .build_cartesian_2d(
                Axis::linear(self.x.start, self.x.end),
                Axis::linear(self.y.start, self.y.end),
            )?;
        chart
            .configure_mesh()
            .x_labels(5)
            .y_labels(5)
            .light_line_style(TRANSPARENT)
            .bold_line_style(FAINT.stroke_width(UNIT))
            .axis_style(INK.stroke_width(UNIT))
            .x_label_style(style(TEXT, HPos::Center, VPos::Top))
            .y_label_style(style(TEXT, HPos::Right, VPos::Center))
            .set_all_tick_mark_size(units(3))
            .draw()?;
        Ok(Plot::new(root, chart))
    }

    /// Whether a point lies in the panels' plane.
    pub(super) fn holds(&self, x: f64, y: f64) -> bool {
        (self.x.start..=self.x.end).contains(&x) && (self.y.start..=self.y.end).contains(&y)
    }
}
