use super::canvas::Canvas;
use super::field::Field;
use super::part::Part;
use crate::glyphs::hand::Hand;

/// Draws parts around a body, often symmetric, with their own texture, folds and shade, and rarely a hole.
pub(super) fn draw(canvas: &mut Canvas, hand: &mut Hand<'_>) {
    canvas.ground(hand);
    let edge = hand.between(0.5, 1.0) / canvas.side as f32;
    let symmetric = hand.chance(0.6);
    let tilt = if symmetric { 0.0 } else { 0.25 };
    let half = [hand.between(0.1, 0.42), hand.between(0.12, 0.46)];
    let middle = [0.5, hand.normal(0.5, 0.04)];
    let body = Part::new(middle, half, tilt, hand);
    let mut parts = vec![body];
    for _ in 0..(hand.between(0.0, 3.8) as usize) {
        let place = [
            middle[0] + half[0] * hand.between(-1.1, 1.1),
            middle[1] + half[1] * hand.between(-1.0, 1.0),
        ];
        let size = [hand.between(0.03, 0.22), hand.between(0.06, 0.4)];
        let part = Part::new(place, size, 0.35, hand);
        parts.push(part);
        if symmetric {
            parts.push(part.mirrored());
        }
    }
    let hole = hand.chance(0.25).then(|| {
        let place = [
            middle[0] + half[0] * hand.normal(0.0, 0.25),
            middle[1] - half[1] * hand.between(0.0, 1.0),
        ];
        let size = [
            half[0] * hand.between(0.2, 0.7),
            half[1] * hand.between(0.1, 0.7),
        ];
        let hole = Part::new(place, size, 0.0, hand);
        if symmetric { hole.centred() } else { hole }
    });

    let colours = [canvas.bright(hand), canvas.bright(hand)];
    let texture = Field::of_any_spectrum(10, hand);
    let folds = Field::folds(hand);
    let rough = hand.between(0.0, 0.35) * hand.between(0.0, 1.0);
    let folded = hand.between(0.0, 0.3);
    let shade = [hand.normal(0.0, 0.25), hand.normal(0.0, 0.25)];
    // Parts of another colour look like sleeves, stripes or soles.
    let other = hand.chance(0.3);
    let covers = |parts: &[Part], x: f32, y: f32| {
        let cover = parts.iter().map(|part| part.cover(x, y, edge));
        cover.fold(0.0, f32::max)
    };
    canvas.paint(
        |x, y| {
            let hole = hole.map_or(0.0, |hole: Part| hole.cover(x, y, edge));
            covers(&parts, x, y) * (1.0 - hole)
        },
        |x, y, channel| {
            let inner = if other { body.cover(x, y, edge) } else { 1.0 };
            let [a, b] = [colours[0][channel], colours[1][channel]];
            let colour = inner * a + (1.0 - inner) * b;
            let light = 1.0 + shade[0] * (2.0 * x - 1.0) + shade[1] * (2.0 * y - 1.0);
            colour * light * (1.0 + rough * texture.at(x, y) + folded * folds.at(x, y))
        },
    );
}
