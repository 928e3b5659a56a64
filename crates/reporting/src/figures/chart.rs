//! The frame of a chart: title, legend, axes; what is inside is drawn by the figure.

use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::cartesian::Cartesian2d;
use plotters::element::{Polygon, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontTransform, IntoFont, RGBColor, TRANSPARENT, TextStyle};

use super::axis::{Axis, Scale, label};
use super::canvas::{Area, Canvas, UNIT};
use super::palette::{FAINT, INK};
use super::{marker, stroke, text};
use crate::diagnostic::Failure;

/// Size of the text, in nominal pixels.
pub(super) const TEXT: f64 = 14.0;
/// Size of the title, in nominal pixels.
const TITLE: f64 = TEXT + 1.0;
const LINE: i32 = 20;
const MARGIN: i32 = 10;
/// plotters sizes text by the line.
const LINE_OF_EM: f64 = 1.24;

/// One line of a legend.
pub(super) struct Key {
    pub name: String,
    pub colour: RGBColor,
    pub sign: Sign,
}

/// What stands before a name in a legend.
pub(super) enum Sign {
    Line(&'static [f64]),
    Block,
    Mark(usize),
}

/// The inside of a chart.
pub(super) struct Plot<'a, 'b> {
    pub area: &'a Area<'b>,
    chart: ChartContext<'a, Canvas<'b>, Cartesian2d<Axis, Axis>>,
}

/// Units of the surface for nominal pixels.
pub(super) fn units(pixels: i32) -> i32 {
    pixels * UNIT as i32
}

/// Text of `size` nominal pixels, placed by its `horizontal` and `vertical` middle or edge.
pub(super) fn style<'t>(size: f64, horizontal: HPos, vertical: VPos) -> TextStyle<'t> {
    TextStyle::from((text::FAMILY, size * f64::from(UNIT) * LINE_OF_EM).into_font())
        .color(&INK)
        .pos(Pos::new(horizontal, vertical))
}

/// Writes `content` at a place in surface units.
pub(super) fn write(
    area: &Area<'_>,
    content: &str,
    at: (i32, i32),
    style: TextStyle<'_>,
) -> Result<(), Failure> {
    area.draw(&Text::new(content.to_string(), at, style))?;
    Ok(())
}

/// Draws title, legend and axes on `part` of `root`, and gives the inside.
pub(super) fn frame<'a, 'b>(
    root: &'a Area<'b>,
    part: &'a Area<'b>,
    title: &str,
    (x_scale, x): (&Scale, Axis),
    (y_scale, y): (&Scale, Axis),
    keys: &[Key],
) -> Result<Plot<'a, 'b>, Failure> {
    let (width, _) = part.dim_in_pixel();
    let mut top = units(MARGIN);
    let room = width as f32 / UNIT as f32 - 2.5 * MARGIN as f32;
    let lines = text::wrapped(title, TITLE as f32, room);
    for line in &lines {
        let place = style(TITLE, HPos::Left, VPos::Top);
        write(part, line, (units(MARGIN), top), place)?;
        top += units(LINE);
    }
    if !lines.is_empty() {
        top += units(4);
    }
    legend(part, keys, top, width as i32)?;
    top += units(legend_height(keys, width as i32 / UNIT as i32));
    let widest = y
        .ticks(6)
        .into_iter()
        .map(|value| text::width(&label(value), TEXT as f32))
        .fold(0.0, f32::max);
    let label_width = widest.ceil() as i32 + if y_scale.label.is_empty() { 10 } else { 34 };
    let below = if x_scale.label.is_empty() { 26 } else { 48 };
    let mut chart = ChartBuilder::on(part)
        .margin_top(top)
        .margin_right(units(MARGIN + 8))
        .margin_left(units(MARGIN))
        .margin_bottom(units(MARGIN))
        .x_label_area_size(units(below - 10))
        .y_label_area_size(units(label_width))
        .build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .x_labels(6)
        .y_labels(6)
        .light_line_style(TRANSPARENT)
        .bold_line_style(FAINT.stroke_width(UNIT))
        .axis_style(INK.stroke_width(UNIT))
        .x_label_style(style(TEXT, HPos::Center, VPos::Top))
        .y_label_style(style(TEXT, HPos::Right, VPos::Center))
        .set_all_tick_mark_size(units(4))
        .draw()?;
    let (across, down) = chart.plotting_area().get_pixel_range();
    // The descriptions are placed here: plotters would set them by a text height of its own.
    let (_, base) = part.get_base_pixel();
    let (left, _) = part.get_base_pixel();
    let middle = (across.start + across.end) / 2;
    let bottom = base + part.dim_in_pixel().1 as i32 - units(6);
    write(
        root,
        &x_scale.label,
        (middle, bottom),
        style(TEXT, HPos::Center, VPos::Bottom),
    )?;
    write(
        root,
        &y_scale.label,
        (left + units(8), (down.start + down.end) / 2),
        style(TEXT, HPos::Center, VPos::Top).transform(FontTransform::Rotate270),
    )?;
    Ok(Plot::new(root, chart))
}

impl Key {
    /// Nominal width of the sign.
    fn sign_width(&self) -> i32 {
        match self.sign {
            Sign::Line(_) => 26,
            Sign::Block | Sign::Mark(_) => 14,
        }
    }

    /// Nominal width of sign, name and the space after them.
    fn width(&self) -> i32 {
        self.sign_width() + 22 + text::width(&self.name, TEXT as f32).ceil() as i32
    }
}

/// Nominal left end and row of each key in a legend that is `width` nominal pixels wide.
fn places(keys: &[Key], width: i32) -> Vec<(i32, i32)> {
    let (mut x, mut row) = (MARGIN, 0);
    keys.iter()
        .map(|key| {
            if x > MARGIN && x + key.width() > width {
                x = MARGIN;
                row += 1;
            }
            let place = (x, row);
            x += key.width();
            place
        })
        .collect()
}

/// Nominal height of a legend.
pub(super) fn legend_height(keys: &[Key], width: i32) -> i32 {
    places(keys, width)
        .last()
        .map_or(0, |(_, row)| LINE * (row + 1) + 4)
}

/// Draws the legend from `top` downwards in as many rows as it needs; `top` and `width` in surface
/// units.
pub(super) fn legend(part: &Area<'_>, keys: &[Key], top: i32, width: i32) -> Result<(), Failure> {
    for (key, (left, row)) in keys.iter().zip(places(keys, width / UNIT as i32)) {
        let (x, y) = (units(left), top + units(LINE * row + LINE / 2));
        let sign = key.sign_width();
        match key.sign {
            Sign::Line(dashes) => {
                let ends = vec![(x, y), (x + units(sign), y)];
                stroke::line(part, ends, key.colour, 2.0, dashes)?;
            }
            Sign::Block => {
                let (right, half) = (x + units(sign), units(6));
                let corners = vec![
                    (x, y - half),
                    (right, y - half),
                    (right, y + half),
                    (x, y + half),
                ];
                part.draw(&Polygon::new(corners, key.colour.mix(0.55).filled()))?;
            }
            Sign::Mark(shape) => {
                marker::draw(part, shape, (x + units(sign / 2), y), 5.0, key.colour)?;
            }
        }
        let place = style(TEXT, HPos::Left, VPos::Center);
        write(part, &key.name, (x + units(sign + 6), y), place)?;
    }
    Ok(())
}

impl<'a, 'b> Plot<'a, 'b> {
    /// What `chart`, on a part of `area`, encloses.
    pub(super) fn new(
        area: &'a Area<'b>,
        chart: ChartContext<'a, Canvas<'b>, Cartesian2d<Axis, Axis>>,
    ) -> Self {
        Self { area, chart }
    }

    /// Where a value lies on the surface.
    pub(super) fn at(&self, x: f64, y: f64) -> (i32, i32) {
        self.chart.backend_coord(&(x, y))
    }

    /// Draws a line through values.
    pub(super) fn line(
        &self,
        values: impl IntoIterator<Item = (f64, f64)>,
        colour: RGBColor,
        width: f64,
        dashes: &[f64],
    ) -> Result<(), Failure> {
        let points = values.into_iter().map(|(x, y)| self.at(x, y)).collect();
        stroke::line(self.area, points, colour, width, dashes)
    }

    /// Fills the polygon through values.
    pub(super) fn fill(
        &self,
        values: impl IntoIterator<Item = (f64, f64)>,
        colour: RGBColor,
        opacity: f64,
    ) -> Result<(), Failure> {
        let points: Vec<_> = values.into_iter().map(|(x, y)| self.at(x, y)).collect();
        self.area
            .draw(&Polygon::new(points, colour.mix(opacity).filled()))?;
        Ok(())
    }
}
