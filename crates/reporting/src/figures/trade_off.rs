//! Trade-off curves: what a method gains against what it costs, with error bars.

use super::axis::{Axis, Scale};
use super::canvas::{Drawn, render};
use super::chart::{Key, Sign, frame};
use super::lines::SIZE;
use super::marker;
use super::palette::colour;
use crate::diagnostic::Failure;

/// One measured point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// What it costs, such as epsilon.
    pub x: f64,
    /// What it gains, such as an accuracy.
    pub y: f64,
    /// Half the length of the error bar in `y`, 0 for none.
    pub y_error: f64,
    /// Half the length of the error bar in `x`, 0 for none.
    pub x_error: f64,
}

/// The points of one method.
#[derive(Debug, Clone, PartialEq)]
pub struct Method {
    /// Its name in the legend.
    pub name: String,
    /// Its points, in the order in which they are joined.
    pub points: Vec<Measured>,
    /// Whether they are joined by a line.
    pub joined: bool,
}

/// Methods compared in two quantities.
#[derive(Debug, Clone, PartialEq)]
pub struct TradeOff {
    /// Above the chart; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: Scale,
    /// The vertical axis.
    pub y: Scale,
    /// The methods, at least one with a point.
    pub methods: Vec<Method>,
}

impl TradeOff {
    fn shows(&self, point: &Measured) -> bool {
        self.x.shows(point.x) && self.y.shows(point.y)
    }

    /// The chart as a picture. The lower end of an error bar that a logarithmic axis cannot show is
    /// cut at the point itself.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where no point can be drawn.
    pub fn draw(&self) -> Result<Drawn, Failure> {
        let points = || self.methods.iter().flat_map(|m| &m.points);
        let kept = || points().filter(|p| self.shows(p));
        let x = Axis::around(
            &self.x,
            kept().flat_map(|p| [p.x, p.x - p.x_error, p.x + p.x_error]),
        );
        let y = Axis::around(
            &self.y,
            kept().flat_map(|p| [p.y, p.y - p.y_error, p.y + p.y_error]),
        );
        let (Some(x), Some(y)) = (x, y) else {
            return Err(Failure::failed(format!(
                "the chart \"{}\" has no point to draw: {} given, none with a place on its axes",
                self.title,
                points().count()
            )));
        };
        let keys: Vec<Key> = self
            .methods
            .iter()
            .enumerate()
            .filter(|(_, method)| !method.name.is_empty())
            .map(|(k, method)| Key {
                name: method.name.clone(),
                colour: colour(k),
                sign: Sign::Mark(k),
            })
            .collect();
        let bytes = render(SIZE, |root| {
            let plot = frame(root, root, &self.title, (&self.x, x), (&self.y, y), &keys)?;
            for (k, method) in self.methods.iter().enumerate() {
                for part in method
                    .points
                    .chunk_by(|a, b| self.shows(a) && self.shows(b))
                {
                    if method.joined && part.len() > 1 {
                        plot.line(part.iter().map(|p| (p.x, p.y)), colour(k), 1.5, &[])?;
                    }
                }
                for point in method.points.iter().filter(|p| self.shows(p)) {
                    self.bars(&plot, point, k)?;
                    marker::draw(plot.area, k, plot.at(point.x, point.y), 5.0, colour(k))?;
                }
            }
            Ok(())
        })?;
        Ok(Drawn {
            bytes,
            skipped: points().count() - kept().count(),
        })
    }

    fn bars(
        &self,
        plot: &super::chart::Plot<'_, '_>,
        point: &Measured,
        k: usize,
    ) -> Result<(), Failure> {
        let end = |scale: &Scale, from: f64, to: f64| if scale.shows(to) { to } else { from };
        let Measured { x, y, .. } = *point;
        if point.y_error > 0.0 && point.y_error.is_finite() {
            let low = end(&self.y, y, y - point.y_error);
            plot.line([(x, low), (x, y + point.y_error)], colour(k), 1.2, &[])?;
        }
        if point.x_error > 0.0 && point.x_error.is_finite() {
            let low = end(&self.x, x, x - point.x_error);
            plot.line([(low, y), (x + point.x_error, y)], colour(k), 1.2, &[])?;
        }
        Ok(())
    }
}
