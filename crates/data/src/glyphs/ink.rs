use std::f32::consts::TAU;

use super::Glyphs;
use super::hand::Hand;
use super::path::{Line, Point};

const SIDE: usize = Glyphs::SIDE;

/// Draws lines, in pixels, with a pen whose width changes along the way.
///
/// The ink of a pixel is a smooth step of the distance of its centre to the nearest line, less half the pen's
/// width there. It falls from 1 inside to 0 outside over an edge of about a pixel.
pub(super) fn draw(lines: &[Line], hand: &mut Hand<'_>) -> [u8; SIDE * SIDE] {
    let half_width = hand.normal(0.26, 0.24).exp();
    let pressure = hand.between(0.0, 0.22);
    let (rhythm, mut phase) = (hand.between(0.15, 0.45), hand.between(0.0, TAU));
    let edge = hand.between(0.5, 0.95);

    // Distance to the edge of the ink, positive inside.
    let mut depth = [f32::MIN; SIDE * SIDE];
    for line in lines {
        for pair in line.windows(2) {
            let length = (pair[1].x - pair[0].x).hypot(pair[1].y - pair[0].y);
            phase += rhythm * length;
            let width = half_width * (1.0 + pressure * phase.sin());
            stamp(&mut depth, SIDE, pair[0], pair[1], width, edge);
        }
    }

    let full = hand.between(0.88, 1.0);
    let grain = hand.between(0.0, 0.08);
    let mut pixels = [0; SIDE * SIDE];
    for (pixel, depth) in pixels.iter_mut().zip(depth) {
        let t = ((depth + edge) / (2.0 * edge)).clamp(0.0, 1.0);
        if t > 0.0 {
            let ink = t * t * (3.0 - 2.0 * t) * (full + hand.normal(0.0, grain));
            *pixel = (255.0 * ink.clamp(0.0, 1.0)).round() as u8;
        }
    }
    pixels
}

/// Raises the depth of the pixels of a square image near one straight piece: their distance to the edge of the ink,
/// positive inside.
pub(crate) fn stamp(depth: &mut [f32], side: usize, from: Point, to: Point, width: f32, edge: f32) {
    let reach = width + edge;
    let columns = span(from.x, to.x, reach, side);
    let rows = span(from.y, to.y, reach, side);
    let (dx, dy) = (to.x - from.x, to.y - from.y);
    let square = (dx * dx + dy * dy).max(f32::MIN_POSITIVE);
    for row in rows {
        for column in columns.clone() {
            let (x, y) = (column as f32 + 0.5 - from.x, row as f32 + 0.5 - from.y);
            let along = ((x * dx + y * dy) / square).clamp(0.0, 1.0);
            // `hypot` would take half of the drawing time, because it guards against overflow.
            let (x, y) = (x - along * dx, y - along * dy);
            let distance = (x * x + y * y).sqrt();
            let pixel = &mut depth[row * side + column];
            *pixel = pixel.max(width - distance);
        }
    }
}

/// Returns the range of pixels of the image whose centres can lie within `reach` of a piece, along one axis.
fn span(a: f32, b: f32, reach: f32, side: usize) -> std::ops::Range<usize> {
    // Float-to-integer casts saturate, so a line outside the image gives an empty range.
    let first = (a.min(b) - reach - 0.5).floor().max(0.0) as usize;
    let last = (a.max(b) + reach + 0.5).ceil().max(0.0) as usize;
    first.min(side)..last.min(side)
}
