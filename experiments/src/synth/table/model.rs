//! Records of a mixture of products that is fitted to noisy counts.

use data::Rules;
use lab::diagnostic::Failure;
use lab::interrupt::Interrupt;
use lab::progress::Progress;
use private_queries::NoisyCounts;
use private_queries::products::{Fit, Products, STEPS, fit};
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::bins::Bins;
use super::rules;

/// Records and budget together, of which there is 1 where 30 000 records have epsilon 1 at delta 1e-5: `n / (8000 z)`. All that
/// depends on how much noisy counts say is a function of it.
const USUAL: f64 = 8000.0;
/// Where there is no noise, counts say no more than as with this.
const MOST: f64 = 20.0;

/// How much noisy counts say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Signal(f64);

impl Signal {
    /// Of `n` records and a noise multiplier, 0 without privacy.
    pub(super) fn of(records: usize, noise_multiplier: f64) -> Self {
        Self((records as f64 / USUAL / noise_multiplier).min(MOST))
    }

    /// Groups that the bins of a number are joined to, at most.
    pub(super) fn bins(self) -> f64 {
        (40.0 * self.0.sqrt()).clamp(8.0, 64.0)
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
pub(super) struct Model {
    mixture: Products,
    bins: Vec<Bins>,
}

impl Model {
    /// The mixture that noisy counts of `of` records are fitted by.
    pub(super) fn fitted(
        counts: &Counts<'_>,
        of: usize,
        signal: Signal,
        rng: &mut ChaCha20Rng,
        interrupt: &Interrupt,
    ) -> Result<Self, Failure> {
        let bins = counts.bins;
        let sizes: Vec<usize> = bins.iter().map(|bins| bins.count).collect();
        let alone = bins.iter().zip(counts.columns);
        let alone = alone.map(|(bins, noisy)| bins.joined(noisy));
        let mut tables: Vec<NoisyCounts> = alone.chain(counts.pairs.iter().cloned()).collect();
        rules::zero(&mut tables, bins, counts.rules);
        let how = signal.fit();
        let progress = Progress::new(STEPS as u64);
        progress.message("fitting".into());
        let mixture = fit(&tables, &sizes, counts.label, of, how, rng, || {
            progress.step();
            interrupt.check("the mixture was fitted")
        })?;
        progress.finish();
        let bins = bins.to_vec();
        Ok(Self { mixture, bins })
    }

    /// Whether it is of columns of so many values.
    pub(super) fn has(&self, sizes: impl Iterator<Item = usize>) -> bool {
        sizes.eq(self.bins.iter().map(|bins| usize::from(bins.values())))
    }

    /// So many records, `[n, columns]` in rows of values, that keep the rules.
    pub(super) fn sample(
        &self,
        rules: &Rules,
        records: usize,
        rng: &mut ChaCha20Rng,
        interrupt: &Interrupt,
    ) -> Result<Vec<u16>, Failure> {
        let bins = &self.bins;
        let groups = |records, rng: &mut ChaCha20Rng| self.mixture.sample(records, rng);
        let values = |rows: &mut [u16], rng: &mut ChaCha20Rng| spread(rows, bins, rng);
        if rules.pairs().is_empty() {
            let mut rows = groups(records, rng);
            values(&mut rows, rng);
            return Ok(rows);
        }
        rules::kept(rules, records, bins.len(), groups, values, rng, interrupt)
    }
}

/// Records whose columns are independent of each other: what noisy counts of columns alone say.
pub(super) fn independent(
    columns: &[NoisyCounts],
    records: usize,
    rng: &mut ChaCha20Rng,
) -> Vec<u16> {
    let mut rows = vec![0; records * columns.len()];
    // One group for all values.
    let whole = |noisy: &NoisyCounts| Bins::of(noisy, noisy.counts.len(), 1.0);
    let bins: Vec<Bins> = columns.iter().map(whole).collect();
    spread(&mut rows, &bins, rng);
    rows
}

/// Values in the place of their groups.
fn spread(rows: &mut [u16], bins: &[Bins], rng: &mut ChaCha20Rng) {
    for (column, of_column) in bins.iter().enumerate() {
        let groups = rows.iter_mut().skip(column).step_by(bins.len());
        of_column.spread(&mut groups.collect::<Vec<_>>(), rng);
    }
}
