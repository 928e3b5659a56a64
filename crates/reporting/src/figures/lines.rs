//! Line charts: losses and epsilon over steps, with bands for the spread over seeds.

use super::axis::{Axis, Scale};
use super::canvas::{Drawn, render};
use super::chart::{Key, Sign, frame};
use super::palette::{colour, dashes};
use crate::diagnostic::Failure;

/// One line of a chart.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Points, in the order in which they are joined; the line is broken at one that cannot be
    /// drawn.
    pub points: Vec<(f64, f64)>,
    /// Lower and upper end of the band at each point, or nothing.
    pub band: Vec<(f64, f64)>,
    /// Dashed, as for what is not a bound.
    pub dashed: bool,
}

impl Series {
    /// A whole line without a band.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self {
            name: name.into(),
            points,
            ..Self::default()
        }
    }

    /// The mean of several runs at each `x` that any of them has, with a band of one standard
    /// deviation (divided by `n - 1`) to either side. Values that are not finite are passed over.
    pub fn mean_and_deviation(name: impl Into<String>, runs: &[Vec<(f64, f64)>]) -> Self {
        let mut all: Vec<(f64, f64)> = runs
            .iter()
            .flatten()
            .copied()
            .filter(|(x, y)| x.is_finite() && y.is_finite())
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut series = Self::new(name, Vec::new());
        for group in all.chunk_by(|a, b| a.0 == b.0) {
            let values: Vec<f64> = group.iter().map(|(_, y)| *y).collect();
            let (mean, deviation) = mean_and_deviation(&values);
            series.points.push((group[0].0, mean));
            let half = deviation.unwrap_or(0.0);
            series.band.push((mean - half, mean + half));
        }
        series
    }

    fn drawable(&self, x: &Scale, y: &Scale) -> impl Fn(&(f64, f64)) -> bool {
        let (x, y) = (x.clone(), y.clone());
        move |(a, b)| x.shows(*a) && y.shows(*b)
    }
}

/// Mean, and standard deviation with divisor `n - 1`, `None` for fewer than two values.
pub fn mean_and_deviation(values: &[f64]) -> (f64, Option<f64>) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let deviation = (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt());
    (mean, deviation)
}

/// Lines over a common axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LineChart {
    /// Above the chart; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: Scale,
    /// The vertical axis.
    pub y: Scale,
    /// The lines, at least one with a point.
    pub series: Vec<Series>,
    /// Nominal width and height in pixels.
    pub size: Option<(u32, u32)>,
}

/// Nominal size of a chart: legible at half of it.
pub(super) const SIZE: (u32, u32) = (480, 320);

impl LineChart {
    /// The chart as a picture.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where no point can be drawn.
    pub fn draw(&self) -> Result<Drawn, Failure> {
        let points = || self.series.iter().flat_map(|s| &s.points);
        let kept = || points().filter(|(x, y)| self.x.shows(*x) && self.y.shows(*y));
        let bands = self.series.iter().flat_map(|s| &s.band);
        let x = Axis::around(&self.x, kept().map(|p| p.0));
        let y = Axis::around(
            &self.y,
            kept()
                .map(|p| p.1)
                .chain(bands.flat_map(|(low, high)| [*low, *high])),
        );
        let (Some(x), Some(y)) = (x, y) else {
            return Err(Failure::failed(format!(
                "the chart \"{}\" has no point to draw: {} given, none of them finite{}",
                self.title,
                points().count(),
                if self.x.logarithmic || self.y.logarithmic {
                    " and positive on its logarithmic axes"
                } else {
                    ""
                }
            )));
        };
        let keys: Vec<Key> = self
            .series
            .iter()
            .enumerate()
            .filter(|(_, s)| !s.name.is_empty())
            .map(|(k, s)| Key {
                name: s.name.clone(),
                colour: colour(k),
                sign: Sign::Line(dashes(k, s.dashed)),
            })
            .collect();
        let bytes = render(self.size.unwrap_or(SIZE), |root| {
            let plot = frame(root, root, &self.title, (&self.x, x), (&self.y, y), &keys)?;
            for (k, series) in self.series.iter().enumerate() {
                let shown = series.drawable(&self.x, &self.y);
                let mut start = 0;
                for part in series.points.chunk_by(|a, b| shown(a) == shown(b)) {
                    let range = start..start + part.len();
                    start = range.end;
                    if !shown(&part[0]) {
                        continue;
                    }
                    self.band(&plot, k, series, range)?;
                    plot.line(
                        part.iter().copied(),
                        colour(k),
                        2.0,
                        dashes(k, series.dashed),
                    )?;
                    if part.len() == 1 {
                        let at = plot.at(part[0].0, part[0].1);
                        super::marker::draw(plot.area, 0, at, 3.0, colour(k))?;
                    }
                }
            }
            Ok(())
        })?;
        Ok(Drawn {
            bytes,
            skipped: points().count() - kept().count(),
        })
    }

    /// The band of a piece of a line, where both of its ends can be drawn.
    fn band(
        &self,
        plot: &super::chart::Plot<'_, '_>,
        k: usize,
        series: &Series,
        range: std::ops::Range<usize>,
    ) -> Result<(), Failure> {
        let Some(band) = series.band.get(range.clone()) else {
            return Ok(());
        };
        if !band
            .iter()
            .all(|(low, high)| self.y.shows(*low) && self.y.shows(*high))
        {
            return Ok(());
        }
        let points = &series.points[range];
        let upper = points.iter().zip(band).map(|(p, b)| (p.0, b.1));
        let lower = points.iter().zip(band).rev().map(|(p, b)| (p.0, b.0));
        plot.fill(upper.chain(lower), colour(k), 0.2)
    }
}
