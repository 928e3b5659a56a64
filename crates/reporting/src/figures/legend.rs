//! Legends: names with the signs that series are drawn by.

use super::chart::{LINE, MARGIN, Mark, TEXT};
use super::palette::{colour, dashes};
use super::svg::{Anchor, At, Svg};
use super::text;

/// One name, of series number `k`.
pub(super) struct Key {
    pub name: String,
    pub k: usize,
    pub mark: Mark,
}

impl Key {
    fn sign_width(&self) -> f64 {
        match self.mark {
            Mark::Line | Mark::Dashed | Mark::Across | Mark::Context => 26.0,
            _ => 14.0,
        }
    }

    /// Returns the width of the sign, the name and the space after them.
    fn width(&self) -> f64 {
        self.sign_width() + 22.0 + text::width(&self.name, TEXT).ceil()
    }
}

/// Returns the left end and the row of each key in a legend of the given width.
fn places(keys: &[Key], width: f64) -> Vec<(f64, f64)> {
    let (mut x, mut row) = (MARGIN, 0.0);
    let place = |key: &Key| {
        if x > MARGIN && x + key.width() > width {
            (x, row) = (MARGIN, row + 1.0);
        }
        let place = (x, row);
        x += key.width();
        place
    };
    keys.iter().map(place).collect()
}

/// Returns the height of a legend.
pub(super) fn height(keys: &[Key], width: f64) -> f64 {
    let places = places(keys, width);
    places
        .last()
        .map_or(0.0, |(_, row)| LINE * (row + 1.0) + 4.0)
}

/// Draws a legend from its upper left corner in as many rows as it needs, and returns its height.
pub(super) fn draw(svg: &mut Svg, keys: &[Key], (left, top): At, width: f64) -> f64 {
    for (key, (place, row)) in keys.iter().zip(places(keys, width)) {
        let (x, y) = (left + place, top + LINE * (row + 0.5));
        let (sign, colour) = (key.sign_width(), colour(key.k));
        match key.mark {
            Mark::Area | Mark::Blocks => {
                svg.block([(x, y - 6.0), (x + sign, y + 6.0)], colour, 0.55);
            }
            Mark::Points | Mark::Joined | Mark::Dots => {
                svg.marks([(x + sign / 2.0, y)], key.k, 5.0, colour);
            }
            line => {
                let dashes = dashes(key.k, line == Mark::Dashed);
                svg.lines([[(x, y), (x + sign, y)]], colour, 2.0, dashes);
            }
        }
        svg.text(&key.name, (x + sign + 6.0, y), TEXT, Anchor::Start);
    }
    height(keys, width)
}
