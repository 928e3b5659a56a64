//! How good a classifier is: on public test records, or by noisy counts of private ones that a share of the budget buys.

use data::Records;
use dp_core::mechanism::NoisyVector;
use lab::figures::heat;
use lab::prelude::*;
use private_classifiers::{Features, Head, largest};
use private_queries::{Contingency, Query};
use serde_json::{Value, json};

/// The name of the bought score in the plan.
pub(super) const SCORE: &str = "score";
/// What records a score is of, in words.
pub(super) const OF_TEST: &str = "public test records";
pub(super) const OF_PRIVATE: &str = "the private records that it learned from, by noisy counts";
/// Bins of the probability that a classifier gives to its answer.
const BINS: usize = 10;
/// The share of a score for its confusion matrix; the rest is for its calibration.
const OF_CONFUSION: f64 = 0.75;
/// Records that are classified at once.
const BLOCK: usize = 5000;

/// The codes of records for [`query`], by the probabilities of their classes: of each its class, the answer, how sure the answer is, and
/// whether it is right.
pub(super) fn codes(
    probabilities: &[f64],
    classes: usize,
    labels: impl IntoIterator<Item = u16>,
) -> Vec<u16> {
    let each = probabilities.chunks_exact(classes).zip(labels);
    let codes = each.flat_map(|(row, label)| {
        let answer = largest(row) as u16;
        let sure = row[usize::from(answer)];
        let bin = ((sure * BINS as f64) as usize).min(BINS - 1);
        [label, answer, bin as u16, u16::from(answer == label)]
    });
    codes.collect()
}

/// The same of images or rows whose features are not computed yet.
pub(super) fn codes_of(
    features: &Features,
    head: &Head,
    records: &Records,
    interrupt: &Interrupt,
) -> Result<Vec<u16>, Failure> {
    let mut all = Vec::with_capacity(4 * records.len());
    for block in records.blocks(BLOCK) {
        interrupt.check("records were classified")?;
        let block = block.or_failed()?;
        let rows = features.rows(&block.values().or_failed()?).or_failed()?;
        let labels = block.labels().iter().map(|&label| label.into());
        let probabilities = head.probabilities(&rows).or_failed()?;
        all.extend(codes(&probabilities, head.outputs(), labels));
    }
    Ok(all)
}

/// The query whose answer a [`Score`] is read from.
pub(super) fn query(classes: usize, most: usize) -> Result<Contingency, Failure> {
    let tables = [(vec![0, 1], OF_CONFUSION), (vec![2, 3], 1.0 - OF_CONFUSION)];
    let query = Contingency::new([classes, classes, BINS, 2], tables).or_failed()?;
    Ok(query.of_units(most))
}

/// What counts say of a classifier.
pub(super) struct Score {
    /// Records of each class, by the answer: `[classes, classes]`.
    confusion: Vec<f64>,
    /// Answers of each bin of probability, wrong ones and right ones.
    bins: Vec<f64>,
    classes: usize,
    /// Bounds on the root mean square of what noise adds to the accuracy and to the calibration error; 0 without noise.
    noise_upper: [f64; 2],
}

impl Score {
    /// What the query says of the codes of public records.
    pub(super) fn exactly(codes: &[u16], classes: usize) -> Result<Self, Failure> {
        let query = query(classes, 1)?;
        let exact = NoisyVector::without_privacy(query.measure(codes).or_failed()?);
        let tables = query.read(&exact).or_failed()?;
        Ok(Self::of(&tables, classes, codes.len() / 4))
    }

    /// Reads the tables of [`query`].
    ///
    /// - `records`: how many records or units there are at least.
    pub(super) fn of(
        tables: &[private_queries::NoisyCounts],
        classes: usize,
        records: usize,
    ) -> Self {
        let counts = |table: usize| tables[table].counts.clone();
        // To first order: with `s` on each of `C^2` counts and an accuracy `a` of `n` records, `s sqrt(C (1 - a)^2 + (C^2 - C) a^2) / n`.
        // Noise adds to each of `B` distances of a calibration error too, always upwards: its root mean square is `B s / n` at most, and
        // that of the number of answers moves it by `sqrt(2 B) s / n`.
        let each =
            |table: usize, squared: f64| tables[table].deviation * squared.sqrt() / records as f64;
        Self {
            confusion: counts(0),
            bins: counts(1),
            classes,
            noise_upper: [
                each(0, (classes * classes) as f64),
                each(1, (2 * BINS) as f64) + each(1, (BINS * BINS) as f64),
            ],
        }
    }

    /// The accuracy, and that of the most frequent class alone.
    fn accuracy(&self) -> [f64; 2] {
        let all = self.confusion.iter().sum::<f64>().max(1.0);
        let right = self.confusion.iter().step_by(self.classes + 1).sum::<f64>();
        let sizes = self.confusion.chunks_exact(self.classes);
        let most = sizes.map(|row| row.iter().sum()).fold(0.0, f64::max);
        [right, most].map(|count: f64| (count / all).clamp(0.0, 1.0))
    }

    /// The share of each class that has each answer.
    fn shares(&self) -> Vec<f64> {
        let rows = self.confusion.chunks_exact(self.classes);
        let shares = rows.flat_map(|row| {
            let all = row.iter().sum::<f64>().max(1.0);
            row.iter().map(move |count| (count / all).clamp(0.0, 1.0))
        });
        shares.collect()
    }

    /// The expected calibration error: how far the share of right answers of a bin is from its probability, on average.
    fn calibration(&self) -> f64 {
        let all = self.bins.iter().sum::<f64>().max(1.0);
        let bins = self.bins.chunks_exact(2).enumerate();
        let off = bins.map(|(bin, pair)| {
            let middle = (bin as f64 + 0.5) / BINS as f64;
            (pair[1] - middle * (pair[0] + pair[1])).abs()
        });
        (off.sum::<f64>() / all).clamp(0.0, 1.0)
    }

    /// Lines of a report, of records in words.
    pub(super) fn metrics(&self, of: &str, names: &[String]) -> Vec<Metric> {
        let [accuracy, baseline] = self.accuracy();
        let mut metrics = vec![
            Metric::new(format!("Accuracy on {of}"), accuracy).better(Better::Higher),
            Metric::new(
                format!("Share of the most frequent class of {of}, the baseline"),
                baseline,
            ),
            Metric::new(
                format!("Expected calibration error on {of}, of {BINS} bins"),
                self.calibration(),
            )
            .better(Better::Lower),
        ];
        if self.noise_upper[0] > 0.0 {
            let bounds = ["that accuracy", "that calibration error"];
            for (what, upper) in bounds.into_iter().zip(self.noise_upper) {
                let name = format!("Bound on what noise adds to {what}, root mean square");
                metrics.push(Metric::new(name, upper));
            }
        }
        let shares = self.shares();
        let recall = names.iter().zip(shares.iter().step_by(self.classes + 1));
        metrics.extend(recall.map(|(name, &share)| {
            Metric::new(format!("Share of {name} that is found"), share).better(Better::Higher)
        }));
        metrics
    }

    /// The mistakes, a row for each class.
    pub(super) fn picture(&self, of: &str, names: &[String]) -> Result<Picture, Failure> {
        let shares = self.shares();
        let share = |class: usize, answer: usize| shares[class * self.classes + answer];
        let drawn = heat(names, [&share, &share], [0.2, 0.2])?;
        let caption = format!(
            "Mistakes on {of}: the share of the class of a row that is taken for the class of a column"
        );
        Ok(("mistakes.svg", caption, drawn.bytes))
    }

    /// The counts, for `run.json`.
    pub(super) fn counts(&self) -> Value {
        json!({
            "confusion": self.confusion,
            "bins": self.bins,
            "accuracy": self.accuracy()[0],
            "calibration": self.calibration(),
        })
    }
}

#[cfg(test)]
mod tests {
    use private_queries::NoisyCounts;

    use super::*;

    /// Two classes: three records of the first, one of them taken for the second, and one of the second.
    #[test]
    fn counts_say_how_good_answers_are() {
        let table = |counts: &[f64]| NoisyCounts {
            columns: Vec::new(),
            counts: counts.to_vec(),
            deviation: 0.5,
            joined: Vec::new(),
        };
        let mut bins = vec![0.0; 2 * BINS];
        // All four say 0.95.
        bins[2 * BINS - 2..].copy_from_slice(&[1.0, 3.0]);
        let score = Score::of(&[table(&[2.0, 1.0, 0.0, 1.0]), table(&bins)], 2, 4);
        assert_eq!(score.accuracy(), [0.75, 0.75]);
        assert!((score.calibration() - 0.2).abs() < 1e-12);
        let shares = score.shares();
        assert!((shares[0] - 2.0 / 3.0).abs() < 1e-12 && shares[3] == 1.0);
        assert_eq!(score.noise_upper[0], 0.25);
        assert!(score.noise_upper[1] > 1.25 && score.noise_upper[1] < 2.0);
    }
}
