//! The reduction of an event to steps, and the refusal of what no pair or divergence is known for.

use std::collections::BTreeMap;
use std::slice::from_ref;

use super::{Key, Mechanism, Sampling, Step, Steps, step_count};
use crate::accounting::error::{AccountingError, Result, check, check_epsilon};
use crate::accounting::event::{BandedInverse, BatchDistribution, Event};

/// The name of the accountant that adds up Renyi divergences.
pub(crate) const RENYI: &str = "rdp";

/// The name of the accountant that composes pairs.
pub(crate) const PLD: &str = "pld";

/// The name under which zCDP is asked for.
pub(crate) const ZCDP: &str = "zcdp";

/// The largest group of records.
const MAX_GROUP: u64 = 1_000_000;

/// The largest group of records on Poisson samples.
const MAX_SAMPLED_GROUP: u64 = 128;

/// The least noise multiplier of random allocation.
const LEAST_ALLOCATED: f64 = 0.599_999;

/// The most combinations of parts of partitions that one event may need.
const MAX_COMBINATIONS: usize = 1024;

/// The largest value over the alternatives of an event, at least 0.
pub(crate) fn worst(
    event: &Event,
    accountant: &'static str,
    value: impl Fn(&Steps) -> Result<f64>,
) -> Result<f64> {
    let alternatives = alternatives(event, accountant)?;
    let mut steps = alternatives.iter();
    steps.try_fold(0.0_f64, |worst, steps| Ok(worst.max(value(steps)?)))
}

/// The largest delta over the alternatives of an event, with failures, at each of `epsilons`.
pub(crate) fn worst_profile(
    event: &Event,
    accountant: &'static str,
    epsilons: &[f64],
    deltas: impl Fn(&Steps) -> Result<Vec<f64>>,
) -> Result<Vec<f64>> {
    epsilons
        .iter()
        .try_for_each(|epsilon| check_epsilon(*epsilon))?;
    let mut worst = vec![0.0_f64; epsilons.len()];
    for steps in alternatives(event, accountant)? {
        for (worst, delta) in worst.iter_mut().zip(deltas(&steps)?) {
            *worst = worst.max(steps.with_failure(delta));
        }
    }
    Ok(worst)
}

/// Checks an event and reduces it: one [`Steps`] for each combination of parts of partitions.
pub(crate) fn alternatives(event: &Event, accountant: &'static str) -> Result<Vec<Steps>> {
    event.neighbours()?;
    let mut sizes = BTreeMap::new();
    partitions(event, &mut sizes)?;
    let total = sizes
        .values()
        .try_fold(1usize, |product, size| product.checked_mul(*size))
        .filter(|total| *total <= MAX_COMBINATIONS)
        .ok_or_else(|| AccountingError::Partition {
            partition: sizes.keys().copied().collect::<Vec<_>>().join(", "),
            reason: "more than 1024 combinations of parts",
        })?;
    let combination = |combination: usize| {
        let mut rest = combination;
        let mut choice = BTreeMap::new();
        for (name, size) in &sizes {
            choice.insert(*name, rest % size);
            rest /= size;
        }
        let mut walk = Walk::new(accountant, &choice);
        walk.visit(event, Place::OUTSIDE)?;
        Ok(walk.finish())
    };
    (0..total).map(combination).collect()
}

/// The partitions of an event with their numbers of parts.
fn partitions<'e>(event: &'e Event, sizes: &mut BTreeMap<&'e str, usize>) -> Result<()> {
    if let Event::Parallel { partition, events } = event {
        let refuse = |reason| AccountingError::Partition {
            partition: partition.clone(),
            reason,
        };
        if events.is_empty() {
            return Err(refuse("has no part"));
        }
        if *sizes.entry(partition).or_insert(events.len()) != events.len() {
            return Err(refuse("is used with different numbers of parts"));
        }
    }
    let parts = match event {
        Event::Sampled { event, .. }
        | Event::SelfComposed { event, .. }
        | Event::Group { event, .. } => from_ref(&**event),
        Event::Composed { events } | Event::Parallel { events, .. } => events,
        _ => &[],
    };
    parts.iter().try_for_each(|part| partitions(part, sizes))
}

/// Where in the whole event a part of it stands.
#[derive(Clone, Copy)]
struct Place {
    /// How often the part is released.
    count: u64,
    /// How many records neighbours differ in.
    records: u64,
    /// Whether it sees a sample.
    sampled: bool,
    /// Whether neighbours differ in several records around this sample: within it one of them is looked at.
    grouped: bool,
    /// Whether it is one part of a partition.
    parted: bool,
}

impl Place {
    const OUTSIDE: Self = Self {
        count: 1,
        records: 1,
        sampled: false,
        grouped: false,
        parted: false,
    };
}

struct Walk<'w> {
    accountant: &'static str,
    /// The part of each partition that the record is in.
    choice: &'w BTreeMap<&'w str, usize>,
    counted: BTreeMap<Key, (Step, u64)>,
    gaussian_mu2: f64,
    /// All but the counted steps.
    found: Steps,
}

impl<'w> Walk<'w> {
    fn new(accountant: &'static str, choice: &'w BTreeMap<&'w str, usize>) -> Self {
        Self {
            accountant,
            choice,
            counted: BTreeMap::new(),
            gaussian_mu2: 0.0,
            found: Steps::default(),
        }
    }

    fn visit(&mut self, event: &Event, place: Place) -> Result<()> {
        if let Some(reason) = self.not_covered(event, place) {
            return Err(self.refuse(event, reason));
        }
        let Place { count, records, .. } = place;
        match event {
            Event::Gaussian { .. }
            | Event::Laplace { .. }
            | Event::ExponentialMechanism { .. }
            | Event::Pure { .. }
            | Event::DiscreteGaussian { .. }
            | Event::Zcdp { .. } => {
                let mechanism = Mechanism::of_release(event, records)?;
                self.push(mechanism, Sampling::None, count)
            }
            Event::CorrelatedGaussian {
                noise_multiplier,
                bandwidth,
                steps,
                separation,
                participations,
            } => {
                let noise = BandedInverse::new(*bandwidth, *steps)?;
                let whole = noise.release_of(*separation, *participations)?;
                self.visit(&whole(*noise_multiplier), place)
            }
            Event::Group { records, event } => {
                let records = place.records.saturating_mul(*records);
                let ok = (1..=MAX_GROUP).contains(&records);
                let name = "number of records of a group";
                check(name, records as f64, ok, "between 1 and 1e6")?;
                self.visit(event, Place { records, ..place })
            }
            Event::Failure { delta } => {
                let ok = (0.0..=1.0).contains(delta);
                check("delta of a failure", *delta, ok, "in [0, 1]")?;
                self.found.failure += delta * records as f64 * count as f64;
                Ok(())
            }
            // Refused above.
            Event::Selected { .. } => Ok(()),
            Event::NonPrivate => {
                self.found.non_private |= count > 0;
                Ok(())
            }
            Event::SelfComposed {
                event,
                count: inner,
            } => {
                let count = step_count(count.checked_mul(*inner))?;
                self.visit(event, Place { count, ..place })
            }
            Event::Composed { events } => events.iter().try_for_each(|e| self.visit(e, place)),
            Event::Parallel { partition, events } => {
                let own = self.choice.get(partition.as_str()).copied().unwrap_or(0);
                let parted = true;
                let part = Place { parted, ..place };
                events.get(own).map_or(Ok(()), |e| self.visit(e, part))
            }
            Event::Sampled { sampler, event } => {
                sampler.rate()?;
                let Some(mechanism) = self.mechanism_on_sample(event, place)? else {
                    return Ok(());
                };
                self.found.failure += sampler.failure(records) * count as f64;
                let (mechanism, sampling) = self.amplified(event, mechanism, sampler, records)?;
                self.push(mechanism, sampling, count)
            }
        }
    }

    /// Why this event is refused here, if it is.
    fn not_covered(&self, event: &Event, place: Place) -> Option<&'static str> {
        let parts = "records of one group may lie in several parts";
        Some(match event {
            Event::CorrelatedGaussian { .. } if place.sampled => {
                "its batches are fixed, and not of a sample"
            }
            // Renyi divergences are bounded by those of Gaussian noise, and nothing else is.
            Event::DiscreteGaussian { .. } | Event::Zcdp { .. }
                if !matches!(self.accountant, RENYI | ZCDP) =>
            {
                "only its Renyi divergences are bounded; use rdp"
            }
            Event::DiscreteGaussian { .. } | Event::Zcdp { .. } | Event::Failure { .. }
                if place.sampled =>
            {
                "no bound is known here for it on a sample"
            }
            Event::Group { .. } if place.sampled => "a group goes around the sample, not into it",
            Event::Group { records, .. } if place.parted && *records > 1 => parts,
            Event::Parallel { .. } if place.records > 1 || place.grouped => parts,
            Event::Selected { .. } => {
                "the best of several runs has no pair here; ask pld for its epsilon at a delta"
            }
            _ => return None,
        })
    }

    /// Why a mechanism is refused on a sample, if it is.
    fn sample_not_covered(
        &self,
        mechanism: Mechanism,
        sampler: &BatchDistribution,
        rate: f64,
        records: u64,
    ) -> Option<&'static str> {
        let gaussian = matches!(mechanism, Mechanism::Gaussian { .. });
        let allocated = matches!(sampler, BatchDistribution::RandomAllocation { .. });
        Some(match () {
            () if allocated && !gaussian => "random allocation; use Gaussian noise",
            () if allocated && records > 1 => "random allocation of groups",
            () if allocated && rate < 1.0 && self.accountant != PLD => "random allocation; use pld",
            () if records == 1 => return None,
            () if !gaussian => "groups of records on a sample, of other than Gaussian noise",
            () if rate == 1.0 => return None,
            () if !sampler.is_poisson() => {
                "groups of records on a sample of fixed size; use Poisson samples"
            }
            () if self.accountant != PLD => "groups of records on a sample; use pld",
            () => return None,
        })
    }

    /// The mechanism that neighbours who differ in `records` records see through a sample, and how it is sampled.
    fn amplified(
        &self,
        event: &Event,
        mechanism: Mechanism,
        sampler: &BatchDistribution,
        records: u64,
    ) -> Result<(Mechanism, Sampling)> {
        let rate = sampler.rate()?;
        if let Some(reason) = self.sample_not_covered(mechanism, sampler, rate, records) {
            return Err(self.refuse(event, reason));
        }
        let sampling = match (sampler, mechanism) {
            (_, Mechanism::Gaussian { mu }) if rate == 1.0 && records > 1 => {
                let mu = mu * records as f64;
                return Ok((Mechanism::Gaussian { mu }, Sampling::None));
            }
            _ if rate == 1.0 => Sampling::None,
            (BatchDistribution::RandomAllocation { steps }, Mechanism::Gaussian { mu }) => {
                // Likelihood ratios with less noise do not fit on a grid.
                let ok = mu <= 1.0 / LEAST_ALLOCATED;
                let name = "noise multiplier of a random allocation";
                check(name, 1.0 / mu, ok, "at least 0.6")?;
                let steps = *steps as u32;
                Sampling::Allocation { steps }
            }
            _ if records > 1 => {
                let ok = records <= MAX_SAMPLED_GROUP;
                let bound = "between 1 and 128 on a Poisson sample";
                check("number of records of a group", records as f64, ok, bound)?;
                let records = records as u32;
                Sampling::PoissonGroup { rate, records }
            }
            _ if sampler.is_poisson() => Sampling::Poisson { rate },
            _ => Sampling::Fixed { rate },
        };
        Ok((mechanism, sampling))
    }

    /// The one mechanism that an event on a sample amounts to; `None` if it releases nothing that counts.
    fn mechanism_on_sample(&mut self, event: &Event, place: Place) -> Result<Option<Mechanism>> {
        let mut inner = Walk::new(self.accountant, self.choice);
        let inside = Place {
            sampled: true,
            grouped: place.grouped || place.records > 1,
            parted: place.parted,
            ..Place::OUTSIDE
        };
        inner.visit(event, inside)?;
        let inner = inner.finish();
        if inner.failure > 0.0 {
            let reason = "what may fail, on a sample; put the failure beside it";
            return Err(self.refuse(event, reason));
        }
        if inner.non_private {
            self.found.non_private = true;
            return Ok(None);
        }
        let reason = match inner.counted.as_slice() {
            [] => return Ok(None),
            [(step, count)] if step.sampling == Sampling::None => match count {
                1 => return Ok(Some(step.mechanism)),
                _ => "several releases on one sample; use Gaussian noise or one release a sample",
            },
            [_] => "a sample of a sample; say the product of the rates",
            _ => {
                "different kinds of release on one sample; use Gaussian noise or one release a sample"
            }
        };
        Err(self.refuse(event, reason))
    }

    fn refuse(&self, event: &Event, reason: &'static str) -> AccountingError {
        AccountingError::NotCovered {
            accountant: self.accountant,
            event: event.words(),
            reason,
        }
    }

    fn push(&mut self, mechanism: Mechanism, sampling: Sampling, count: u64) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        if let (Mechanism::Gaussian { mu }, Sampling::None) = (mechanism, sampling) {
            // Gaussian steps compose exactly: their squared mu add up.
            self.gaussian_mu2 += mu * mu * count as f64;
            return Ok(());
        }
        let step = Step {
            mechanism,
            sampling,
        };
        let entry = self.counted.entry(step.key()).or_insert((step, 0));
        entry.1 = step_count(entry.1.checked_add(count))?;
        Ok(())
    }

    fn finish(mut self) -> Steps {
        self.found.counted = self.counted.into_values().collect();
        if self.gaussian_mu2 > 0.0 {
            let mu = self.gaussian_mu2.sqrt();
            let step = Step {
                mechanism: Mechanism::Gaussian { mu },
                sampling: Sampling::None,
            };
            self.found.counted.push((step, 1));
        }
        self.found
    }
}
