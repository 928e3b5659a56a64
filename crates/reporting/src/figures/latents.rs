//! Latent points in the plane, by class, with the unit circle.

use super::canvas::Drawn;
use super::chart::{Key, Sign};
use super::marker;
use super::palette::{CONTEXT, colour};
use super::panel::Panels;
use crate::diagnostic::Failure;

/// Most panels: the first twelve coordinates.
const MOST_PANELS: usize = 6;
/// Panels in a row.
const COLUMNS: usize = 3;
/// Nominal radius of a mark.
const MARK: f64 = 1.9;

/// Points of a latent space, to be seen two coordinates at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct Latents<'a> {
    /// `[count, dimension]`, row by row.
    pub points: &'a [f32],
    /// Coordinates of a point.
    pub dimension: usize,
    /// Class of each point.
    pub classes: &'a [usize],
    /// Names of the classes; a class without one is called by its number.
    pub names: &'a [String],
    /// Half the side of a panel, in units of the points.
    pub radius: f32,
}

impl Latents<'_> {
    /// A panel for each pair of coordinates (1, 2), (3, 4), ..., up to six, with a legend of the
    /// classes; the circle is the boundary of the unit ball. Points outside a panel are left out of
    /// it and counted.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where there is no point, where the points do not fill their rows, where
    /// their classes are more or fewer than they are, and for a radius that is not positive.
    pub fn draw(&self) -> Result<Drawn, Failure> {
        let count = self.classes.len();
        if count == 0 || self.dimension == 0 || self.points.len() != count * self.dimension {
            return Err(Failure::failed(format!(
                "latents cannot be drawn: {} numbers for {count} points of dimension {}",
                self.points.len(),
                self.dimension
            )));
        }
        let mut present = self.classes.to_vec();
        present.sort_unstable();
        present.dedup();
        let keys: Vec<Key> = present
            .iter()
            .map(|&class| Key {
                name: self
                    .names
                    .get(class)
                    .cloned()
                    .unwrap_or_else(|| class.to_string()),
                colour: colour(class),
                sign: Sign::Mark(class),
            })
            .collect();
        let count = self.dimension.div_ceil(2).min(MOST_PANELS);
        let titles = (0..count)
            .map(|panel| match 2 * panel + 1 {
                last if last == self.dimension => format!("coordinate {last}"),
                first => format!("coordinates {first} and {}", first + 1),
            })
            .collect();
        let radius = f64::from(self.radius);
        let panels = Panels {
            titles,
            columns: COLUMNS,
            x: -radius..radius,
            y: -radius..radius,
            keys: &keys,
        };
        panels.draw(|plot, panel| {
            let circle = (0..=180).map(|step| {
                let angle = f64::from(step) * std::f64::consts::TAU / 180.0;
                (angle.cos(), angle.sin())
            });
            if radius > 1.0 {
                plot.line(circle, CONTEXT, 1.2, &[])?;
            }
            let mut skipped = 0;
            for (point, &class) in self.points.chunks_exact(self.dimension).zip(self.classes) {
                let x = f64::from(point[2 * panel]);
                let y = point.get(2 * panel + 1).copied().map_or(0.0, f64::from);
                if !panels.holds(x, y) {
                    skipped += 1;
                    continue;
                }
                marker::draw(plot.area, class, plot.at(x, y), MARK, colour(class))?;
            }
            Ok(skipped)
        })
    }
}

/// [`Latents`] with classes called by their numbers, as SVG bytes.
///
/// - `points`: `[count, dimension]`, row by row; - `classes`: one for each point;
/// - `radius`: half the side of a panel in units of the points.
///
/// # Errors
///
/// As [`Latents::draw`].
pub fn scatter(
    points: &[f32],
    dimension: usize,
    classes: &[usize],
    radius: f32,
) -> Result<Vec<u8>, Failure> {
    let latents = Latents {
        points,
        dimension,
        classes,
        names: &[],
        radius,
    };
    Ok(latents.draw()?.bytes)
}
