//! Copies a table: makes the plan and the releases, and fits the model to them.

use data::Schema;
use dp_core::ledger::Ledger;
use dp_core::mechanism::NoiseSource;
use dp_core::plan::{ReleaseNoise, TrainingPlan};
use private_queries::NoisyCounts;
use rand::Rng;

use super::bins::{Bins, CATEGORIES};
use super::measured::Aim;
use super::model::{Counts, Model, Signal};
use super::records::Records;
use super::{bought, measured};
use crate::{Direct, Releasing, SynthError, Unwatched, Watch, plan_of_all};

/// The name in the plan of the release of counts of columns.
pub const COLUMNS: &str = "columns";
/// The name in the plan of the release of counts of pairs of columns, and of pairs with the label.
pub const PAIRS: &str = "pairs";
/// The maximum number of counts of pairs: 400 MB.
const MOST_COUNTS: usize = 50_000_000;
/// The minimum number of groups for the bins of a number, and the maximum for those of a label.
const LEAST_BINS: f64 = 4.0;
const BINS_OF_LABEL: f64 = 8.0;

/// Settings of a private copy of a table.
///
/// Neighbours replace one record, or one unit with all of its records. Both releases are of all records, and the accountant is
/// that of [`TrainingPlan`].
#[derive(Debug, Clone)]
pub struct TableCopy {
    epsilon: f64,
    delta: Option<f64>,
    finding: f64,
    reserved: Option<(String, f64)>,
}

impl Default for TableCopy {
    fn default() -> Self {
        Self {
            epsilon: 1.0,
            delta: None,
            finding: 0.0,
            reserved: None,
        }
    }
}

impl TableCopy {
    /// Creates settings with epsilon 1, delta `0.1 / n`, and no budget to find ranges or categories.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the epsilon of all releases together.
    #[must_use]
    pub fn epsilon(self, epsilon: f64) -> Self {
        Self { epsilon, ..self }
    }

    /// Sets the delta of all releases together, `0.1 / n` by default.
    #[must_use]
    pub fn delta(self, delta: f64) -> Self {
        let delta = Some(delta);
        Self { delta, ..self }
    }

    /// Sets the share of the budget (of `1/z^2`) that finds ranges and categories which the schema leaves open.
    #[must_use]
    pub fn finding(self, share: f64) -> Self {
        let finding = share;
        Self { finding, ..self }
    }

    /// Reserves a share of the budget for the caller's own release, under this name in the plan.
    #[must_use]
    pub fn reserve(self, name: &str, share: f64) -> Self {
        let reserved = (share > 0.0).then(|| (name.into(), share));
        Self { reserved, ..self }
    }

    /// Plans the releases and their noise.
    ///
    /// # Errors
    /// Returns [`SynthError::Privacy`] without records.
    pub fn plan(&self, records: &Records) -> Result<TrainingPlan, SynthError> {
        let reserved = self.reserved.as_ref().map_or(0.0, |(_, share)| *share);
        let share = |share: f64| ReleaseNoise::Share(share * (1.0 - reserved - self.finding));
        let plan = plan_of_all(self.epsilon, self.delta, records.neighbours())?;
        let plan = bought::planned(plan, records, self.finding)
            .with_release(COLUMNS, share(measured::COLUMNS_SHARE))
            .with_release(PAIRS, share(1.0 - measured::COLUMNS_SHARE));
        Ok(match &self.reserved {
            None => plan,
            Some((name, share)) => plan.with_release(name, ReleaseNoise::Share(*share)),
        })
    }

    /// Makes the releases, into a ledger and with secret noise, and fits a model to them.
    ///
    /// # Errors
    /// Returns [`SynthError::Privacy`] if the plan is refused or the ledger cannot be written, [`SynthError::TooManyCounts`], and
    /// [`SynthError::Data`] for a file that cannot be read again.
    pub fn fit(
        &self,
        records: &mut Records,
        ledger: &mut Ledger,
        rng: &mut impl Rng,
    ) -> Result<Fitted, SynthError> {
        let plan = self.plan(records)?.check()?;
        let noise = plan.noise_multiplier();
        let secret = NoiseSource::secret().map_err(SynthError::Randomness)?;
        let mut by = Direct::new(plan.releaser(secret), ledger);
        let released = Released::of(records, noise, Aim::Copy, &mut by)?;
        let model = released.fit(records, rng, &mut by)?;
        let schema = records.schema().clone();
        Ok(Fitted {
            schema,
            model,
            released,
        })
    }
}

/// A private copy: a function of the releases, from which any number of records can be sampled.
#[derive(Debug)]
pub struct Fitted {
    /// The schema of the copy.
    pub schema: Schema,
    /// The model from which records are sampled.
    pub model: Model,
    /// The releases to which it was fitted.
    pub released: Released,
}

impl Fitted {
    /// Samples `records` records as codes, `[n, columns]` in rows, that keep the rules of the schema.
    ///
    /// # Errors
    /// Returns [`SynthError::Rules`] if fewer than one record in a thousand keeps them.
    pub fn sample(&self, records: usize, rng: &mut impl Rng) -> Result<Vec<u16>, SynthError> {
        let rules = self.schema.rules();
        self.model.sample(rules, records, rng, &mut Unwatched)
    }
}

/// The releases of a table.
#[derive(Debug, Clone)]
pub struct Released {
    /// The noisy counts of each column.
    pub columns: Vec<NoisyCounts>,
    /// The groups of the columns' values in pairs.
    pub bins: Vec<Bins>,
    /// The noisy counts of pairs of groups.
    pub pairs: Vec<NoisyCounts>,
    /// Columns with values that the schema leaves open and that the noise drowned.
    pub drowned: Vec<String>,
    /// Numbers without a range in the schema, for which the noise allowed only a rough one.
    pub rough: Vec<String>,
    /// The completed schema, as text, if it left something open.
    pub found: Option<String>,
    signal: Signal,
}

impl Released {
    /// Makes all releases of a plan with this noise multiplier, 0 without privacy.
    ///
    /// # Errors
    /// Returns [`SynthError::TooManyCounts`] and the errors of [`Releasing::release`].
    pub fn of<R: Releasing>(
        records: &mut Records,
        noise_multiplier: f64,
        aim: Aim,
        by: &mut R,
    ) -> Result<Self, R::Error> {
        let refused = |e: private_queries::QueryError| R::failed(e.into());
        let signal = Signal::new(records.neighbours(), noise_multiplier);
        let found = bought::find(records, by)?;
        let most_bins = check_size(records, signal).map_err(R::failed)?;
        let most = records.most_per_unit();
        let query = measured::columns(&records.sizes()).map_err(refused)?;
        let query = query.of_units(most);
        let columns = by.release(COLUMNS, &query, || records.measured(&query, None))?;
        let bins = joined(records, &columns, most_bins);
        let query = measured::pairs(&bins, records.label(), aim).map_err(refused)?;
        let query = query.of_units(most);
        let pairs = by.release(PAIRS, &query, || records.measured(&query, Some(&bins)))?;
        Ok(Self {
            columns,
            bins,
            pairs,
            drowned: found.drowned,
            rough: found.rough,
            found: found.schema,
            signal,
        })
    }

    /// Returns the number of records: the public number, or with units an estimate from noisy counts.
    pub fn records(&self, records: &Records) -> usize {
        if records.units().is_none() {
            return records.rows();
        }
        let sums = self
            .columns
            .iter()
            .map(|noisy| noisy.counts.iter().sum::<f64>());
        let mean = sums.sum::<f64>() / self.columns.len().max(1) as f64;
        (mean.round() as usize).max(1)
    }

    /// Fits a model to the releases. It uses only public values of `records`.
    ///
    /// # Errors
    /// Returns the errors of `watch`.
    pub fn fit<W: Watch>(
        &self,
        records: &Records,
        rng: &mut impl Rng,
        watch: &mut W,
    ) -> Result<Model, W::Error> {
        let counts = Counts {
            columns: &self.columns,
            pairs: &self.pairs,
            bins: &self.bins,
            label: records.label(),
            rules: records.schema().rules(),
        };
        Model::fitted(&counts, self.records(records), self.signal, rng, watch)
    }
}

/// Returns the maximum number of groups for the bins of a number, so that pairs of columns do not exceed the maximum of counts.
///
/// # Errors
/// Returns [`SynthError::TooManyCounts`] if they exceed it in any case.
pub fn check_size(records: &Records, signal: Signal) -> Result<f64, SynthError> {
    let mut bins = signal.bins();
    while bins > LEAST_BINS && counts_upper(records, bins) > MOST_COUNTS {
        bins = (bins / 2.0).max(LEAST_BINS);
    }
    let found = counts_upper(records, bins);
    match found <= MOST_COUNTS {
        true => Ok(bins),
        false => Err(SynthError::TooManyCounts {
            found,
            most: MOST_COUNTS,
        }),
    }
}

/// Returns the groups of the values of each column.
fn joined(records: &Records, columns: &[NoisyCounts], most_bins: f64) -> Vec<Bins> {
    let label = records.label();
    let bins = columns.iter().zip(records.ordered()).enumerate();
    bins.map(|(place, (noisy, ordered))| match label == Some(place) {
        true => Bins::of_label(noisy, ordered, most_bins.min(BINS_OF_LABEL)),
        false => Bins::of(noisy, ordered, most_bins),
    })
    .collect()
}

/// Bounds the number of counts of pairs, with and without the label, if the bins of a number form `bins` groups.
fn counts_upper(records: &Records, bins: f64) -> usize {
    // A number can have one group more, for the rest, and categories two.
    let most = |place: usize, bins: f64| {
        let column = &records.columns()[place];
        let others = column.codes.len() - column.ordered;
        let others = match records.label() == Some(place) {
            true => others,
            false => others.min(CATEGORIES + 2),
        };
        column.ordered.min(bins as usize + 1) + others
    };
    let classes = records
        .label()
        .map_or(1, |label| most(label, BINS_OF_LABEL));
    let sizes: Vec<usize> = (0..records.columns().len())
        .map(|place| most(place, bins))
        .collect();
    let sum: usize = sizes.iter().sum();
    let squares: usize = sizes.iter().map(|size| size * size).sum();
    (sum * sum - squares) / 2 * (1 + classes)
}
