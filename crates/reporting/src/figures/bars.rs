//! Bar charts of counts, measured and copied, and histograms of groups.

use super::axis::Scale;
use super::chart::{Chart, Mark, Point, Series, panels};
use super::svg::Drawn;
use crate::diagnostic::Failure;

/// The number of small charts in a row, and their size.
const COLUMNS: usize = 4;
const SIZE: (f64, f64) = (244.0, 150.0);
/// The number of bins of a histogram.
const BINS: usize = 40;

/// One chart of counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// The title above the chart.
    pub title: String,
    /// The first and the last value, shown below the chart.
    pub ends: [String; 2],
    /// The measured count of each value, and its standard deviation.
    pub measured: Vec<[f64; 2]>,
    /// The count of each value in the copy.
    pub copied: Vec<f64>,
}

impl Bars {
    fn chart(&self, [measured, copied]: [&str; 2]) -> Chart {
        let ends = self
            .measured
            .iter()
            .map(|[value, deviation]| value + deviation);
        let ends = ends.chain(self.copied.iter().copied());
        let most = ends.fold(f64::MIN_POSITIVE, f64::max);
        let places = (0..).map(f64::from);
        let blocks = places.clone().zip(&self.measured);
        let blocks = blocks.map(|(x, &[y, y_error])| Point {
            y_error,
            ..(x, y).into()
        });
        let across = places.zip(self.copied.iter().copied());
        Chart {
            title: self.title.clone(),
            x: Scale {
                ends: Some(self.ends.clone()),
                ..Scale::default().between(-0.5, self.copied.len() as f64 - 0.5)
            },
            y: Scale {
                ends: Some(Default::default()),
                ..Scale::default().between(0.0, most)
            },
            series: vec![
                Series::of(Mark::Blocks, measured, blocks),
                Series::of(Mark::Across, copied, across),
            ],
            size: Some(SIZE),
            plane: false,
        }
    }
}

/// Draws charts in rows of four. Bars with an error of one deviation show the values `measured`, lines across them the
/// values `copied`. `names` are the names of these two in the legend.
///
/// # Errors
///
/// [`Failure::Failed`] without a chart, or for a chart without a value.
pub fn bars(charts: &[Bars], names: [&str; 2]) -> Result<Drawn, Failure> {
    let charts: Vec<Chart> = charts.iter().map(|bars| bars.chart(names)).collect();
    panels(&charts, COLUMNS)
}

/// Draws, for each group, the share of its values in bins of equal width, which divide `range` or lie between the extremes.
/// Values outside are left out. Each group is normalised by its own size, so groups of different sizes compare.
///
/// # Errors
///
/// [`Failure::Failed`] if no value can be drawn.
pub fn histogram(
    quantity: &str,
    groups: &[(String, Vec<f64>)],
    range: Option<[f64; 2]>,
) -> Result<Drawn, Failure> {
    let values = || groups.iter().flat_map(|(_, values)| values).copied();
    let finite = || values().filter(|value| value.is_finite());
    let extremes = [
        finite().fold(f64::INFINITY, f64::min),
        finite().fold(f64::NEG_INFINITY, f64::max),
    ];
    let [low, high] = match range.unwrap_or(extremes) {
        [low, high] if low == high => [low - 0.5, high + 0.5],
        range => range,
    };
    let kept = finite().filter(|v| (low..=high).contains(v)).count();
    if kept == 0 {
        let count = values().count();
        return Err(Failure::failed(format!(
            "the histogram of \"{quantity}\" cannot be drawn: none of {count} values has a place"
        )));
    }
    let edge = |bin: usize| low + (high - low) * bin as f64 / BINS as f64;
    let series = groups.iter().map(|(name, values)| {
        let shares = shares(values, [low, high]).into_iter().enumerate();
        let steps = shares.flat_map(|(bin, share)| [(edge(bin), share), (edge(bin + 1), share)]);
        let outline = [(low, 0.0)].into_iter().chain(steps).chain([(high, 0.0)]);
        Series::of(Mark::Area, format!("{name} ({})", values.len()), outline)
    });
    let series: Vec<Series> = series.collect();
    let points = series.iter().flat_map(|series| &series.points);
    let highest = points.map(|point| point.y).fold(0.0, f64::max);
    let chart = Chart {
        x: Scale::linear(quantity).between(low, high),
        y: Scale::linear("share of the group").between(0.0, 1.05 * highest),
        series,
        ..Chart::default()
    };
    Ok(Drawn {
        skipped: values().count() - kept,
        ..chart.draw()?
    })
}

/// Returns the share of the values in each bin; the last bin includes its upper end.
fn shares(values: &[f64], [low, high]: [f64; 2]) -> [f64; BINS] {
    let mut counts = [0.0; BINS];
    for &value in values.iter().filter(|v| (low..=high).contains(*v)) {
        let bin = ((value - low) / (high - low) * BINS as f64) as usize;
        counts[bin.min(BINS - 1)] += 1.0;
    }
    let total: f64 = counts.iter().sum();
    counts.map(|count| count / total.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_group_sum_to_one() {
        let shares = shares(&[0.0, 0.01, 0.5, 1.0, 7.0, f64::NAN], [0.0, 1.0]);
        assert_eq!([shares[0], shares[20], shares[39]], [0.5, 0.25, 0.25]);
    }
}
