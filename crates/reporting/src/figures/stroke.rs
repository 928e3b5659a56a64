//! Lines, whole or dashed.

use plotters::element::PathElement;
use plotters::style::{Color, RGBColor};

use super::canvas::{Area, UNIT};
use crate::diagnostic::Failure;

/// Draws a line through `points`, in surface units.
///
/// - `width`: in nominal pixels;
/// - `dashes`: lengths drawn and left out in turn, in nominal pixels; empty for a whole line.
pub(super) fn line(
    area: &Area<'_>,
    points: Vec<(i32, i32)>,
    colour: RGBColor,
    width: f64,
    dashes: &[f64],
) -> Result<(), Failure> {
    let style = colour.stroke_width((width * f64::from(UNIT)).round().max(1.0) as u32);
    for piece in pieces(points, dashes) {
        area.draw(&PathElement::new(piece, style))?;
    }
    Ok(())
}

/// The drawn pieces of a dashed line.
fn pieces(points: Vec<(i32, i32)>, dashes: &[f64]) -> Vec<Vec<(i32, i32)>> {
    let lengths: Vec<f64> = dashes.iter().map(|d| d * f64::from(UNIT)).collect();
    if lengths.is_empty() || lengths.iter().any(|&l| l <= 0.0) {
        return vec![points];
    }
    let (mut which, mut left) = (0, lengths[0]);
    let mut pieces = Vec::new();
    let mut piece = points.first().copied().into_iter().collect::<Vec<_>>();
    for pair in points.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let (dx, dy) = (f64::from(to.0 - from.0), f64::from(to.1 - from.1));
        let length = dx.hypot(dy);
        let mut done = 0.0;
        while length - done > left {
            done += left;
            let share = done / length;
            let point = (
                from.0 + (share * dx).round() as i32,
                from.1 + (share * dy).round() as i32,
            );
            if which % 2 == 0 {
                piece.push(point);
                pieces.push(std::mem::take(&mut piece));
            } else {
                piece = vec![point];
            }
            which = (which + 1) % lengths.len();
            left = lengths[which];
        }
        left -= length - done;
        if which % 2 == 0 {
            piece.push(to);
        }
    }
    if piece.len() > 1 {
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_cover_their_share_of_a_line() {
        let points = vec![(0, 0), (300, 0), (300, 500)];
        let drawn: f64 = pieces(points.clone(), &[6.0, 4.0])
            .iter()
            .flat_map(|piece| piece.windows(2))
            .map(|p| f64::from(p[1].0 - p[0].0).hypot(f64::from(p[1].1 - p[0].1)))
            .sum();
        assert!((drawn - 480.0).abs() < 24.0, "{drawn}");
        assert_eq!(pieces(points.clone(), &[]), [points]);
    }
}
