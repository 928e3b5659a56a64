//! A heat map: one value for each pair of names.

use super::chart::MARGIN;
use super::palette::{Colour, FAINT, WHITE};
use super::svg::{Anchor, Drawn, Svg};
use super::text;
use crate::diagnostic::Failure;

const TEXT: f64 = 12.0;
/// The largest width of a name.
const NAME: f64 = 150.0;
/// The approximate side of the square.
const SIDE: f64 = 520.0;
const BELOW: Colour = "#084594";
const ABOVE: Colour = "#A63603";

/// Draws a heat map of the pairs of `names`: `below(i, j)` below the diagonal and `above(j, i)` above it, both for `i > j`.
/// A value of 0 is white; `most` and above are dark. Values are written in their squares if there is room.
///
/// # Errors
///
/// [`Failure::Failed`] for fewer than two names.
pub fn heat(
    names: &[String],
    [below, above]: [&dyn Fn(usize, usize) -> f64; 2],
    [most_below, most_above]: [f64; 2],
) -> Result<Drawn, Failure> {
    let count = names.len();
    if count < 2 {
        let why = format!("pairs of {count} names cannot be drawn");
        return Err(Failure::failed(why));
    }
    let names = names.iter().map(|name| text::fitted(name, TEXT, NAME));
    let names: Vec<String> = names.collect();
    let widths = names.iter().map(|name| text::width(name, TEXT));
    let before = widths.fold(0.0, f64::max).ceil() + 2.0 * MARGIN;
    let cell = (SIDE / count as f64).floor().clamp(4.0, 60.0);
    let edge = |place: usize| before + cell * place as f64;
    let end = edge(count);
    let mut svg = Svg::new((end + MARGIN, end + MARGIN));
    let every = (14.0 / cell) as usize + 1;
    for (place, name) in names.iter().enumerate().step_by(every) {
        let middle = edge(place) + cell / 2.0;
        svg.text(name, (before - 4.0, middle), TEXT, Anchor::End);
        svg.upright(name, (middle, before - 4.0), TEXT, Anchor::Start);
    }
    let edges = (0..=count).map(edge);
    let lines = edges.flat_map(|at| [[(before, at), (end, at)], [(at, before), (at, end)]]);
    svg.lines(lines, FAINT, 1.0, "");
    for (i, j) in (0..count).flat_map(|i| (0..i).map(move |j| (i, j))) {
        for (row, column, value, most, tone) in [
            (i, j, below(i, j), most_below, BELOW),
            (j, i, above(i, j), most_above, ABOVE),
        ] {
            let (x, y) = (edge(column), edge(row));
            let shade = (value / most).clamp(0.0, 1.0);
            if shade > 0.0 {
                svg.block([(x, y), (x + cell, y + cell)], tone, shade);
            }
            if cell >= 30.0 && value.is_finite() {
                let colour = match shade > 0.55 {
                    true => format!(" fill=\"{WHITE}\""),
                    false => String::new(),
                };
                let (words, middle) = (format!("{value:.2}"), (x + cell / 2.0, y + cell / 2.0));
                svg.styled(&words, middle, TEXT - 1.0, Anchor::Middle, &colour);
            }
        }
    }
    Ok(svg.finish(0))
}
