use std::f32::consts::TAU;

use super::canvas::{Canvas, smooth};
use crate::glyphs::hand::Hand;
use crate::glyphs::ink::stamp;
use crate::glyphs::path::{Knot, Point, Stroke, trace};

/// Draws one to four strokes of a pen that turns at random, placed as a whole in the middle of the image.
pub(super) fn draw(canvas: &mut Canvas, hand: &mut Hand<'_>) {
    canvas.ground(hand);
    let count = 1 + (hand.between(0.0, 1.0).powi(2) * 4.0) as usize;
    let mut from = Point { x: 0.0, y: 0.0 };
    let mut strokes = Vec::with_capacity(count);
    for _ in 0..count {
        let stroke = walk(from, hand);
        // The next stroke starts near a place of this one.
        let near = (hand.between(0.0, 1.0) * stroke.len() as f32) as usize;
        let near = stroke.get(near).map_or(from, |knot| knot.at);
        from = Point {
            x: hand.normal(near.x, 0.5),
            y: hand.normal(near.y, 0.5),
        };
        strokes.push(stroke);
    }
    let mut lines = trace(&strokes);
    let side = canvas.side as f32;
    let points = || lines.iter().flatten();
    let span = |of: fn(&Point) -> f32| {
        let (low, high) = points().fold((f32::MAX, f32::MIN), |(low, high), point| {
            (low.min(of(point)), high.max(of(point)))
        });
        (0.5 * (low + high), high - low)
    };
    let ((x, width), (y, height)) = (span(|p| p.x), span(|p| p.y));
    let scale = side * hand.between(0.5, 0.8) / width.max(height).max(0.3);
    let middle = [(); 2].map(|()| side * hand.normal(0.5, 0.03));
    for point in lines.iter_mut().flatten() {
        point.x = middle[0] + scale * (point.x - x);
        point.y = middle[1] + scale * (point.y - y);
    }

    let pen = side / 28.0 * hand.normal(0.3, 0.3).exp();
    let edge = hand.between(0.5, 0.95);
    let (pressure, rhythm) = (hand.between(0.0, 0.3), hand.between(0.1, 0.4));
    let mut depth = vec![f32::MIN; canvas.side * canvas.side];
    let mut phase = hand.between(0.0, TAU);
    for pair in lines.iter().flat_map(|line| line.windows(2)) {
        phase += rhythm * (pair[1].x - pair[0].x).hypot(pair[1].y - pair[0].y);
        let width = pen * (1.0 + pressure * phase.sin());
        stamp(&mut depth, canvas.side, pair[0], pair[1], width, edge);
    }
    let side = canvas.side;
    let colour = canvas.bright(hand).map(|value| value.sqrt());
    canvas.paint(
        |x, y| {
            let place = (y * side as f32) as usize * side + (x * side as f32) as usize;
            smooth(depth[place] / edge)
        },
        |_, _, channel| colour[channel],
    );
}

/// Returns the knots of a random walk whose direction drifts one way and may turn sharply.
fn walk(from: Point, hand: &mut Hand<'_>) -> Stroke {
    let knots = 3 + (hand.between(0.0, 1.0) * 7.0) as usize;
    let mut direction = hand.between(0.0, TAU);
    let drift = hand.normal(0.0, 0.8);
    let mut at = from;
    let mut stroke = vec![Knot { at, corner: false }];
    for _ in 1..knots {
        let length = hand.between(0.5, 1.3);
        at = Point {
            x: at.x + length * direction.cos(),
            y: at.y + length * direction.sin(),
        };
        let corner = hand.chance(0.15);
        stroke.push(Knot { at, corner });
        let turn = if corner { hand.between(1.5, 3.0) } else { 0.0 };
        direction += hand.normal(drift, 0.45) + turn;
    }
    stroke
}
