use std::f32::consts::TAU;

use super::Glyphs;
use super::hand::Hand;
use super::path::{Line, Point, Stroke};

/// One wave of the elastic field: a shift (x, y) times sin(p . k + phase).
struct Wave {
    shift: Point,
    k: Point,
    phase: f32,
}

/// Moves each knot a little by itself, and neighbours together by a smooth elastic field.
pub(super) fn unsteady(strokes: &mut [Stroke], hand: &mut Hand<'_>) {
    let waves: [Wave; 4] = std::array::from_fn(|_| wave(hand));
    for knot in strokes.iter_mut().flatten() {
        let Point { x, y } = knot.at;
        let mut moved = Point {
            x: x + hand.stray(0.012),
            y: y + hand.stray(0.012),
        };
        for wave in &waves {
            let sine = (x * wave.k.x + y * wave.k.y + wave.phase).sin();
            moved.x += wave.shift.x * sine;
            moved.y += wave.shift.y * sine;
        }
        knot.at = moved;
    }
}

fn wave(hand: &mut Hand<'_>) -> Wave {
    // Wavelengths from half a digit's height to two of them; long waves swing wider.
    let length = hand.between(0.55, 2.0);
    let (direction, phase) = (hand.between(0.0, TAU), hand.between(0.0, TAU));
    Wave {
        shift: Point {
            x: hand.stray(0.023 * length),
            y: hand.stray(0.023 * length),
        },
        k: Point {
            x: TAU / length * direction.cos(),
            y: TAU / length * direction.sin(),
        },
        phase,
    }
}

/// Slants, rotates and stretches the lines, scales them to MNIST's box of 20 pixels and puts their
/// centre of mass in the middle of the image.
pub(super) fn place(lines: &mut [Line], hand: &mut Hand<'_>) {
    let slant = hand.normal(0.12, 0.19);
    let (sin, cos) = hand.stray(0.1).sin_cos();
    let aspect = hand.normal(0.0, 0.13).exp();
    transform(lines, |p| {
        let x = aspect * p.x + slant * (0.5 - p.y);
        Point {
            x: cos * x - sin * p.y,
            y: sin * x + cos * p.y,
        }
    });

    let (mut low, mut high) = (f32::MAX, f32::MIN);
    let (mut left, mut right) = (f32::MAX, f32::MIN);
    for point in lines.iter().flatten() {
        (low, high) = (low.min(point.y), high.max(point.y));
        (left, right) = (left.min(point.x), right.max(point.x));
    }
    let scale = hand.between(15.5, 18.5) / (high - low).max(right - left).max(0.1);
    let mass = centre_of_mass(lines);
    let middle = Glyphs::SIDE as f32 / 2.0;
    let (x, y) = (hand.normal(middle, 0.45), hand.normal(middle, 0.45));
    transform(lines, |p| Point {
        x: x + scale * (p.x - mass.x),
        y: y + scale * (p.y - mass.y),
    });
}

fn transform(lines: &mut [Line], map: impl Fn(Point) -> Point) {
    for point in lines.iter_mut().flatten() {
        *point = map(*point);
    }
}

/// Returns the mean of the lines' points, weighted by length, which is the centre of mass of the ink.
fn centre_of_mass(lines: &[Line]) -> Point {
    let (mut x, mut y, mut total) = (0.0, 0.0, f32::MIN_POSITIVE);
    for pair in lines.iter().flat_map(|line| line.windows(2)) {
        let length = (pair[1].x - pair[0].x).hypot(pair[1].y - pair[0].y);
        x += length * (pair[0].x + pair[1].x) / 2.0;
        y += length * (pair[0].y + pair[1].y) / 2.0;
        total += length;
    }
    Point {
        x: x / total,
        y: y / total,
    }
}
