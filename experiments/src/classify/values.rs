//! Models of a number: its range, and how good they are.

use data::Records;
use dp_core::mechanism::{NoisyVector, SensitiveVector};
use lab::prelude::*;
use private_classifiers::{Examples, Features, Head};
use private_queries::{Query, QueryError};
use serde::{Deserialize, Serialize};

/// Values are summed in multiples of `1 / STEPS`, so that sums are exact.
const STEPS: f64 = (1 << 20) as f64;
/// What records a bought score is of, in words.
pub(super) const OF_PRIVATE: &str = "the private records that it learned from, by noisy sums";
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

/// The sums over records of the distance `r` between what a head says and the label `y`, and of `r^2`, `y` and `y^2`, in shares of the range
/// and of its square; and of units the number of their records, which is private. Each of these is from 0 to 1, so that a record moves
/// the first four by `2` at most, and a unit of `k` records all five by `sqrt(5) k`.
pub(super) struct Sums {
    /// The maximum number of records of a unit, if there are units.
    pub most_per_unit: Option<usize>,
}

impl Query for Sums {
    /// What the head says and the label of each record, from -1 to 1. **Private.**
    type Records = [f64];
    type Answer = NoisyVector;

    fn len(&self) -> usize {
        4 + usize::from(self.most_per_unit.is_some())
    }

    fn measure(&self, records: &[f64]) -> Result<SensitiveVector, QueryError> {
        let mut sums = [0.0; 5];
        for record in records.chunks_exact(2) {
            let [said, label] = [0, 1].map(|place| (record[place].clamp(-1.0, 1.0) + 1.0) / 2.0);
            let off = (said - label).abs();
            for (sum, value) in sums
                .iter_mut()
                .zip([off, off * off, label, label * label, 1.0])
            {
                // A number that is none counts as 0.
                let value = if value.is_finite() { value } else { 0.0 };
                *sum += (value * STEPS).round() / STEPS;
            }
        }
        let most = self.most_per_unit.unwrap_or(1) as f64;
        let values = sums[..self.len()].to_vec();
        let sensitivity = (self.len() as f64).sqrt() * most * (1.0 + 1e-9);
        Ok(SensitiveVector::l2(values, sensitivity))
    }

    fn read(&self, noisy: &NoisyVector) -> Result<NoisyVector, QueryError> {
        let (expected, found) = (self.len(), noisy.values.len());
        if expected != found {
            return Err(QueryError::Length {
                what: "sums of distances",
                expected,
                found,
            });
        }
        Ok(noisy.clone())
    }
}

/// What the head says of each record, with its label.
pub(super) fn pairs(head: &Head, examples: &Examples) -> Result<Vec<f64>, Failure> {
    let found = head.values(examples.rows()).or_failed()?;
    let each = found.into_iter().zip(examples.values());
    Ok(each
        .flat_map(|(said, &label)| [said, label.into()])
        .collect())
}

/// How far a model of a number is off.
pub(super) struct Error {
    /// The mean distance, and that of the median of all labels; noisy sums do not tell the median.
    mean: [Option<f64>; 2],
    /// The root mean square, and that of the mean of all labels.
    square: [f64; 2],
    /// Bounds on the root mean square of what noise adds to the mean distance, to the root mean square error, and to the deviation of
    /// labels; 0 without.
    noise_upper: [f64; 3],
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
            mean: [
                Some(mean(&mut off.clone().map(f64::abs))),
                Some(mean(&mut labels.iter().map(|y| (y - median).abs()))),
            ],
            square: [
                mean(&mut off.map(|r| r * r)).sqrt(),
                mean(&mut labels.iter().map(|y| (y - middle).powi(2))).sqrt(),
            ],
            noise_upper: [0.0; 3],
        }
    }

    /// Reads the answer of [`Sums`].
    ///
    /// - `neighbours`: the number of records, or of units.
    pub(super) fn of(sums: &NoisyVector, range: Range, neighbours: usize) -> Self {
        let width = range.high - range.low;
        // Of units the number of records is noisy too.
        let count = sums
            .values
            .get(4)
            .map_or(neighbours as f64, |&count| count.max(neighbours as f64));
        let mean = |place: usize| (sums.values[place] / count).clamp(0.0, 1.0);
        let spread = (mean(3) - mean(2).powi(2)).max(0.0);
        // The mean of values of up to 1: their noise over the count, and as much again if the count is noisy.
        let noise = sums.deviation / neighbours as f64 * (sums.values.len() - 3) as f64;
        Self {
            mean: [Some(width * mean(0)), None],
            square: [width * mean(1).sqrt(), width * spread.sqrt()],
            // `|sqrt(a + e) - sqrt(a)|` is at most `sqrt |e|`; a variance moves by three such noises at most.
            noise_upper: [noise, noise.sqrt(), (3.0 * noise).sqrt()]
                .map(|share| share.min(1.0) * width),
        }
    }

    /// Lines of a report, of records in words.
    pub(super) fn metrics(&self, of: &str) -> Vec<Metric> {
        let [mean, median] = self.mean;
        let [square, deviation] = self.square;
        let lines = [
            (format!("Mean distance from the label on {of}"), mean),
            (
                format!("That of the median label of {of}, the baseline"),
                median,
            ),
            (format!("Root mean square error on {of}"), Some(square)),
            (
                format!("Standard deviation of the labels of {of}, the baseline"),
                Some(deviation),
            ),
        ];
        let metrics = lines
            .into_iter()
            .enumerate()
            .filter_map(|(place, (name, value))| {
                let metric = Metric::new(name, value?);
                Some(if place % 2 == 0 {
                    metric.better(Better::Lower)
                } else {
                    metric
                })
            });
        let mut metrics: Vec<Metric> = metrics.collect();
        if self.noise_upper[0] > 0.0 {
            let figures = [
                "that mean distance",
                "that root mean square error",
                "that deviation of labels",
            ];
            metrics.extend(figures.iter().zip(self.noise_upper).map(|(what, upper)| {
                Metric::new(
                    format!("Bound on what noise adds to {what}, root mean square"),
                    upper,
                )
            }));
        }
        metrics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: Range = Range {
        low: 10.0,
        high: 30.0,
    };

    /// A record that is said to lie at one end and lies at the other moves each sum by 1.
    #[test]
    fn a_replaced_record_moves_sums_by_two() {
        let sums = |own: [f64; 2], most_per_unit| {
            let records = [own, [0.3, -0.2], [f64::NAN, 0.5]].concat();
            let measured = Sums { most_per_unit }.measure(&records).unwrap();
            (
                measured.before_noise().to_vec(),
                measured.sensitivity_upper(),
            )
        };
        let apart = |one: &[f64], other: &[f64]| {
            let squares = one.iter().zip(other).map(|(a, b)| (a - b).powi(2));
            squares.sum::<f64>().sqrt()
        };
        let all = [
            [-1.0, -1.0],
            [-1.0, 1.0],
            [1e9, -7.0],
            [0.0, 0.1],
            [f64::NAN; 2],
        ];
        let mut furthest = 0.0_f64;
        for one in all {
            for other in all {
                let ((a, bound), (b, _)) = (sums(one, None), sums(other, None));
                assert!(apart(&a, &b) <= bound);
                furthest = furthest.max(apart(&a, &b) / bound);
            }
        }
        assert!(furthest > 0.99, "{furthest}");
        assert_eq!(sums(all[0], Some(3)).0.len(), 5);
        assert!(sums(all[0], Some(3)).1 >= 3.0 * 5.0_f64.sqrt());
    }

    /// Without noise sums say what the records say; with noise of up to 1.4 deviations no figure is off by 1.5 times its bound.
    #[test]
    fn sums_say_how_far_a_model_is_off() {
        let pairs: Vec<f64> = (0..4000)
            .flat_map(|i| {
                let label = f64::from(i % 101) / 50.5 - 1.0;
                [label + if i % 2 == 0 { 0.1 } else { -0.05 }, label]
            })
            .collect();
        let [said, labels] = [0, 1].map(|place| {
            let each = pairs.iter().skip(place).step_by(2);
            each.map(|&code| RANGE.value(code)).collect::<Vec<f64>>()
        });
        let exact = Error::exactly(&said, &labels);
        let query = Sums {
            most_per_unit: None,
        };
        let measured = query.measure(&pairs).unwrap();
        let sums = query.read(&NoisyVector::without_privacy(measured)).unwrap();
        let found = Error::of(&sums, RANGE, 4000);
        assert!((found.mean[0].unwrap() - exact.mean[0].unwrap()).abs() < 1e-4);
        for place in [0, 1] {
            assert!((found.square[place] - exact.square[place]).abs() < 1e-4);
        }
        for seed in 0..50_u32 {
            let noise =
                |place: usize| 20.0 * (f64::from(seed * 4 + place as u32) * 2.4).sin() * 1.4;
            let values = sums.values.iter().enumerate();
            let values = values.map(|(place, sum)| sum + noise(place)).collect();
            let noisy = Error::of(
                &NoisyVector {
                    values,
                    deviation: 20.0,
                },
                RANGE,
                4000,
            );
            let [mean, square, deviation] = noisy.noise_upper;
            assert!((noisy.mean[0].unwrap() - exact.mean[0].unwrap()).abs() < 1.5 * mean);
            assert!((noisy.square[0] - exact.square[0]).abs() < 1.5 * square);
            assert!((noisy.square[1] - exact.square[1]).abs() < 1.5 * deviation);
        }
    }

    #[test]
    fn a_range_is_two_numbers() {
        for text in [
            "", "1", "..", "3..3", "4..3", "0..inf", "NaN..1", "0..1e39", "a..b",
        ] {
            assert!(Range::parse(text).is_err(), "{text}");
        }
        let range = Range::parse("-5..20.5").unwrap();
        assert_eq!(range.to_string(), "-5 to 20.5");
        assert_eq!(range.coded(&[-5.0, 20.5, 7.75, 1e9]), [-1.0, 1.0, 0.0, 1.0]);
        assert_eq!(
            [-2.0, 0.0, 1.0].map(|code| range.value(code)),
            [-5.0, 7.75, 20.5]
        );
    }
}
