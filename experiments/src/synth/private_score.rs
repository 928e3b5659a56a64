//! A score without public test records: the accuracy on the private records of a classifier trained on the copy, with noise that
//! a share of the budget buys.

use std::f64::consts::SQRT_2;

use data::Records;
use lab::evaluate::EvaluateError;
use lab::prelude::*;
use private_queries::{Contingency, Query};

/// Its name in the plan.
pub(super) const SCORE: &str = "score";

/// An accuracy on private records that a share of the budget buys.
pub(super) struct Bought {
    /// The share; 0 for none.
    pub share: f64,
    pub classes: usize,
    /// Maximum number of records used per unit.
    pub most: usize,
    /// Records, at least.
    pub records: usize,
    /// What knows records, in words.
    pub classifier: String,
}

impl Bought {
    /// Releases how many records of each class are known, and how many are not, by the `codes` of all records, a pair each; gives the accuracy as
    /// lines of a report. None without a share of the budget.
    pub(super) fn metrics<R: Releases>(
        &self,
        run: &mut R,
        session: &mut Session,
        codes: impl FnOnce(&R, &Session) -> Result<Vec<u16>, Failure>,
    ) -> Result<Vec<Metric>, Failure> {
        if self.share == 0.0 {
            return Ok(Vec::new());
        }
        let query = Contingency::joint([self.classes, 2]).or_failed()?;
        let query = query.of_units(self.most);
        let tables = session.release(run, SCORE, &query, |run, session| {
            query.measure(&codes(run, session)?).or_failed()
        })?;
        let counts = tables.into_iter().flat_map(|table| table.counts);
        let counts: Vec<f64> = counts.collect();
        let noise = run.releaser().map_or(0.0, |r| r.plan().noise_multiplier());
        // What the noise alone makes of the accuracy, to first order: with `s` on each of `2 C` counts and an accuracy `a` of at least
        // `n` records, `s sqrt(C ((1 - a)^2 + a^2)) / n`, which is at most `s sqrt(C) / n`.
        let each = noise / self.share.sqrt() * SQRT_2 * self.most as f64;
        let deviation_upper = each * (self.classes as f64).sqrt() / self.records as f64;
        Ok(metrics(&counts, &self.classifier, deviation_upper).into())
    }
}

/// The label of each record, and whether it was taken for that.
pub(super) fn codes(
    labels: impl IntoIterator<Item = u16>,
    found: impl IntoIterator<Item = u16>,
) -> Vec<u16> {
    let pairs = labels.into_iter().zip(found);
    pairs
        .flat_map(|(label, found)| [label, u16::from(label == found)])
        .collect()
}

/// The same of images, so many at once, by the class that `find` takes each for.
pub(super) fn codes_of(
    images: &Records,
    at_once: usize,
    find: impl Fn(&Records) -> Result<Vec<u8>, EvaluateError>,
) -> Result<Vec<u16>, Failure> {
    let mut all = Vec::with_capacity(2 * images.len());
    for block in images.blocks(at_once) {
        let block = block.or_failed()?;
        let labels = block.labels().iter().map(|&label| label.into());
        all.extend(codes(labels, find(&block)?.into_iter().map(u16::from)));
    }
    Ok(all)
}

/// What noisy counts say, of a classifier in words, beside what the most frequent class would give.
fn metrics(counts: &[f64], classifier: &str, deviation_upper: f64) -> [Metric; 3] {
    let known: f64 = counts.iter().skip(1).step_by(2).sum();
    let all = counts.iter().sum::<f64>().max(1.0);
    let classes = counts.chunks_exact(2).map(|pair| pair[0] + pair[1]);
    let largest = classes.fold(0.0, f64::max);
    let share = |count: f64| (count / all).clamp(0.0, 1.0);
    let name = format!(
        "Noisy accuracy on the private records, bought with a share of the budget, of {classifier}"
    );
    [
        Metric::new(name, share(known)).better(Better::Higher),
        Metric::new(
            "Noisy share of the most frequent class, the baseline",
            share(largest),
        ),
        Metric::new(
            "Bound on the standard deviation of the noise in that accuracy",
            deviation_upper,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_records_are_counted_by_class() {
        let expected = [0, 1, 0, 0, 1, 1, 1, 1, 1, 0];
        assert_eq!(codes([0, 0, 1, 1, 1], [0, 1, 1, 1, 0]), expected);
        // The pixel of an image is the class that it is taken for.
        let images = Records::new(vec![0, 1, 1, 1, 0], vec![0, 0, 1, 1, 1], 1, 1, 2);
        let images = images.unwrap();
        for at_once in 1..7 {
            let found = codes_of(&images, at_once, |block| Ok(block.pixels()?.to_vec()));
            assert_eq!(found.unwrap(), expected);
        }
        let metrics = metrics(&[1.0, 1.0, 1.0, 2.0], "a classifier", 0.5);
        assert_eq!(
            metrics.map(|metric| metric.value),
            [0.6, 0.6, 0.5].map(Some)
        );
    }
}
