//! Points of the plane, coloured by group.

use super::axis::Scale;
use super::chart::{Chart, Mark, Series, panels};
use crate::diagnostic::Failure;

/// The largest number of panels of a latent space, which shows its first twelve coordinates.
const MOST_PANELS: usize = 6;
/// The number of panels in a row.
const COLUMNS: usize = 3;
const SIZE: (f64, f64) = (304.0, 304.0);
/// The number of grid places along each side, between which a function is taken for linear.
const NODES: usize = 120;

impl Chart {
    /// Returns a chart of the part of the plane from `-side` to `side` in both directions.
    pub fn plane(title: impl Into<String>, side: f64, series: Vec<Series>) -> Self {
        Self {
            title: title.into(),
            x: Scale::default().between(-side, side),
            y: Scale::default().between(-side, side),
            series,
            size: Some(SIZE),
            plane: true,
        }
    }
}

/// A place, and the value of a function there.
type Node = (f64, f64, f64);

/// Returns the place at which a function that is linear between two places has the value `level`, if there is one.
fn crossing(a: Node, b: Node, level: f64) -> Option<(f64, f64)> {
    let share = (level - a.2) / (b.2 - a.2);
    let there = (a.0 + share * (b.0 - a.0), a.1 + share * (b.1 - a.1));
    ((a.2 >= level) != (b.2 >= level)).then_some(there)
}

impl Series {
    /// Returns the lines on which a function on the plane, from `-side` to `side`, has one of the values `levels`.
    pub fn level_sets(side: f64, levels: &[f64], function: impl Fn(f64, f64) -> f64) -> Self {
        let node = |k: usize| side * (2.0 * k as f64 / NODES as f64 - 1.0);
        let row = |i| (0..=NODES).map(move |j| (node(j), node(i)));
        let rows = (0..=NODES).map(|i| row(i).map(|(x, y)| (x, y, function(x, y))).collect());
        let rows: Vec<Vec<Node>> = rows.collect();
        let mut points: Vec<(f64, f64)> = Vec::new();
        for pair in rows.windows(2) {
            for (low, high) in pair[0].windows(2).zip(pair[1].windows(2)) {
                // A level crosses two sides of a triangle, or none.
                for corner in [low[1], high[0]] {
                    let sides = [(low[0], corner), (corner, high[1]), (high[1], low[0])];
                    for &level in levels {
                        let before = points.len();
                        points.extend(sides.iter().filter_map(|(a, b)| crossing(*a, *b, level)));
                        if points.len() > before {
                            // A point that cannot be shown breaks the line here.
                            points.push((f64::NAN, f64::NAN));
                        }
                    }
                }
            }
        }
        Self::of(Mark::Context, "", points)
    }
}

/// Draws points of a latent space by class, as SVG bytes. Each pair of coordinates (1, 2), (3, 4), ... has a panel, up to
/// six; the legend names the classes. The circle is the boundary of the unit ball. Points outside a panel are left out of it.
///
/// - `points`: `[count, dimension]`, row by row; - `classes`: the number of the class of each point;
/// - `radius`: half the side of a panel in units of the points.
///
/// # Errors
///
/// [`Failure::Failed`] if there is no point, if the points do not fill their rows, if the numbers of classes and of points
/// differ, or if the radius is not positive.
pub fn scatter(
    points: &[f32],
    dimension: usize,
    classes: &[usize],
    radius: f32,
) -> Result<Vec<u8>, Failure> {
    let count = classes.len();
    if count == 0 || dimension == 0 || points.len() != count * dimension {
        return Err(Failure::failed(format!(
            "latents cannot be drawn: {} numbers for {count} points of dimension {dimension}",
            points.len()
        )));
    }
    let most = classes.iter().max().map_or(0, |most| most + 1);
    let panel = |panel: usize| {
        let (first, second) = (2 * panel, 2 * panel + 1);
        let dots = Series {
            mark: Mark::Dots,
            ..Series::default()
        };
        let mut groups = vec![dots; most];
        for (point, &class) in points.chunks_exact(dimension).zip(classes) {
            let group = &mut groups[class];
            group.name = class.to_string();
            let y = point.get(second).map_or(0.0, |&y| y.into());
            group.points.push((point[first].into(), y).into());
        }
        if radius > 1.0 {
            let angles = (0..=180).map(|step| f64::from(step) * std::f64::consts::TAU / 180.0);
            let circle = angles.map(|angle| (angle.cos(), angle.sin()));
            groups.push(Series::of(Mark::Context, "", circle));
        }
        let title = match second == dimension {
            true => format!("coordinate {second}"),
            false => format!("coordinates {second} and {}", second + 1),
        };
        Chart::plane(title, radius.into(), groups)
    };
    let count = dimension.div_ceil(2).min(MOST_PANELS);
    let charts: Vec<Chart> = (0..count).map(panel).collect();
    Ok(panels(&charts, COLUMNS)?.bytes)
}

#[cfg(test)]
mod tests {
    use super::super::chart::Point;
    use super::*;

    #[test]
    fn a_cone_has_a_circle() {
        let circle = Series::level_sets(2.0, &[1.0], f64::hypot);
        let drawn: Vec<&[Point]> = circle.points.split(|p| p.x.is_nan()).collect();
        assert!(drawn.len() > 200);
        assert!(drawn.iter().all(|line| [0, 2].contains(&line.len())));
        for p in drawn.concat() {
            assert!((p.x.hypot(p.y) - 1.0).abs() < 1e-3);
        }
        assert!(
            Series::level_sets(1.0, &[0.5], |_, _| f64::NAN)
                .points
                .is_empty()
        );
    }
}
