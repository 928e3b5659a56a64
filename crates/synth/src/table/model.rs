//! Records of a mixture of products that is fitted to noisy counts.

use crate::products::{Fit, Products, STEPS, fit};
use data::Rules;
use private_queries::NoisyCounts;
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::bins::Bins;
use super::rules;
use crate::{Watch, Work};

/// The signal `n / (8000 z)` is about 1 when 30 000 records have epsilon 1 at delta 1e-5. The sizes of the model follow from it.
const USUAL: f64 = 8000.0;
/// The signal without noise.
const MOST: f64 = 20.0;

/// How much noisy counts say: `n / (8000 z)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Signal(f64);

impl Signal {
    /// Of `n` records and a noise multiplier, 0 without privacy.
    pub fn new(records: usize, noise_multiplier: f64) -> Self {
        Self((records as f64 / USUAL / noise_multiplier).min(MOST))
    }

    /// Groups that the bins of a number are joined to, at most.
    pub(super) fn bins(self) -> f64 {
        (40.0 * self.0.sqrt()).clamp(8.0, 64.0)
    }

    /// Products that the mixture has.
    pub fn components(self) -> usize {
        self.fit().components
    }

    /// How the mixture is fitted. The constants were set with scores on Adult in view.
    pub(super) fn fit(self) -> Fit {
        let Self(signal) = self;
        Fit {
            components: ((200.0 * signal.powf(0.35)).round() as usize).clamp(16, 400),
            penalty: 0.03 * signal / (signal + 0.5),
        }
    }
}

/// What is fitted to.
pub(super) struct Counts<'a> {
    /// Of each column alone, by its values.
    pub columns: &'a [NoisyCounts],
    /// Of pairs, by groups.
    pub pairs: &'a [NoisyCounts],
    /// The groups of the values of each column.
    pub bins: &'a [Bins],
    /// The place of the label.
    pub label: Option<usize>,
    /// What the schema says of pairs of values.
    pub rules: &'a Rules,
}

/// What records of a copy are sampled from: a function of noisy counts.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    mixture: Products,
    bins: Vec<Bins>,
}

impl Model {
    /// The mixture that noisy counts of `of` records are fitted by.
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

    /// Whether it is of columns of so many values.
    pub fn has(&self, sizes: impl Iterator<Item = usize>) -> bool {
        sizes.eq(self.bins.iter().map(|bins| usize::from(bins.values())))
    }

    /// So many records, `[n, columns]` in rows of values, that keep the rules.
    ///
    /// # Errors
    /// [`crate::SynthError::Rules`] if fewer than one record in a thousand keeps the rules; what `watch` gives.
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

    /// Records by groups, and by values of these.
    fn rows(&self, records: usize, rng: &mut impl Rng) -> (Vec<u16>, Vec<u16>) {
        let groups = self.mixture.sample(records, rng);
        let mut rows = groups.clone();
        spread(&mut rows, &self.bins, rng);
        (groups, rows)
    }
}

/// Records whose columns are independent of each other: what noisy counts of columns alone say.
pub fn independent(columns: &[NoisyCounts], records: usize, rng: &mut impl Rng) -> Vec<u16> {
    let mut rows = vec![0; records * columns.len()];
    // One group for all values.
    let whole = |noisy: &NoisyCounts| Bins::of(noisy, noisy.counts.len(), 1.0);
    let bins: Vec<Bins> = columns.iter().map(whole).collect();
    spread(&mut rows, &bins, rng);
    rows
}

/// Values in the place of their groups.
fn spread(rows: &mut [u16], bins: &[Bins], rng: &mut impl Rng) {
    for (column, of_column) in bins.iter().enumerate() {
        let groups = rows.iter_mut().skip(column).step_by(bins.len());
        of_column.spread(&mut groups.collect::<Vec<_>>(), rng);
    }
}
