//! A chart: a title, a legend, two axes, and marks between them.

use super::axis::{Axis, Scale, label};
use super::legend::{self, Key};
use super::palette::{CONTEXT, FAINT, INK, colour, dashes};
use super::svg::{Anchor, At, Drawn, Svg};
use super::text;
use crate::diagnostic::Failure;

/// The size of a chart, which is legible at half of it.
pub(super) const SIZE: (f64, f64) = (480.0, 320.0);
/// Size of the text.
pub(super) const TEXT: f64 = 14.0;
/// The distance from one line of text to the next.
pub(super) const LINE: f64 = 20.0;
pub(super) const MARGIN: f64 = 10.0;
/// The approximate number of ticks of an axis.
const TICKS: usize = 6;
/// The groups of dots are drawn in this number of turns, so that none hides the others.
const TURNS: usize = 20;

/// One measured point.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Point {
    /// The value on the horizontal axis.
    pub x: f64,
    /// The value on the vertical axis.
    pub y: f64,
    /// Half the length of the error bar in `x`, 0 for none.
    pub x_error: f64,
    /// Half the length of the error bar in `y`, 0 for none.
    pub y_error: f64,
}

impl From<(f64, f64)> for Point {
    fn from((x, y): (f64, f64)) -> Self {
        Self {
            x,
            y,
            ..Self::default()
        }
    }
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mark {
    /// A line, with a band for the spread.
    #[default]
    Line,
    /// A dashed line with a band for the spread, for values that are not a bound.
    Dashed,
    /// A mark for each point, with bars for the spread.
    Points,
    /// Marks with bars for the spread, joined by a line.
    Joined,
    /// Small marks, for many points.
    Dots,
    /// A line over the area that it encloses.
    Area,
    /// A bar from 0 to each point, one unit apart, with a line for the spread.
    Blocks,
    /// A line across each bar of [`Mark::Blocks`].
    Across,
    /// A thin grey line without an entry in the legend, for context that is not data.
    Context,
}

/// A named series of points, and how it is drawn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// The name in the legend; a series without a name has no entry there.
    pub name: String,
    /// How it is drawn.
    pub mark: Mark,
    /// The points, in the order in which they are joined; a point that cannot be shown breaks the line.
    pub points: Vec<Point>,
}

impl Series {
    /// Returns a series drawn as a line.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item: Into<Point>>) -> Self {
        Self::of(Mark::Line, name, points)
    }

    /// Returns a series drawn by `mark`.
    pub fn of(
        mark: Mark,
        name: impl Into<String>,
        points: impl IntoIterator<Item: Into<Point>>,
    ) -> Self {
        Self {
            name: name.into(),
            mark,
            points: points.into_iter().map(Into::into).collect(),
        }
    }

    /// Returns the mean of several runs at each `x` that any of them has, with an error bar of one standard deviation (divisor
    /// `n - 1`) to either side. Values that are not finite are left out.
    pub fn mean_and_deviation(name: impl Into<String>, runs: &[Vec<(f64, f64)>]) -> Self {
        let finite = |(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
        let mut all: Vec<(f64, f64)> = runs.iter().flatten().copied().filter(finite).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let same = all.chunk_by(|a, b| a.0 == b.0);
        let points = same.map(|group| {
            let values: Vec<f64> = group.iter().map(|(_, y)| *y).collect();
            let (mean, deviation) = mean_and_deviation(&values);
            Point {
                y_error: deviation.unwrap_or(0.0),
                ..(group[0].0, mean).into()
            }
        });
        Self::new(name, points)
    }
}

/// Returns the mean, and the standard deviation with divisor `n - 1`, which is `None` for fewer than two values.
pub fn mean_and_deviation(values: &[f64]) -> (f64, Option<f64>) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let deviation = (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt());
    (mean, deviation)
}

/// A chart of series over common axes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chart {
    /// The title above the chart; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: Scale,
    /// The vertical axis.
    pub y: Scale,
    /// The series, which together have at least one point.
    pub series: Vec<Series>,
    /// Width and height in pixels.
    pub size: Option<(f64, f64)>,
    /// Whether the chart shows a part of the plane: units are equally long on both axes, and points outside are left out.
    pub plane: bool,
}

impl Chart {
    /// Draws the chart.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] if no point can be drawn.
    pub fn draw(&self) -> Result<Drawn, Failure> {
        let size = self.size.unwrap_or(SIZE);
        let mut svg = Svg::new(size);
        let skipped = self.inside(&mut svg, [(0.0, 0.0), size], TEXT, &self.keys())?;
        Ok(svg.finish(skipped))
    }

    /// Returns the entries of the legend.
    pub(super) fn keys(&self) -> Vec<Key> {
        let series = self.series.iter().enumerate();
        let named = series.filter(|(_, series)| !series.name.is_empty());
        let key = |(k, series): (usize, &Series)| Key {
            name: series.name.clone(),
            k,
            mark: series.mark,
        };
        named.map(key).collect()
    }

    fn shows(&self, point: &Point) -> bool {
        let inside = |scale: &Scale, value: f64| match scale.range {
            Some([low, high]) if self.plane => (low..=high).contains(&value),
            _ => scale.shows(value),
        };
        inside(&self.x, point.x) && inside(&self.y, point.y)
    }

    /// Draws the chart between two corners and returns the number of points that cannot be shown.
    pub(super) fn inside(
        &self,
        svg: &mut Svg,
        [(left, top), (right, bottom)]: [At; 2],
        size: f64,
        keys: &[Key],
    ) -> Result<usize, Failure> {
        let points = || {
            let data = self.series.iter().filter(|s| s.mark != Mark::Context);
            data.flat_map(|series| &series.points)
        };
        let kept = || points().filter(|point| self.shows(point));
        let ends = |scale: &Scale, value, error| {
            let [low, high] = scale.spread(value, error);
            [value, low, high]
        };
        let x = kept().flat_map(|p| ends(&self.x, p.x, p.x_error));
        let y = kept().flat_map(|p| ends(&self.y, p.y, p.y_error));
        let (Some(x), Some(y)) = (self.x.around(x), self.y.around(y)) else {
            return Err(Failure::failed(format!(
                "the chart \"{}\" has no point to draw: {} given, none with a place on its axes",
                self.title,
                points().count()
            )));
        };
        let mut top = top + MARGIN;
        let lines = text::wrapped(&self.title, size + 1.0, right - left - 2.5 * MARGIN);
        for line in &lines {
            let place = (left + MARGIN, top + LINE / 2.0 - 2.0);
            svg.text(line, place, size + 1.0, Anchor::Start);
            top += LINE;
        }
        if !lines.is_empty() {
            top += 4.0;
        }
        top += legend::draw(svg, keys, (left, top), right - left);
        let named = |scale: &Scale, without: f64, with: f64| match scale.label.is_empty() {
            true => without,
            false => with,
        };
        let widths = y.labels(TICKS).into_iter();
        let widest = widths.map(|(_, words)| text::width(&words, size));
        let before = MARGIN + widest.fold(0.0, f64::max).ceil() + named(&self.y, 10.0, 34.0);
        let plot = Plot {
            from: (left + before, top),
            to: (right - MARGIN - 8.0, bottom - named(&self.x, 26.0, 48.0)),
            x,
            y,
        };
        let plot = if self.plane { plot.even() } else { plot };
        plot.frame(svg, size);
        let (across, down) = plot.middle();
        let at = (across, bottom - 6.0 - size / 2.0);
        svg.text(&self.x.label, at, size, Anchor::Middle);
        let at = (left + 8.0 + size / 2.0, down);
        svg.upright(&self.y.label, at, size, Anchor::Middle);
        let both = |a: &Point, b: &Point| self.shows(a) && self.shows(b);
        let parts = self.series.iter().map(|series| {
            let parts = series.points.chunk_by(both);
            let parts: Vec<&[Point]> = parts.filter(|part| self.shows(&part[0])).collect();
            (series.mark, parts)
        });
        let parts: Vec<(Mark, Vec<&[Point]>)> = parts.collect();
        for layer in 0..=TURNS {
            for (k, (mark, parts)) in parts.iter().enumerate() {
                match (layer, mark) {
                    (0, _) => plot.behind(svg, k, *mark, parts),
                    (turn, Mark::Dots) => {
                        let points = parts
                            .iter()
                            .copied()
                            .flatten()
                            .skip(turn - 1)
                            .step_by(TURNS);
                        let places = points.map(|point| plot.at(point.x, point.y));
                        svg.marks(places, k, 1.9, colour(k));
                    }
                    (1, _) => plot.before(svg, k, *mark, parts),
                    _ => {}
                }
            }
        }
        Ok(points().count() - kept().count())
    }
}

/// The inside of a chart: its axes between two corners.
struct Plot<'a> {
    from: At,
    to: At,
    x: Axis<'a>,
    y: Axis<'a>,
}

impl Plot<'_> {
    /// Returns the largest part whose units are equally long on both axes.
    fn even(self) -> Self {
        let (wide, high) = (self.to.0 - self.from.0, self.to.1 - self.from.1);
        let unit = (wide / self.x.width()).min(high / self.y.width());
        let to = (
            self.from.0 + unit * self.x.width(),
            self.from.1 + unit * self.y.width(),
        );
        Self { to, ..self }
    }

    fn middle(&self) -> At {
        let (from, to) = (self.from, self.to);
        ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0)
    }

    fn at(&self, x: f64, y: f64) -> At {
        let (from, to) = (self.from, self.to);
        (
            from.0 + (to.0 - from.0) * self.x.share(x),
            to.1 - (to.1 - from.1) * self.y.share(y),
        )
    }

    /// Draws the grid, the axes, and their labels.
    fn frame(&self, svg: &mut Svg, size: f64) {
        let ((left, top), (right, bottom)) = (self.from, self.to);
        let (mut grid, mut axes) = (Vec::new(), vec![[(left, bottom), (right, bottom)]]);
        let under = bottom + 6.0 + size / 2.0;
        for (tick, words) in self.x.labels(TICKS) {
            let x = left + (right - left) * self.x.share(tick);
            grid.push([(x, top), (x, bottom)]);
            axes.push([(x, bottom), (x, bottom + 4.0)]);
            svg.text(&words, (x, under), size, Anchor::Middle);
        }
        for (tick, words) in self.y.labels(TICKS) {
            let y = bottom - (bottom - top) * self.y.share(tick);
            grid.push([(left, y), (right, y)]);
            axes.push([(left - 4.0, y), (left, y)]);
            svg.text(&words, (left - 7.0, y), size, Anchor::End);
        }
        match &self.x.scale.ends {
            Some(ends) => {
                let [first, last] = ends
                    .each_ref()
                    .map(|end| text::fitted(end, size, (right - left) / 2.0 - 4.0));
                svg.text(&first, (left, under), size, Anchor::Start);
                svg.text(&last, (right, under), size, Anchor::End);
            }
            None => axes.push([(left, top), (left, bottom)]),
        }
        svg.lines(grid, FAINT, 1.0, "");
        svg.lines(axes, INK, 1.0, "");
    }

    fn line<'s>(&'s self, part: &'s [Point]) -> impl Iterator<Item = At> {
        part.iter().map(|point| self.at(point.x, point.y))
    }

    /// Returns the lower and the upper end of a point's spread in `y`.
    fn spread(&self, point: &Point) -> [At; 2] {
        let ends = self.y.scale.spread(point.y, point.y_error);
        ends.map(|end| self.at(point.x, end))
    }

    /// Draws the parts of a series that lie below the marks of all series.
    fn behind(&self, svg: &mut Svg, k: usize, mark: Mark, parts: &[&[Point]]) {
        for part in parts {
            match mark {
                Mark::Line | Mark::Dashed if part.iter().any(|point| point.y_error > 0.0) => {
                    let upper = part.iter().map(|point| self.spread(point)[1]);
                    let lower = part.iter().rev().map(|point| self.spread(point)[0]);
                    svg.area(upper.chain(lower), colour(k), 0.2);
                }
                Mark::Area => svg.area(self.line(part), colour(k), 0.35),
                _ => {}
            }
        }
        if mark == Mark::Context {
            svg.lines(parts.iter().map(|part| self.line(part)), CONTEXT, 1.2, "");
        }
    }

    fn before(&self, svg: &mut Svg, k: usize, mark: Mark, parts: &[&[Point]]) {
        let points = || parts.iter().copied().flatten();
        let places = || points().map(|point| self.at(point.x, point.y));
        let several = parts.iter().filter(|part| part.len() > 1);
        let lines = several.map(|part| self.line(part));
        match mark {
            Mark::Line | Mark::Dashed => {
                svg.lines(lines, colour(k), 2.0, dashes(k, mark == Mark::Dashed));
                let single = parts.iter().filter(|part| part.len() == 1);
                svg.marks(single.flat_map(|part| self.line(part)), 0, 3.0, colour(k));
            }
            Mark::Points | Mark::Joined => {
                if mark == Mark::Joined {
                    svg.lines(lines, colour(k), 1.5, "");
                }
                let up = points().filter(|point| point.y_error > 0.0);
                let up = up.map(|point| self.spread(point));
                let along = points().filter(|point| point.x_error > 0.0).map(|point| {
                    let ends = self.x.scale.spread(point.x, point.x_error);
                    ends.map(|end| self.at(end, point.y))
                });
                svg.lines(up.chain(along), colour(k), 1.2, "");
                svg.marks(places(), k, 5.0, colour(k));
            }
            Mark::Area => svg.lines(lines, colour(k), 1.5, ""),
            Mark::Blocks => {
                for point in points() {
                    let corners = [self.at(point.x - 0.4, point.y), self.at(point.x + 0.4, 0.0)];
                    svg.block(corners, colour(k), 0.45);
                }
                svg.lines(points().map(|point| self.spread(point)), INK, 1.0, "");
            }
            Mark::Across => {
                let ends = points().map(|p| [-0.45, 0.45].map(|side| self.at(p.x + side, p.y)));
                svg.lines(ends, colour(k), 2.0, "");
            }
            Mark::Dots | Mark::Context => {}
        }
    }
}

/// Draws charts side by side, `columns` in a row, with the legend of the first chart.
///
/// # Errors
///
/// [`Failure::Failed`] without a chart, or if a chart has no point that can be drawn.
pub fn panels(charts: &[Chart], columns: usize) -> Result<Drawn, Failure> {
    let Some(first) = charts.first() else {
        return Err(Failure::failed("panels cannot be drawn: there is none"));
    };
    let (width, height) = first.size.unwrap_or(SIZE);
    let columns = columns.clamp(1, charts.len());
    let (wide, keys) = (width * columns as f64, first.keys());
    let above = MARGIN + legend::height(&keys, wide);
    let mut svg = Svg::new((wide, above + height * charts.len().div_ceil(columns) as f64));
    legend::draw(&mut svg, &keys, (0.0, MARGIN), wide);
    let mut skipped = 0;
    for (place, chart) in charts.iter().enumerate() {
        let left = width * (place % columns) as f64;
        let top = above - MARGIN + height * (place / columns) as f64;
        let corners = [(left, top), (left + width, top + height)];
        skipped += chart.inside(&mut svg, corners, TEXT - 2.0, &[])?;
    }
    Ok(svg.finish(skipped))
}

impl Axis<'_> {
    /// Returns round values with their labels; none if the ends have names.
    fn labels(&self, most: usize) -> Vec<(f64, String)> {
        let ticks = match self.scale.ends {
            Some(_) => Vec::new(),
            None => self.ticks(most),
        };
        ticks.into_iter().map(|tick| (tick, label(tick))).collect()
    }
}
