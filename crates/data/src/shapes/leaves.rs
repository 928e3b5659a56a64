use super::canvas::Canvas;
use super::field::Field;
use super::part::Part;
use crate::glyphs::hand::Hand;

/// The smallest and the largest half width.
const SIZES: [f32; 2] = [0.06, 0.6];
const LEAVES: usize = 40;

/// Draws parts that fall on each other, so that the last ones hide the first. Half widths have the density `r^-3`, with
/// which the image looks alike at every scale (Lee, Mumford and Huang 2001).
pub(super) fn draw(canvas: &mut Canvas, hand: &mut Hand<'_>) {
    let colour = canvas.colour(hand);
    canvas.fill(|_, _, channel| colour[channel]);
    let edge = 0.7 / canvas.side as f32;
    let texture = Field::of_any_spectrum(8, hand);
    for _ in 0..LEAVES {
        let [low, high] = SIZES.map(|size| size.powi(-2));
        let size = (low + hand.between(0.0, 1.0) * (high - low)).powf(-0.5);
        let centre = [hand.between(-0.1, 1.1), hand.between(-0.1, 1.1)];
        let half = [size, size * hand.between(0.5, 1.0)];
        let part = Part::loose(centre, half, hand);
        let colour = canvas.colour(hand);
        let rough = hand.between(0.0, 0.25);
        canvas.paint(
            |x, y| part.cover(x, y, edge),
            |x, y, channel| colour[channel] * (1.0 + rough * texture.at(x, y)),
        );
    }
}
