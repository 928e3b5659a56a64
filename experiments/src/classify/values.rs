//! Models of a number: its range, and how good they are.

use data::Records;
use lab::prelude::*;
use private_classifiers::{Examples, Features, Head};
use private_queries::{Contingency, NoisyCounts};
use serde::{Deserialize, Serialize};

/// Bins of the distance between what a model says and the label, and of the label.
const BINS: usize = 100;
/// Records that are computed at once.
const BLOCK: usize = 5000;

/// What labels lie between.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Range {
    low: f64,
    high: f64,
}

impl Range {
    /// Reads `LOW..HIGH`.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let ends = text.split_once("..");
        let ends = ends.and_then(|(low, high)| low.parse().ok().zip(high.parse().ok()));
        let range = ends.map(|(low, high)| Self { low, high });
        let range = range.filter(Self::is_one);
        range.ok_or_else(|| {
            Failure::input(
                format!(
                    "--range {text}: it must be two numbers, the lower one first, such as 0..100"
                ),
                "say what labels lie between",
            )
        })
    }

    /// Whether it has a low and a high end, which are numbers of 32 bits.
    pub(super) fn is_one(&self) -> bool {
        let width = self.high - self.low;
        width > 0.0
            && [self.low, self.high, width]
                .iter()
                .all(|end| (*end as f32).is_finite())
    }

    /// Labels as numbers from -1 to 1.
    pub(super) fn coded(&self, labels: &[f32]) -> Vec<f32> {
        let code = |&label: &f32| {
            let share = (f64::from(label) - self.low) / (self.high - self.low);
            (2.0 * share.clamp(0.0, 1.0) - 1.0) as f32
        };
        labels.iter().map(code).collect()
    }

    /// What such a number stands for.
    pub(super) fn value(&self, code: f64) -> f64 {
        self.low + (code.clamp(-1.0, 1.0) + 1.0) / 2.0 * (self.high - self.low)
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} to {}", self.low, self.high)
    }
}

/// What a head says of images or rows, as numbers of the range.
pub(super) fn answers(
    features: &Features,
    head: &Head,
    range: Range,
    records: &Records,
    mut each: impl FnMut(f64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for block in records.blocks(BLOCK) {
        let rows = features.rows(&block.or_failed()?.values().or_failed()?);
        for code in head.values(&rows.or_failed()?).or_failed()? {
            each(range.value(code))?;
        }
    }
    Ok(())
}

/// The query whose answer an [`Error`] is read from.
pub(super) fn query(most: usize) -> Result<Contingency, Failure> {
    let query = Contingency::new([BINS, BINS], [(vec![0], 0.5), (vec![1], 0.5)]);
    Ok(query.or_failed()?.of_units(most))
}

/// Counts records by the distance of what a head says from their label, and by their label.
pub(super) fn codes(head: &Head, examples: &Examples) -> Result<Vec<u16>, Failure> {
    let found = head.values(examples.rows()).or_failed()?;
    let bin = |share: f64| ((share * BINS as f64) as usize).min(BINS - 1) as u16;
    let each = found.iter().zip(examples.values());
    let codes = each.flat_map(|(&found, &value)| {
        let value = f64::from(value);
        let off = (found.clamp(-1.0, 1.0) - value).abs();
        [bin(off / 2.0), bin((value + 1.0) / 2.0)]
    });
    Ok(codes.collect())
}

/// How far a model of a number is off.
pub(super) struct Error {
    /// The mean distance, and the root mean square.
    off: [f64; 2],
    /// Those of the median and of the mean of all labels.
    baseline: [f64; 2],
    /// A bound on what noise and bins add to the mean distance; 0 without.
    noise_upper: f64,
}

impl Error {
    /// Of answers and labels that are public.
    pub(super) fn exactly(answers: &[f64], labels: &[f64]) -> Self {
        let n = labels.len() as f64;
        let off = answers.iter().zip(labels).map(|(a, b)| a - b);
        let middle = labels.iter().sum::<f64>() / n;
        let mut sorted = labels.to_vec();
        sorted.sort_by(f64::total_cmp);
        let median = sorted[sorted.len() / 2];
        let mean = |of: &mut dyn Iterator<Item = f64>| of.sum::<f64>() / n;
        Self {
            off: [
                mean(&mut off.clone().map(f64::abs)),
                mean(&mut off.map(|r| r * r)).sqrt(),
            ],
            baseline: [
                mean(&mut labels.iter().map(|y| (y - median).abs())),
                mean(&mut labels.iter().map(|y| (y - middle).powi(2))).sqrt(),
            ],
            noise_upper: 0.0,
        }
    }

    /// Reads the answer of [`query`].
    ///
    /// - `records`: how many records or units there are at least.
    pub(super) fn of(tables: &[NoisyCounts], range: Range, records: usize) -> Self {
        let width = range.high - range.low;
        let middle = |bin: usize| (bin as f64 + 0.5) / BINS as f64 * width;
        // Not cut at 0, so that noise adds to a mean as often as it takes from it.
        let counts = |table: usize| tables[table].counts.iter();
        let mean = |table: usize, of: &dyn Fn(f64) -> f64| {
            let all = counts(table).sum::<f64>().max(1.0);
            let each = counts(table).enumerate();
            (each
                .map(|(bin, count)| count * of(middle(bin)))
                .sum::<f64>()
                / all)
                .max(0.0)
        };
        let average = mean(1, &|y| y);
        let half = counts(1).sum::<f64>() / 2.0;
        let mut below = 0.0;
        let median = counts(1).position(|count| {
            below += count;
            below >= half
        });
        let median = middle(median.unwrap_or_default());
        // The noise of a bin counts at most as the width of the range; as much again for that of the number of records.
        let noise = 2.0 * tables[0].deviation * (BINS as f64).sqrt() * width / records as f64;
        Self {
            off: [mean(0, &|r| r), mean(0, &|r| r * r).sqrt()],
            baseline: [
                mean(1, &|y| (y - median).abs()),
                mean(1, &|y| (y - average).powi(2)).sqrt(),
            ],
            noise_upper: noise + width / (2 * BINS) as f64,
        }
    }

    /// Lines of a report, of records in words.
    pub(super) fn metrics(&self, of: &str) -> Vec<Metric> {
        let [mean, square] = self.off;
        let [median, deviation] = self.baseline;
        let mut metrics = vec![
            Metric::new(format!("Mean distance from the label on {of}"), mean)
                .better(Better::Lower),
            Metric::new(
                format!("That of the median label of {of}, the baseline"),
                median,
            ),
            Metric::new(format!("Root mean square error on {of}"), square).better(Better::Lower),
            Metric::new(
                format!("Standard deviation of the labels of {of}, the baseline"),
                deviation,
            ),
        ];
        if self.noise_upper > 0.0 {
            let name = "Bound on what noise and bins add to that mean distance";
            metrics.push(Metric::new(name, self.noise_upper));
        }
        metrics
    }
}
