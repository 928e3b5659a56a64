//! Small bar charts side by side: how often each value of several columns is, measured and copied.

use plotters::element::{PathElement, Rectangle};
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use super::canvas::{Drawn, UNIT, render};
use super::chart::{Key, Sign, legend, legend_height, style, units, write};
use super::palette::{FAINT, INK, colour};
use crate::diagnostic::Failure;

/// Nominal size of a chart, with its title and the names below it.
const WIDTH: i32 = 220;
const HEIGHT: i32 = 130;
const TITLE: i32 = 20;
const NAMES: i32 = 18;
const GAP: i32 = 14;
const TEXT: f64 = 12.0;
/// Charts in a row.
const COLUMNS: usize = 4;

/// One chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// Above it.
    pub title: String,
    /// The first and the last value, below it.
    pub ends: [String; 2],
    /// What was measured of each value, and its deviation.
    pub measured: Vec<[f64; 2]>,
    /// What the copy has of each.
    pub copied: Vec<f64>,
}

/// Charts in rows of four: bars with an error of one deviation for what was `measured`, lines across them for what is
/// `copied`, by those names.
///
/// # Errors
///
/// [`Failure::Failed`] without a chart, or without a value in one.
pub fn bars(charts: &[Bars], [measured, copied]: [&str; 2]) -> Result<Drawn, Failure> {
    let empty =
        |chart: &Bars| chart.measured.is_empty() || chart.measured.len() != chart.copied.len();
    if charts.is_empty() || charts.iter().any(empty) {
        return Err(Failure::failed("bars cannot be drawn: there are none"));
    }
    let rows = charts.len().div_ceil(COLUMNS) as i32;
    let wide = (WIDTH + GAP) * charts.len().min(COLUMNS) as i32 + GAP;
    let key = |name: &str, place, sign| Key {
        name: name.into(),
        colour: colour(place),
        sign,
    };
    let keys = [
        key(measured, 0, Sign::Block),
        key(copied, 1, Sign::Line(&[])),
    ];
    let above = legend_height(&keys, wide) + GAP;
    let high = above + (HEIGHT + GAP) * rows;
    let bytes = render((wide as u32, high as u32), |root| {
        legend(root, &keys, units(4), units(wide))?;
        for (place, chart) in charts.iter().enumerate() {
            let left = GAP + (WIDTH + GAP) * (place % COLUMNS) as i32;
            let top = above + (HEIGHT + GAP) * (place / COLUMNS) as i32;
            let at = |x: i32, y: i32| (units(left + x), units(top + y));
            write(
                root,
                &short(&chart.title, 30),
                at(0, 0),
                style(TEXT + 1.0, HPos::Left, VPos::Top),
            )?;
            let base = units(top + HEIGHT - NAMES);
            let room = f64::from(units(HEIGHT - NAMES - TITLE));
            let values = chart
                .measured
                .iter()
                .map(|[value, deviation]| value + deviation);
            let most = values
                .chain(chart.copied.iter().copied())
                .fold(f64::MIN_POSITIVE, f64::max);
            let level = |value: f64| base - (room * (value / most).clamp(0.0, 1.0)) as i32;
            let step = f64::from(units(WIDTH)) / chart.copied.len() as f64;
            for (bar, ([value, deviation], &copied)) in
                chart.measured.iter().zip(&chart.copied).enumerate()
            {
                let x = |share: f64| units(left) + (step * (bar as f64 + share)) as i32;
                let block = [(x(0.1), level(*value)), (x(0.9), base)];
                root.draw(&Rectangle::new(block, colour(0).mix(0.45).filled()))?;
                let error = vec![
                    (x(0.5), level(value - deviation)),
                    (x(0.5), level(value + deviation)),
                ];
                root.draw(&PathElement::new(error, INK.mix(0.6).stroke_width(UNIT)))?;
                let across = vec![(x(0.05), level(copied)), (x(0.95), level(copied))];
                root.draw(&PathElement::new(across, colour(1).stroke_width(2 * UNIT)))?;
            }
            let axis = vec![(units(left), base), (units(left + WIDTH), base)];
            root.draw(&PathElement::new(axis, FAINT.stroke_width(UNIT)))?;
            let [first, last] = chart.ends.each_ref().map(|name| short(name, 16));
            write(
                root,
                &first,
                at(0, HEIGHT - NAMES + 2),
                style(TEXT, HPos::Left, VPos::Top),
            )?;
            write(
                root,
                &last,
                at(WIDTH, HEIGHT - NAMES + 2),
                style(TEXT, HPos::Right, VPos::Top),
            )?;
        }
        Ok(())
    })?;
    Ok(Drawn { bytes, skipped: 0 })
}

/// A name that has so many characters at most.
pub(super) fn short(name: &str, most: usize) -> String {
    match name.chars().count() > most {
        true => name.chars().take(most - 1).chain(['\u{2026}']).collect(),
        false => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_chart_is_there_with_its_names() {
        let chart = |title: &str| Bars {
            title: title.into(),
            ends: ["low".into(), "high".into()],
            measured: vec![[5.0, 1.0], [-1.0, 1.0]],
            copied: vec![4.0, 0.0],
        };
        let drawn = bars(
            &[chart("age"), chart("height")],
            ["noisy counts", "the copy"],
        )
        .expect("a picture");
        let svg = String::from_utf8(drawn.bytes).expect("text");
        for words in ["age", "height", "low", "high", "noisy counts", "the copy"] {
            assert!(svg.contains(words), "{words}");
        }
        assert!(bars(&[], ["a", "b"]).is_err());
    }
}
