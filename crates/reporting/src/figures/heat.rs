//! A square of shades: one value for each pair of names.

use plotters::element::Rectangle;
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{Color, FontTransform, RGBColor};

use super::bars::short;
use super::canvas::{Drawn, UNIT, render};
use super::chart::{style, units, write};
use super::palette::INK;
use super::text;
use crate::diagnostic::Failure;

const TEXT: f64 = 12.0;
const CHARACTERS: usize = 20;
const MARGIN: i32 = 8;
/// Nominal side of the square, about.
const SIDE: i32 = 520;

/// Shades of the pairs of `names`: below the diagonal by `below(i, j)`, above it by `above(j, i)`, both for `i > j`; 0 is white,
/// `most` and above are dark. Values stand in their squares where there is room.
///
/// # Errors
///
/// [`Failure::Failed`] for less than two names.
pub fn heat(
    names: &[String],
    [below, above]: [&dyn Fn(usize, usize) -> f64; 2],
    [most_below, most_above]: [f64; 2],
) -> Result<Drawn, Failure> {
    let count = names.len() as i32;
    if count < 2 {
        let why = format!("pairs of {count} names cannot be drawn");
        return Err(Failure::failed(why));
    }
    let names: Vec<String> = names.iter().map(|name| short(name, CHARACTERS)).collect();
    let widths = names.iter().map(|name| text::width(name, TEXT as f32));
    let names_width = widths.fold(0.0, f32::max) as i32 + 2 * MARGIN;
    let cell = (SIDE / count).clamp(4, 60);
    let size = (names_width + cell * count + MARGIN) as u32;
    let blue = RGBColor(8, 69, 148);
    let orange = RGBColor(166, 54, 3);
    let bytes = render((size, size), |root| {
        let every = (14 / cell + 1) as usize;
        for (place, name) in names.iter().enumerate() {
            let middle = names_width + cell * place as i32 + cell / 2;
            if place.is_multiple_of(every) {
                let row = (units(names_width - 4), units(middle));
                write(root, name, row, style(TEXT, HPos::Right, VPos::Center))?;
                let turned =
                    style(TEXT, HPos::Left, VPos::Center).transform(FontTransform::Rotate270);
                write(root, name, (units(middle), units(names_width - 4)), turned)?;
            }
        }
        for i in 0..names.len() {
            for j in 0..i {
                for (row, column, value, most, tone) in [
                    (i, j, below(i, j), most_below, blue),
                    (j, i, above(i, j), most_above, orange),
                ] {
                    let corner = |row: usize, column: usize| {
                        (
                            units(names_width + cell * column as i32),
                            units(names_width + cell * row as i32),
                        )
                    };
                    let square = [corner(row, column), corner(row + 1, column + 1)];
                    let shade = (value / most).clamp(0.0, 1.0);
                    root.draw(&Rectangle::new(square, tone.mix(shade).filled()))?;
                    root.draw(&Rectangle::new(square, INK.mix(0.12).stroke_width(UNIT)))?;
                    if cell >= 30 && value.is_finite() {
                        let at = (
                            units(names_width + cell * column as i32 + cell / 2),
                            units(names_width + cell * row as i32 + cell / 2),
                        );
                        let ink = style(TEXT - 1.0, HPos::Center, VPos::Center);
                        let ink = if shade > 0.55 {
                            ink.color(&plotters::style::WHITE)
                        } else {
                            ink
                        };
                        write(root, &format!("{value:.2}"), at, ink)?;
                    }
                }
            }
        }
        Ok(())
    })?;
    Ok(Drawn { bytes, skipped: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_have_their_values() {
        let names = ["a", "b", "c"].map(String::from);
        let below = |i: usize, j: usize| (10 * i + j) as f64 / 100.0;
        let drawn = heat(&names, [&below, &|_, _| 0.5], [1.0, 2.0]).expect("a picture");
        let svg = String::from_utf8(drawn.bytes).expect("text");
        for words in [">\n0.10", "0.20", "0.21", "0.50"] {
            assert!(svg.contains(words.trim_start_matches(">\n")), "{words}");
        }
        assert!(heat(&names[..1], [&below, &below], [1.0, 1.0]).is_err());
    }
}
