//! Events taken apart into counted steps that an accountant can compose.

use std::collections::BTreeMap;

use super::banded_inverse::BandedInverse;
use super::error::{AccountingError, Result, check};
use super::event::{BatchDistribution, Event};

/// The largest number of steps of one kind that is covered (counts are exact in `f64` below it).
pub(crate) const MAX_STEPS: u64 = 1 << 52;

/// The name of the accountant that adds up Renyi divergences.
pub(crate) const RENYI: &str = "rdp";

/// The name of the accountant that composes pairs.
pub(crate) const PLD: &str = "pld";

/// The largest group of records.
const MAX_GROUP: u64 = 1_000_000;

/// The largest group of records on Poisson samples.
const MAX_SAMPLED_GROUP: u64 = 128;

/// The least noise multiplier of random allocation.
const LEAST_ALLOCATED: f64 = 0.599_999;

/// The name under which zCDP is asked for.
pub(crate) const ZCDP: &str = "zcdp";

/// Relative allowance for the rounding of sums of deltas.
const ROUNDING: f64 = 1e-14;

/// The most combinations of partition groups that one event may need.
const MAX_COMBINATIONS: usize = 1024;

/// A mechanism before sampling, scaled to sensitivity 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Base {
    /// `N(0, 1)` against `N(mu, 1)`.
    Gaussian { mu: f64 },
    /// Laplace noise of this scale, shifted by 1.
    Laplace { scale: f64 },
    /// The pair of all exponential mechanisms of this range: losses in `[-epsilon, epsilon]` of density
    /// `e^(loss / 2) / (4 sinh(epsilon / 2))`.
    Exponential { epsilon: f64 },
    /// Randomised response, the pair of all that is purely epsilon-private.
    Pure { epsilon: f64 },
}

impl Base {
    /// The largest loss.
    pub(super) fn loss_supremum(self) -> f64 {
        match self {
            Self::Gaussian { .. } => f64::INFINITY,
            Self::Laplace { scale } => 1.0 / scale,
            Self::Exponential { epsilon } | Self::Pure { epsilon } => epsilon,
        }
    }

    /// Total variation of its pair, `1 - 2 Q(loss > 0)` with atoms at 0 in halves.
    pub(super) fn total_variation(self) -> f64 {
        match self {
            Self::Gaussian { mu } => libm::erf(0.5 * mu * std::f64::consts::FRAC_1_SQRT_2),
            Self::Laplace { scale } => -(-0.5 / scale).exp_m1(),
            Self::Exponential { epsilon } => (0.25 * epsilon).tanh(),
            Self::Pure { epsilon } => (0.5 * epsilon).tanh(),
        }
    }
}

/// How a base is amplified.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Sampling {
    /// Every record is seen.
    None,
    /// Fixed size without replacement, replace-one or k-end neighbours.
    Fixed { rate: f64 },
    /// Poisson, add-remove or zero-out neighbours.
    Poisson { rate: f64 },
    /// The same with neighbours of several records at once, for Gaussian noise.
    PoissonGroup { rate: f64, records: u32 },
    /// Gaussian noise in so many steps, one of which, by a fair draw, sees the record.
    Allocation { steps: u32 },
}

/// One kind of step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Step {
    pub base: Base,
    pub sampling: Sampling,
}

/// What tells one kind of step from another.
type Key = (u32, u64, u8, u64);

impl Step {
    fn key(&self) -> Key {
        let (sampling, rate) = match self.sampling {
            Sampling::None => (0, 0.0),
            Sampling::Fixed { rate } => (1, rate),
            Sampling::Poisson { rate } => (2, rate),
            Sampling::PoissonGroup { rate, records } => (2 + records, rate),
            Sampling::Allocation { steps } => (u32::MAX, f64::from(steps)),
        };
        let (base, parameter) = match self.base {
            Base::Gaussian { mu } => (0, mu),
            Base::Laplace { scale } => (1, scale),
            Base::Exponential { epsilon } => (2, epsilon),
            Base::Pure { epsilon } => (3, epsilon),
        };
        (sampling, rate.to_bits(), base, parameter.to_bits())
    }
}

/// What has to be composed for one choice of the group that the record is in.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Steps {
    /// Distinct steps with their counts, each count at least 1.
    pub counted: Vec<(Step, u64)>,
    /// Whether something was released without noise.
    pub non_private: bool,
    /// The delta of all that may fail.
    pub failure: f64,
}

impl Steps {
    /// What is left of `delta` for everything that does not just fail, rounded down; none where that takes more than all.
    pub(super) fn left(&self, delta: f64) -> Option<f64> {
        if self.failure == 0.0 || delta == 1.0 {
            return Some(delta);
        }
        let left = delta - self.failure;
        (left >= 0.0).then(|| (left - ROUNDING * delta).max(0.0))
    }

    /// A delta with that of all that may fail, rounded up.
    pub(super) fn with_failure(&self, delta: f64) -> f64 {
        match self.failure {
            0.0 => delta,
            failure => ((delta + failure) * (1.0 + ROUNDING)).min(1.0),
        }
    }

    /// Whether an exponential mechanism is among them, of many of which Renyi divergences may say more than pairs.
    pub(super) fn has_exponential(&self) -> bool {
        self.counted.iter().any(|(step, _)| {
            matches!(step.base, Base::Exponential { .. }) && step.sampling == Sampling::None
        })
    }

    /// The total `mu` when nothing but unsampled Gaussian releases is left.
    pub(super) fn gaussian_mu(&self) -> Option<f64> {
        match self.counted.as_slice() {
            [] => Some(0.0),
            [(step, 1)] if step.sampling == Sampling::None => match step.base {
                Base::Gaussian { mu } => Some(mu),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Checks an event and takes it apart: one [`Steps`] for each combination of partition groups.
pub(crate) fn alternatives(event: &Event, accountant: &'static str) -> Result<Vec<Steps>> {
    event.neighbours()?;
    let mut sizes = BTreeMap::new();
    partitions(event, &mut sizes)?;
    let names: Vec<&str> = sizes.keys().copied().collect();
    let total = sizes
        .values()
        .try_fold(1usize, |product, size| product.checked_mul(*size))
        .filter(|total| *total <= MAX_COMBINATIONS)
        .ok_or_else(|| AccountingError::Partition {
            partition: names.join(", "),
            reason: "more than 1024 combinations of groups",
        })?;
    let mut found = Vec::with_capacity(total);
    for combination in 0..total {
        let mut rest = combination;
        let mut choice = BTreeMap::new();
        for (name, size) in &sizes {
            choice.insert(*name, rest % size);
            rest /= size;
        }
        let mut walk = Walk {
            accountant,
            choice,
            counted: BTreeMap::new(),
            gaussian_mu2: 0.0,
            non_private: false,
            failure: 0.0,
            sampled: false,
            records: 1,
            grouped: false,
            parted: false,
        };
        walk.visit(event, 1)?;
        found.push(walk.finish());
    }
    Ok(found)
}

fn partitions<'e>(event: &'e Event, sizes: &mut BTreeMap<&'e str, usize>) -> Result<()> {
    match event {
        Event::Gaussian { .. }
        | Event::CorrelatedGaussian { .. }
        | Event::DiscreteGaussian { .. }
        | Event::Laplace { .. }
        | Event::ExponentialMechanism { .. }
        | Event::Pure { .. }
        | Event::Zcdp { .. }
        | Event::Selected { .. }
        | Event::Failure { .. }
        | Event::NonPrivate => Ok(()),
        Event::Sampled { event, .. }
        | Event::SelfComposed { event, .. }
        | Event::Group { event, .. } => partitions(event, sizes),
        Event::Composed { events } => events.iter().try_for_each(|e| partitions(e, sizes)),
        Event::Parallel { partition, events } => {
            let refuse = |reason| AccountingError::Partition {
                partition: partition.clone(),
                reason,
            };
            if events.is_empty() {
                return Err(refuse("has no group"));
            }
            let size = sizes.entry(partition.as_str()).or_insert(events.len());
            if *size != events.len() {
                return Err(refuse("is used with different numbers of groups"));
            }
            events.iter().try_for_each(|e| partitions(e, sizes))
        }
    }
}

struct Walk<'e> {
    accountant: &'static str,
    choice: BTreeMap<&'e str, usize>,
    counted: BTreeMap<Key, (Step, u64)>,
    gaussian_mu2: f64,
    non_private: bool,
    failure: f64,
    sampled: bool,
    /// How many records neighbours differ in.
    records: u64,
    /// Whether neighbours differ in several records around this sample: within it one of them is looked at.
    grouped: bool,
    /// Whether this is one part of a partition.
    parted: bool,
}

impl Walk<'_> {
    fn visit(&mut self, event: &Event, count: u64) -> Result<()> {
        match event {
            Event::Gaussian { .. }
            | Event::Laplace { .. }
            | Event::ExponentialMechanism { .. }
            | Event::Pure { .. } => self.push(base(event, self.records)?, Sampling::None, count),
            Event::CorrelatedGaussian {
                noise_multiplier,
                bandwidth,
                steps,
                separation,
                participations,
            } => {
                if self.sampled {
                    return Err(self.refuse(event, "its batches are fixed, and not of a sample"));
                }
                let noise = BandedInverse::new(*bandwidth, *steps)?;
                let whole = noise.release_of(*separation, *participations)?;
                let whole = whole(*noise_multiplier);
                self.push(base(&whole, self.records)?, Sampling::None, count)
            }
            Event::DiscreteGaussian { .. } | Event::Zcdp { .. } => {
                // Renyi divergences are bounded by those of Gaussian noise, and nothing else is.
                if !matches!(self.accountant, RENYI | ZCDP) {
                    return Err(
                        self.refuse(event, "only its Renyi divergences are bounded; use rdp")
                    );
                }
                if self.sampled {
                    return Err(self.refuse(event, "no bound is known here for it on a sample"));
                }
                self.push(base(event, self.records)?, Sampling::None, count)
            }
            Event::Group { .. } if self.sampled => {
                Err(self.refuse(event, "a group goes around the sample, not into it"))
            }
            Event::Group { records, .. } if self.parted && *records > 1 => {
                Err(self.refuse(event, "records of one group may lie in several parts"))
            }
            Event::Group { records, event } => {
                let all = self.records.saturating_mul(*records);
                check(
                    "number of records of a group",
                    all as f64,
                    (1..=MAX_GROUP).contains(&all),
                    "between 1 and 1e6",
                )?;
                let outside = std::mem::replace(&mut self.records, all);
                let visited = self.visit(event, count);
                self.records = outside;
                visited
            }
            Event::Selected { .. } => Err(self.refuse(
                event,
                "the best of several runs has no pair here; ask pld for its epsilon at a delta",
            )),
            Event::Failure { delta } => {
                if self.sampled {
                    return Err(self.refuse(event, "no bound is known here for it on a sample"));
                }
                let ok = (0.0..=1.0).contains(delta);
                check("delta of a failure", *delta, ok, "in [0, 1]")?;
                self.failure += delta * self.records as f64 * count as f64;
                Ok(())
            }
            Event::NonPrivate => {
                self.non_private |= count > 0;
                Ok(())
            }
            Event::SelfComposed {
                event,
                count: inner,
            } => {
                let count = count
                    .checked_mul(*inner)
                    .filter(|count| *count <= MAX_STEPS)
                    .ok_or(AccountingError::TooManySteps { bound: MAX_STEPS })?;
                self.visit(event, count)
            }
            Event::Composed { events } => events.iter().try_for_each(|e| self.visit(e, count)),
            Event::Parallel { .. } if self.records > 1 || self.grouped => {
                Err(self.refuse(event, "records of one group may lie in several parts"))
            }
            Event::Parallel { partition, events } => {
                let group = self.choice.get(partition.as_str()).copied().unwrap_or(0);
                let outside = std::mem::replace(&mut self.parted, true);
                let visited = events.get(group).map_or(Ok(()), |e| self.visit(e, count));
                self.parted = outside;
                visited
            }
            Event::Sampled { sampler, event } => {
                let rate = sampler.rate()?;
                let Some(inner) = self.sampled_base(event)? else {
                    return Ok(());
                };
                if let BatchDistribution::RandomAllocation { steps } = *sampler {
                    return self.push_allocation(event, inner, steps, count);
                }
                self.failure += sampler.failure(self.records) * count as f64;
                if self.records > 1 {
                    return self.push_group(event, inner, sampler, count);
                }
                let sampling = if rate == 1.0 {
                    Sampling::None
                } else if sampler.is_poisson() {
                    Sampling::Poisson { rate }
                } else {
                    Sampling::Fixed { rate }
                };
                self.push(inner, sampling, count)
            }
        }
    }

    /// An epoch of steps, one of which sees the record.
    fn push_allocation(&mut self, event: &Event, base: Base, steps: u64, count: u64) -> Result<()> {
        match (base, self.records) {
            (Base::Gaussian { .. }, 1) if steps == 1 => self.push(base, Sampling::None, count),
            (Base::Gaussian { mu }, 1) if self.accountant == PLD => {
                // Likelihood ratios with less noise do not fit on a grid.
                let ok = mu <= 1.0 / LEAST_ALLOCATED;
                check(
                    "noise multiplier of a random allocation",
                    1.0 / mu,
                    ok,
                    "at least 0.6",
                )?;
                let steps = steps as u32;
                self.push(base, Sampling::Allocation { steps }, count)
            }
            (Base::Gaussian { .. }, 1) => Err(self.refuse(event, "random allocation; use pld")),
            (Base::Gaussian { .. }, _) => Err(self.refuse(event, "random allocation of groups")),
            _ => Err(self.refuse(event, "random allocation; use Gaussian noise")),
        }
    }

    /// A sample as a group of records sees it.
    fn push_group(
        &mut self,
        event: &Event,
        base: Base,
        sampler: &BatchDistribution,
        count: u64,
    ) -> Result<()> {
        let rate = sampler.rate()?;
        let Base::Gaussian { mu } = base else {
            return Err(self.refuse(
                event,
                "groups of records on a sample, of other than Gaussian noise",
            ));
        };
        if rate == 1.0 {
            let base = Base::Gaussian {
                mu: mu * self.records as f64,
            };
            return self.push(base, Sampling::None, count);
        }
        if !sampler.is_poisson() {
            let reason = "groups of records on a sample of fixed size; use Poisson samples";
            return Err(self.refuse(event, reason));
        }
        if self.accountant != PLD {
            return Err(self.refuse(event, "groups of records on a sample; use pld"));
        }
        check(
            "number of records of a group",
            self.records as f64,
            self.records <= MAX_SAMPLED_GROUP,
            "between 1 and 128 on a Poisson sample",
        )?;
        let records = self.records as u32;
        self.push(base, Sampling::PoissonGroup { rate, records }, count)
    }

    /// The one base that a sampled event amounts to; `None` if it releases nothing that counts.
    fn sampled_base(&mut self, event: &Event) -> Result<Option<Base>> {
        let mut inner = Walk {
            accountant: self.accountant,
            choice: self.choice.clone(),
            counted: BTreeMap::new(),
            gaussian_mu2: 0.0,
            non_private: false,
            failure: 0.0,
            sampled: true,
            records: 1,
            grouped: self.grouped || self.records > 1,
            parted: self.parted,
        };
        inner.visit(event, 1)?;
        let inner = inner.finish();
        if inner.failure > 0.0 {
            return Err(self.refuse(
                event,
                "what may fail, on a sample; put the failure beside it",
            ));
        }
        if inner.non_private {
            self.non_private = true;
            return Ok(None);
        }
        match inner.counted.as_slice() {
            [] => Ok(None),
            [(step, 1)] if step.sampling == Sampling::None => Ok(Some(step.base)),
            [(step, _)] if step.sampling == Sampling::None => Err(self.refuse(
                event,
                "several releases on one sample; use Gaussian noise or one release a sample",
            )),
            [(_, _)] => Err(self.refuse(event, "a sample of a sample; say the product of the rates")),
            _ => Err(self.refuse(
                event,
                "different kinds of release on one sample; use Gaussian noise or one release a sample",
            )),
        }
    }

    fn refuse(&self, event: &Event, reason: &'static str) -> AccountingError {
        AccountingError::NotCovered {
            accountant: self.accountant,
            event: event.words(),
            reason,
        }
    }

    fn push(&mut self, base: Base, sampling: Sampling, count: u64) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        if let (Base::Gaussian { mu }, Sampling::None) = (base, sampling) {
            // Gaussian steps compose exactly: their squared mu add up.
            self.gaussian_mu2 += mu * mu * count as f64;
            return Ok(());
        }
        let step = Step { base, sampling };
        let entry = self.counted.entry(step.key()).or_insert((step, 0));
        entry.1 = entry
            .1
            .checked_add(count)
            .filter(|count| *count <= MAX_STEPS)
            .ok_or(AccountingError::TooManySteps { bound: MAX_STEPS })?;
        Ok(())
    }

    fn finish(self) -> Steps {
        let mut counted: Vec<_> = self.counted.into_values().collect();
        if self.gaussian_mu2 > 0.0 {
            let mu = self.gaussian_mu2.sqrt();
            let step = Step {
                base: Base::Gaussian { mu },
                sampling: Sampling::None,
            };
            counted.push((step, 1));
        }
        Steps {
            counted,
            non_private: self.non_private,
            failure: self.failure,
        }
    }
}

/// The base of neighbours that differ in so many records: as many times the sensitivity.
fn base(event: &Event, records: u64) -> Result<Base> {
    let records = records as f64;
    let noise = |z: f64| {
        let z = z / records;
        let ok = (1e-3..=1e9).contains(&z);
        check("noise multiplier", z, ok, "between 1e-3 and 1e9").map(|()| z)
    };
    let pure = |e: f64| {
        let e = e * records;
        check(
            "epsilon",
            e,
            (1e-9..=1e3).contains(&e),
            "between 1e-9 and 1e3",
        )
        .map(|()| e)
    };
    Ok(match *event {
        Event::ExponentialMechanism { epsilon } => Base::Exponential {
            epsilon: pure(epsilon)?,
        },
        Event::Pure { epsilon } => Base::Pure {
            epsilon: pure(epsilon)?,
        },
        Event::Laplace { noise_multiplier } => Base::Laplace {
            scale: noise(noise_multiplier)?,
        },
        Event::Gaussian { noise_multiplier } | Event::DiscreteGaussian { noise_multiplier } => {
            Base::Gaussian {
                mu: 1.0 / noise(noise_multiplier)?,
            }
        }
        // No order has a larger divergence than Gaussian noise of this mu.
        Event::Zcdp { rho } => {
            let rho = rho * records * records;
            super::zcdp::check_rho(rho)?;
            let mu = (2.0 * rho).sqrt();
            Base::Gaussian {
                mu: if mu == 0.0 { 0.0 } else { mu.next_up() },
            }
        }
        // Only called for the kinds above.
        _ => Base::Gaussian { mu: 0.0 },
    })
}
