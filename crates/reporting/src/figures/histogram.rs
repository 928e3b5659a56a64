//! Histograms of one quantity in several groups, laid over each other.

use super::axis::{Axis, Scale};
use super::canvas::{Drawn, render};
use super::chart::{Key, Sign, frame};
use super::lines::SIZE;
use super::palette::colour;
use crate::diagnostic::Failure;

/// Shares of the records of each group in bins of equal width.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Histogram {
    /// Above the chart; may be empty.
    pub title: String,
    /// The quantity, with its unit.
    pub quantity: String,
    /// Name and values of each group.
    pub groups: Vec<(String, Vec<f64>)>,
    /// Number of bins, at least one.
    pub bins: usize,
    /// The interval that is divided into bins, or the extremes of the values; values outside count
    /// as skipped.
    pub range: Option<(f64, f64)>,
}

impl Histogram {
    /// The histogram as a picture: each group is normalised by its own size, so that groups of
    /// different sizes compare.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] for no bin, an empty range, and where no value can be drawn.
    pub fn draw(&self) -> Result<Drawn, Failure> {
        let values = || self.groups.iter().flat_map(|(_, values)| values);
        let refuse = |why: String| {
            Err(Failure::failed(format!(
                "the histogram \"{}\" cannot be drawn: {why}",
                self.title
            )))
        };
        if self.bins == 0 || self.bins > 1000 {
            return refuse(format!("{} bins, between 1 and 1000 are needed", self.bins));
        }
        let extremes =
            values()
                .filter(|v| v.is_finite())
                .fold(None, |range: Option<(f64, f64)>, &v| {
                    Some(range.map_or((v, v), |(low, high)| (low.min(v), high.max(v))))
                });
        let Some((low, high)) = self.range.or(extremes) else {
            return refuse(format!("{} values, none of them finite", values().count()));
        };
        if !(low.is_finite() && high.is_finite() && low <= high) {
            return refuse(format!("its range runs from {low} to {high}"));
        }
        let (low, high) = if low == high {
            (low - 0.5, high + 0.5)
        } else {
            (low, high)
        };
        let shares: Vec<Vec<f64>> = self
            .groups
            .iter()
            .map(|(_, values)| self.shares(values, low, high))
            .collect();
        let kept = values().filter(|v| (low..=high).contains(*v)).count();
        if kept == 0 {
            return refuse(format!(
                "none of {} values lies between {low} and {high}",
                values().count()
            ));
        }
        let highest = shares.iter().flatten().fold(0.0, |a: f64, &b| a.max(b));
        let keys: Vec<Key> = self
            .groups
            .iter()
            .enumerate()
            .map(|(k, (name, values))| Key {
                name: format!("{name} ({})", values.len()),
                colour: colour(k),
                sign: Sign::Block,
            })
            .collect();
        let bytes = render(SIZE, |root| {
            let plot = frame(
                root,
                root,
                &self.title,
                (
                    &Scale::linear(self.quantity.clone()),
                    Axis::linear(low, high),
                ),
                (
                    &Scale::linear("share of the group"),
                    Axis::linear(0.0, 1.05 * highest),
                ),
                &keys,
            )?;
            let edge = |bin: usize| low + (high - low) * bin as f64 / self.bins as f64;
            let outline = |shares: &[f64]| -> Vec<(f64, f64)> {
                let steps = shares
                    .iter()
                    .enumerate()
                    .flat_map(|(bin, &share)| [(edge(bin), share), (edge(bin + 1), share)]);
                let ends = ([(edge(0), 0.0)], [(edge(self.bins), 0.0)]);
                ends.0.into_iter().chain(steps).chain(ends.1).collect()
            };
            for (k, shares) in shares.iter().enumerate() {
                plot.fill(outline(shares), colour(k), 0.35)?;
            }
            for (k, shares) in shares.iter().enumerate() {
                plot.line(outline(shares), colour(k), 1.5, &[])?;
            }
            Ok(())
        })?;
        Ok(Drawn {
            bytes,
            skipped: values().count() - kept,
        })
    }

    /// Share of the values in each bin; the last bin holds its upper end too.
    fn shares(&self, values: &[f64], low: f64, high: f64) -> Vec<f64> {
        let mut counts = vec![0usize; self.bins];
        for &value in values.iter().filter(|v| (low..=high).contains(*v)) {
            let bin = ((value - low) / (high - low) * self.bins as f64) as usize;
            counts[bin.min(self.bins - 1)] += 1;
        }
        let total: usize = counts.iter().sum();
        counts
            .into_iter()
            .map(|count| count as f64 / total.max(1) as f64)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_group_sum_to_one() {
        let histogram = Histogram {
            bins: 4,
            ..Histogram::default()
        };
        let shares = histogram.shares(&[0.0, 0.1, 0.5, 1.0, 7.0, f64::NAN], 0.0, 1.0);
        assert_eq!(shares, [0.5, 0.0, 0.25, 0.25]);
    }
}
