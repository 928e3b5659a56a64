//! Releases the names of an unknown domain that many records have.

use std::collections::BTreeMap;

use super::SensitiveVector;
use crate::DpError;

/// The largest number of names in all tables. Noise is scaled for this many, so its deviation does not tell their number.
pub(super) const MOST_NAMES: usize = 1 << 20;

/// The number of records of each name, in tables with one name for each record.
///
/// The set of names is private: names of few records must not be released. With noise of deviation `sigma` on each count, a name
/// is released if its noisy count is above `T = k + sigma sqrt(2 ln(k t / delta))`, for units of at most `k` records and `t`
/// tables.
///
/// # Formal guarantee
///
/// The released names are `(epsilon, delta_G + delta)`-private if the Gaussian release of the counts is
/// `(epsilon, delta_G)`-private, for all `epsilon`: an [`Event::Failure`](crate::accounting::Event) and an `Event::Gaussian`.
///
/// *Proof.* Neighbours replace a unit of at most `k` records by another. Of names that both data sets have, counts of each table
/// move by at most `k` out and `k` in, so all by `k sqrt(2 t)` in the Euclidean norm: that part is a Gaussian release. A unit has
/// at most `k t` names that nobody else has, each of at most `k` records. For discrete Gaussian noise `X`, `E exp(s X) =
/// exp(s^2 sigma^2 / 2) S(s sigma^2) / S(0)`, where `S(a)`, the sum of `exp(-(x - a)^2 / (2 sigma^2))` over the grid, is largest at
/// 0: by Chernoff's bound one of those names passes with probability at most `exp(-(T - k)^2 / (2 sigma^2)) = delta / (k t)`, and
/// any with `delta`. Their noise is independent of the rest. That part gives nothing but with probability
/// `a <= delta` on one side and `b <= delta` on the other, and so its distributions are within a total variation distance of
/// `max(a, b)`: they have a part of weight `1 - delta` in common, under which the whole is the Gaussian release.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use dp_core::ledger::Ledger;
/// use dp_core::mechanism::{NameCounts, NoiseSource};
/// use dp_core::plan::{ReleaseNoise, TrainingPlan};
/// use dp_core::sampling::Sampler;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("ledger.jsonl");
/// let towns = BTreeMap::from([("Bern".to_string(), 4000), ("Zug".into(), 5999), ("here".into(), 1)]);
/// let noise = ReleaseNoise::Threshold { share: 1.0, delta: 1e-7 };
/// let plan = TrainingPlan::for_epsilon(1.0, 1e-6, 0, Sampler::all(10_000)?).with_release("towns", noise);
/// let mut releaser = plan.check()?.releaser(NoiseSource::secret()?);
/// let counts = NameCounts::new(vec![towns], 1);
/// let passed = releaser.release_names("towns", &counts, &mut Ledger::create(&path)?)?;
/// assert_eq!(passed, [["Bern", "Zug"]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct NameCounts {
    tables: Vec<BTreeMap<String, u64>>,
    /// The largest number of records of a unit.
    most: usize,
}

impl std::fmt::Debug for NameCounts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("NameCounts");
        shown.field("tables", &self.tables.len());
        shown.field("most", &self.most);
        shown.finish_non_exhaustive()
    }
}

impl NameCounts {
    /// Takes tables in which each record counts once, and a unit at most `most` times.
    pub fn new(tables: Vec<BTreeMap<String, u64>>, most: usize) -> Self {
        Self { tables, most }
    }

    /// Returns all names, without noise and threshold. **Not private**.
    pub fn without_privacy(self) -> Vec<Vec<String>> {
        let tables = self.tables.into_iter();
        tables.map(|table| table.into_keys().collect()).collect()
    }

    /// The counts, with a bound on how far replacing a unit moves the counts of names that both data sets have.
    pub(super) fn counts(&self) -> Result<SensitiveVector, DpError> {
        let counts = self.tables.iter().flat_map(BTreeMap::values);
        let counts: Vec<f64> = counts.map(|&count| count as f64).collect();
        if counts.len() > MOST_NAMES {
            return Err(DpError::OutOfRange {
                name: "names that are counted",
                // The number of names is private.
                value: f64::INFINITY,
                bound: format!("at most {MOST_NAMES}"),
            });
        }
        let upper = self.most as f64 * (2.0 * self.tables.len() as f64).sqrt() * (1.0 + 1e-12);
        Ok(SensitiveVector::l2(counts, upper))
    }

    /// The threshold `T`, raised for the rounding to the grid of the noise.
    pub(super) fn threshold(&self, deviation: f64, delta: f64) -> f64 {
        let names = (self.most * self.tables.len()) as f64;
        self.most as f64 + deviation * (2.0 * (names / delta).ln()).max(0.0).sqrt() * (1.0 + 1e-6)
    }

    /// The names of each table whose noisy count is above a threshold, in their order.
    pub(super) fn above(&self, noisy: &[f64], threshold: f64) -> Vec<Vec<String>> {
        let mut noisy = noisy.iter();
        let mut of = |table: &BTreeMap<String, u64>| {
            let names = table.keys().zip(noisy.by_ref());
            let passed = names.filter(|(_, noisy)| **noisy > threshold);
            passed.map(|(name, _)| name.clone()).collect()
        };
        self.tables.iter().map(&mut of).collect()
    }
}
