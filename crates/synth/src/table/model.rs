//! A mixture of products that is fitted to noisy counts, and its records.

use crate::products::{Fit, Products, STEPS, fit};
use data::Rules;
use private_queries::NoisyCounts;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::bins::Bins;
use super::measured;
use super::rules;
use crate::{Watch, Work};

/// The signal `n / (8000 z)` is about 1 for 30 000 records and epsilon 1 at delta 1e-5. The model's sizes depend on it.
const USUAL: f64 = 8000.0;
/// The signal without noise.
const MOST: f64 = 20.0;

/// The signal of noisy counts: `n / (8000 z)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Signal(f64);

impl Signal {
    /// Computes the signal of `n` records and a noise multiplier, 0 without privacy.
    pub fn new(records: usize, noise_multiplier: f64) -> Self {
        Self((records as f64 / USUAL / noise_multiplier).min(MOST))
    }

    /// Returns the maximum number of groups for the bins of a number.
    pub(super) fn bins(self) -> f64 {
        (40.0 * self.0.sqrt()).clamp(8.0, 64.0)
    }

    /// Returns the number of records of a class, if there are `classes` equal ones, in deviations of their noisy counts by the values of
    /// all other columns together.
    pub(super) fn of_class(self, classes: usize) -> f64 {
        self.0 * USUAL / classes as f64 * measured::of_label()
    }

    /// Returns the number of products in the mixture.
    pub fn components(self) -> usize {
        self.fit().components
    }

    /// Returns the settings of the fit. The constants were set with scores on Adult in view.
    pub(super) fn fit(self) -> Fit {
        let Self(signal) = self;
        Fit {
            components: ((200.0 * signal.powf(0.35)).round() as usize).clamp(16, 400),
            penalty: 0.03 * signal / (signal + 0.5),
        }
    }
}

/// The counts to which a mixture is fitted.
pub(super) struct Counts<'a> {
    /// The counts of each column, by its values.
    pub columns: &'a [NoisyCounts],
    /// The counts of pairs, by groups.
    pub pairs: &'a [NoisyCounts],
    /// The groups of the values of each column.
    pub bins: &'a [Bins],
    /// The index of the label.
    pub label: Option<usize>,
    /// The rules of the schema for pairs of values.
    pub rules: &'a Rules,
}

/// A model from which the records of a copy are sampled: a function of noisy counts.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    mixture: Products,
    bins: Vec<Bins>,
}

impl Model {
    /// Fits the mixture to noisy counts of `of` records.
    pub(super) fn fitted<W: Watch>(
        counts: &Counts<'_>,
        of: usize,
        signal: Signal,
        rng: &mut impl Rng,
        watch: &mut W,
    ) -> Result<Self, W::Error> {
        let bins = counts.bins;
        let sizes: Vec<usize> = bins.iter().map(Bins::count).collect();
        let alone = bins.iter().zip(counts.columns);
        let alone = alone.map(|(bins, noisy)| bins.joined(noisy));
        let mut tables: Vec<NoisyCounts> = alone.chain(counts.pairs.iter().cloned()).collect();
        rules::zero(&mut tables, bins, counts.rules);
        let mut done = 0;
        let how = signal.fit();
        let mixture = fit(&tables, &sizes, counts.label, of, how, rng, || {
            done += 1;
            watch.go_on(Work::Fitting { done, of: STEPS })
        })?;
        let bins = bins.to_vec();
        Ok(Self { mixture, bins })
    }

    /// Returns whether the model's columns have these numbers of values.
    pub fn has(&self, sizes: impl Iterator<Item = usize>) -> bool {
        sizes.eq(self.bins.iter().map(|bins| usize::from(bins.values())))
    }

    /// Samples `records` records, `[n, columns]` in rows of values, that keep the rules.
    ///
    /// # Errors
    /// Returns [`crate::SynthError::Rules`] if fewer than one record in a thousand keeps the rules, and the errors of `watch`.
    pub fn sample<W: Watch>(
        &self,
        rules: &Rules,
        records: usize,
        rng: &mut impl Rng,
        watch: &mut W,
    ) -> Result<Vec<u16>, W::Error> {
        if rules.pairs().is_empty() {
            return Ok(self.rows(records, rng).1);
        }
        rules::kept(rules, records, |n, rng| self.rows(n, rng), rng, watch)
    }

    /// Samples records, and returns their groups and their values.
    fn rows(&self, records: usize, rng: &mut impl Rng) -> (Vec<u16>, Vec<u16>) {
        let groups = self.mixture.sample(records, rng);
        let mut rows = groups.clone();
        spread(&mut rows, &self.bins, rng);
        (groups, rows)
    }
}

/// Samples records with independent columns from the noisy counts of single columns.
pub fn independent(columns: &[NoisyCounts], records: usize, rng: &mut impl Rng) -> Vec<u16> {
    let mut rows = vec![0; records * columns.len()];
    // One group for all values.
    let whole = |noisy: &NoisyCounts| Bins::of(noisy, noisy.counts.len(), 1.0);
    let bins: Vec<Bins> = columns.iter().map(whole).collect();
    spread(&mut rows, &bins, rng);
    rows
}

/// Replaces groups by their values.
fn spread(rows: &mut [u16], bins: &[Bins], rng: &mut impl Rng) {
    for (column, of_column) in bins.iter().enumerate() {
        let groups = rows.iter_mut().skip(column).step_by(bins.len());
        of_column.spread(&mut groups.collect::<Vec<_>>(), rng);
    }
}
