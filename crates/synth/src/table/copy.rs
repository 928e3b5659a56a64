//! How a copy is made: the plan, the releases, and the model that is fitted to them.

use data::Schema;
use dp_core::ledger::Ledger;
use dp_core::mechanism::NoiseSource;
use dp_core::plan::{ReleaseNoise, TrainingPlan};
use private_queries::NoisyCounts;
use rand::Rng;

use super::bins::{Bins, CATEGORIES};
use super::model::{Counts, Model, Signal};
use super::records::Records;
use super::{bought, measured};
use crate::{Direct, Releasing, SynthError, Unwatched, Watch, plan_of_all};

/// The release of counts of columns, by its name in the plan.
pub const COLUMNS: &str = "columns";
/// The release of counts of pairs of columns, and of pairs with the label.
pub const PAIRS: &str = "pairs";
/// Counts of pairs, at most: 400 MB.
const MOST_COUNTS: usize = 50_000_000;
/// Groups of the bins of a number, at least, and of a label.
const LEAST_BINS: f64 = 4.0;
const BINS_OF_LABEL: f64 = 8.0;

/// How a private copy of a table is made.
///
/// Neighbours replace one record, or one unit with all of its records; both releases are of all records, and the accountant is
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
    /// Epsilon 1, delta `0.1 / n`, nothing left to be found.
    pub fn new() -> Self {
        Self::default()
    }

    /// The epsilon of all releases together.
    #[must_use]
    pub fn epsilon(self, epsilon: f64) -> Self {
        Self { epsilon, ..self }
    }

    /// The delta of all releases together; `0.1 / n` if it is not given.
    #[must_use]
    pub fn delta(self, delta: f64) -> Self {
        let delta = Some(delta);
        Self { delta, ..self }
    }

    /// The share of the budget (of `1/z^2`) that finds the ranges and categories which the schema leaves open.
    #[must_use]
    pub fn finding(self, share: f64) -> Self {
        let finding = share;
        Self { finding, ..self }
    }

    /// A share of the budget that is kept for a release of the caller's own, by its name in the plan.
    #[must_use]
    pub fn reserve(self, name: &str, share: f64) -> Self {
        let reserved = (share > 0.0).then(|| (name.into(), share));
        Self { reserved, ..self }
    }

    /// What is released, and with how much noise.
    ///
    /// # Errors
    /// [`SynthError::Privacy`] without records.
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

    /// Releases, and fits a model to it, into a ledger, with secret noise.
    ///
    /// # Errors
    /// [`SynthError::Privacy`] for a plan that cannot be had and a ledger that cannot be written; [`SynthError::TooManyCounts`];
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
        let released = Released::of(records, noise, &mut by)?;
        let model = released.fit(records, rng, &mut by)?;
        let schema = records.schema().clone();
        Ok(Fitted {
            schema,
            model,
            released,
        })
    }
}

/// A private copy: a function of what was released, of which any number of records may be sampled.
#[derive(Debug)]
pub struct Fitted {
    /// The schema of the copy.
    pub schema: Schema,
    /// What records are sampled from.
    pub model: Model,
    /// What it was fitted to.
    pub released: Released,
}

impl Fitted {
    /// So many records as codes, `[n, columns]` in rows, that keep the rules of the schema.
    ///
    /// # Errors
    /// [`SynthError::Rules`] if fewer than one record in a thousand keeps them.
    pub fn sample(&self, records: usize, rng: &mut impl Rng) -> Result<Vec<u16>, SynthError> {
        let rules = self.schema.rules();
        self.model.sample(rules, records, rng, &mut Unwatched)
    }
}

/// What was released of a table.
#[derive(Debug)]
pub struct Released {
    /// Noisy counts of each column.
    pub columns: Vec<NoisyCounts>,
    /// The groups of their values in pairs.
    pub bins: Vec<Bins>,
    /// Noisy counts of pairs of groups.
    pub pairs: Vec<NoisyCounts>,
    /// Columns whose values the schema leaves open, and of which noise has left none.
    pub drowned: Vec<String>,
    /// Numbers without a range of their own in the schema, of which noise told it roughly alone.
    pub rough: Vec<String>,
    /// The schema with what was found, as text, if it left something open.
    pub found: Option<String>,
    signal: Signal,
}

impl Released {
    /// Makes all releases of a plan of this noise multiplier, 0 without privacy.
    ///
    /// # Errors
    /// [`SynthError::TooManyCounts`]; as [`Releasing::release`].
    pub fn of<R: Releasing>(
        records: &mut Records,
        noise_multiplier: f64,
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
        let query = measured::pairs(&bins, records.label()).map_err(refused)?;
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

    /// How many records there are: what is public of it, and if there are units what noisy counts say.
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

    /// The model that is fitted to it. Of the records it takes what is public alone.
    ///
    /// # Errors
    /// What `watch` gives.
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

/// Groups of the bins of a number, at most, so that pairs of columns have no more counts than are made.
///
/// # Errors
/// [`SynthError::TooManyCounts`] if they have more in any case.
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

/// The groups of the values of each column.
fn joined(records: &Records, columns: &[NoisyCounts], most_bins: f64) -> Vec<Bins> {
    let label = records.label();
    let bins = columns.iter().zip(records.ordered()).enumerate();
    bins.map(|(place, (noisy, ordered))| match label == Some(place) {
        true => Bins::of_label(noisy, ordered, most_bins.min(BINS_OF_LABEL)),
        false => Bins::of(noisy, ordered, most_bins),
    })
    .collect()
}

/// Counts of pairs, with the label and without, if numbers have so many bins; no fewer than there will be.
fn counts_upper(records: &Records, bins: f64) -> usize {
    // A group more for what is left over, of categories two.
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
