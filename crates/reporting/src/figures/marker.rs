//! Marks of points: one shape a group, so that colour is not alone in telling groups apart.

use plotters::element::{Circle, Polygon};
use plotters::style::{Color, RGBColor};

use super::canvas::{Area, UNIT};
use crate::diagnostic::Failure;

/// Corners of the shapes, on a circle of radius one around the point; the first shape is a disc.
const SHAPES: [&[(f64, f64)]; 5] = [
    &[],
    &[(-0.89, -0.89), (0.89, -0.89), (0.89, 0.89), (-0.89, 0.89)],
    &[(0.0, -1.25), (1.1, 0.8), (-1.1, 0.8)],
    &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
    &[(0.0, 1.25), (1.1, -0.8), (-1.1, -0.8)],
];

/// Draws the mark of group `number` at `(x, y)` in surface units; `radius` in nominal pixels.
pub(super) fn draw(
    area: &Area<'_>,
    number: usize,
    (x, y): (i32, i32),
    radius: f64,
    colour: RGBColor,
) -> Result<(), Failure> {
    let size = radius * f64::from(UNIT);
    let corners = SHAPES[number % SHAPES.len()];
    if corners.is_empty() {
        area.draw(&Circle::new((x, y), size.round() as i32, colour.filled()))?;
        return Ok(());
    }
    let points: Vec<(i32, i32)> = corners
        .iter()
        .map(|(dx, dy)| {
            (
                x + (dx * size).round() as i32,
                y + (dy * size).round() as i32,
            )
        })
        .collect();
    area.draw(&Polygon::new(points, colour.filled()))?;
    Ok(())
}
