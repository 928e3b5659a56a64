//! Particles of a flow in the plane over the level sets of a density (Sebag et al. 2023, arXiv 2312.08227, figure
//! 1).

use std::ops::Range;

use super::canvas::Drawn;
use super::chart::{Key, Sign};
use super::contour::Field;
use super::marker;
use super::palette::{CONTEXT, colour};
use super::panel::Panels;
use crate::diagnostic::Failure;

/// Nominal radius of a particle.
const MARK: f64 = 1.9;

/// The particles at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Above the panel, such as `step 50`.
    pub title: String,
    /// Positions, one list a group.
    pub groups: Vec<Vec<(f64, f64)>>,
}

/// A flow seen at several times, a panel each.
#[derive(Debug, Clone, PartialEq)]
pub struct Particles {
    /// The panels, at least one.
    pub snapshots: Vec<Snapshot>,
    /// Names of the groups; no legend where empty.
    pub names: Vec<String>,
    /// The density behind the particles.
    pub density: Option<Field>,
    /// Its values that are drawn; see [`Field::levels`].
    pub levels: Vec<f64>,
    /// The part of the plane that is seen.
    pub x: Range<f64>,
    /// The part of the plane that is seen.
    pub y: Range<f64>,
    /// Panels in a row.
    pub columns: usize,
}

impl Particles {
    /// The panels as a picture; particles outside are left out and counted.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where there is no panel, and for a part of the plane without an inside.
    pub fn draw(&self) -> Result<Drawn, Failure> {
        if self.snapshots.is_empty() {
            return Err(Failure::failed(
                "particles cannot be drawn: there is no panel",
            ));
        }
        let keys: Vec<Key> = self
            .names
            .iter()
            .enumerate()
            .map(|(group, name)| Key {
                name: name.clone(),
                colour: colour(group),
                sign: Sign::Mark(group),
            })
            .collect();
        let panels = Panels {
            titles: self.snapshots.iter().map(|s| s.title.clone()).collect(),
            columns: self.columns,
            x: self.x.clone(),
            y: self.y.clone(),
            keys: &keys,
        };
        let level_sets: Vec<Vec<(f64, f64)>> = self
            .density
            .iter()
            .flat_map(|field| self.levels.iter().map(|&level| field.level_set(level)))
            .flatten()
            .collect();
        panels.draw(|plot, number| {
            for line in &level_sets {
                // Only what lies in the panel: the density may be known on a wider plane.
                for part in line.chunk_by(|a, b| panels.holds(a.0, a.1) && panels.holds(b.0, b.1)) {
                    if part.len() > 1 {
                        plot.line(part.iter().copied(), CONTEXT, 1.0, &[])?;
                    }
                }
            }
            let mut skipped = 0;
            for (group, points) in self.snapshots[number].groups.iter().enumerate() {
                for &(x, y) in points {
                    if panels.holds(x, y) {
                        marker::draw(plot.area, group, plot.at(x, y), MARK, colour(group))?;
                    } else {
                        skipped += 1;
                    }
                }
            }
            Ok(skipped)
        })
    }
}
