//! Mechanisms as data: events that were, or would be, released.

mod banded_inverse;
mod repetitions;
mod sampler;
mod words;

pub use banded_inverse::BandedInverse;
pub use repetitions::RepetitionDistribution;
pub use sampler::{BatchDistribution, Stratum};

use serde::{Deserialize, Serialize};

use super::error::{AccountingError, Result};
use super::neighbours::Neighbours;

/// A mechanism, or a composition of mechanisms, as data.
///
/// A noise multiplier is the noise scale divided by the sensitivity under the neighbour relation of the whole event.
///
/// ```
/// use dp_accountant::accounting::{Accountant, Event, PldAccountant, BatchDistribution};
///
/// // A histogram of all records, then 100 steps on Poisson samples of about one record in a hundred.
/// let histogram = Event::Laplace { noise_multiplier: 10.0 };
/// let steps = Event::Gaussian { noise_multiplier: 1.0 }
///     .sampled(BatchDistribution::Poisson { rate: 0.01 })
///     .repeated(100);
/// let both = Event::Composed { events: vec![histogram, steps.clone()] };
///
/// // The histogram alone has epsilon 1/10 at any delta; composed, it adds no more than that.
/// let accountant = PldAccountant::default();
/// let (all, alone) = (accountant.epsilon(&both, 1e-5)?, accountant.epsilon(&steps, 1e-5)?);
/// assert!(alone < all && all < alone + 0.1);
/// # Ok::<(), dp_accountant::accounting::AccountingError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// Gaussian noise of standard deviation `noise_multiplier` times the L2 sensitivity.
    Gaussian {
        /// Standard deviation over L2 sensitivity, positive.
        noise_multiplier: f64,
    },
    /// Discrete Gaussian noise of parameter sigma `noise_multiplier` times the L2 sensitivity, on each entry of a vector of
    /// whole numbers.
    ///
    /// Its Renyi divergences are at most those of Gaussian noise (Canonne, Kamath and Steinke 2020, arXiv 2004.00010, theorem 4
    /// and proposition 5), but its delta may be larger. [`super::RdpAccountant`] covers it.
    DiscreteGaussian {
        /// Parameter sigma over L2 sensitivity, positive.
        noise_multiplier: f64,
    },
    /// Gaussian noise on all `steps` steps of a training, correlated over steps by [`super::BandedInverse`].
    ///
    /// A record takes part in at most `participations` steps, which are at least `separation` apart. Later steps may depend on
    /// what earlier steps released. There is no sampling: if fixed batches come in a cycle of `b`, then `separation` is `b`,
    /// and `participations` is `steps / b`, rounded up.
    ///
    /// It is `mu`-GDP for `mu = sensitivity_upper / noise_multiplier`, exactly but for rounding. *Proof.* Divide each step's
    /// sum by its sensitivity. The release is equivalent to `C G + Z`, whose row `t` is a Gaussian release that neighbours move
    /// by the norm of row `t` of `C U`, for `U` their differences. `U` may depend on the rows before. In each case the squares
    /// add up to at most `sensitivity_upper^2`, and then all rows together are `mu`-GDP (Denisov et al. 2022, arXiv
    /// 2202.08312, theorem 2.1; for adaptively chosen releases Smith and Thakurta 2022, arXiv 2210.17520).
    ///
    /// ```
    /// use dp_accountant::accounting::{Accountant, Event, GaussianAccountant};
    ///
    /// // 2000 steps on batches of 600 of 60000 records, which come in a cycle of 100.
    /// let event = |bandwidth| Event::CorrelatedGaussian {
    ///     noise_multiplier: 30.0,
    ///     bandwidth,
    ///     steps: 2000,
    ///     separation: 100,
    ///     participations: 20,
    /// };
    /// // Independent noise is that of twenty Gaussian releases.
    /// let alone = Event::Gaussian { noise_multiplier: 30.0 }.repeated(20);
    /// let epsilon = |event: &Event| GaussianAccountant.epsilon(event, 1e-6);
    /// assert!((epsilon(&event(1))? - epsilon(&alone)?).abs() < 1e-6);
    /// assert!(epsilon(&event(64))? > epsilon(&alone)?);
    /// # Ok::<(), dp_accountant::accounting::AccountingError>(())
    /// ```
    CorrelatedGaussian {
        /// Standard deviation of each `z` over the L2 sensitivity of a step, positive.
        noise_multiplier: f64,
        /// Number of independent vectors `z` in the noise of a step; 1 for independent noise.
        bandwidth: u64,
        /// Number of steps of the training.
        steps: u64,
        /// Least distance, in steps, between two steps of one record.
        separation: u64,
        /// Largest number of steps of one record.
        participations: u64,
    },
    /// Laplace noise of scale `noise_multiplier` times the L1 sensitivity.
    Laplace {
        /// Scale over L1 sensitivity, positive.
        noise_multiplier: f64,
    },
    /// An event that sees only a fresh random sample of the records.
    Sampled {
        /// How the sample is taken.
        sampler: BatchDistribution,
        /// The event on the sample.
        event: Box<Event>,
    },
    /// The same event `count` times, each of which may depend on the ones before.
    SelfComposed {
        /// The event.
        event: Box<Event>,
        /// How often; 0 releases nothing.
        count: u64,
    },
    /// Several events, each of which may depend on the ones before; an empty list releases nothing.
    Composed {
        /// The events.
        events: Vec<Event>,
    },
    /// One event for each part of a fixed public partition of the records, each on its own part alone.
    ///
    /// One of the events sees a given record, so the worst of them counts. Replace-one neighbours are not covered, because a
    /// record may leave one part and enter another. Events with the same partition name have the same parts in the same
    /// order.
    Parallel {
        /// Name of the partition.
        partition: String,
        /// One event for each part.
        events: Vec<Event>,
    },
    /// The best of a random number of runs, each of them any of these events, chosen without the data.
    ///
    /// Neither the number of runs nor the output of another run is released: see [`super::PrivateSelection`].
    /// [`super::PldAccountant`] covers it, and composes it with other events by adding epsilons at equal parts of delta.
    Selected {
        /// The distribution of the number of runs.
        runs: RepetitionDistribution,
        /// The events that a run may be, at least one.
        events: Vec<Event>,
    },
    /// A `(0, delta)`-private part of a release.
    ///
    /// The outputs of neighbours have a total variation distance of at most `delta`, as when a name that only one record has
    /// may pass a noisy threshold. Deltas add up, beside all other events.
    Failure {
        /// The distance, in [0, 1].
        delta: f64,
    },
    /// An exponential mechanism, with `P(y)` proportional to `e^(epsilon u(y) / (2 sensitivity))` for scores `u`.
    ///
    /// If all scores move in one direction, the 2 is left out. Its privacy loss has a range of `epsilon` (Durfee and Rogers
    /// 2019, arXiv 1905.04273), so it costs less than [`Event::Pure`] with the same epsilon.
    ExponentialMechanism {
        /// The range of the privacy loss, between 1e-9 and 1e3.
        epsilon: f64,
    },
    /// Any purely epsilon-private mechanism, such as permute-and-flip (McKenna and Sheldon 2020, arXiv 2010.12603), the
    /// geometric mechanism or randomised response.
    ///
    /// Randomised response is the worst of them (Kairouz, Oh and Viswanath 2015, arXiv 1311.0776, theorem 3.3).
    Pure {
        /// Epsilon, between 1e-9 and 1e3.
        epsilon: f64,
    },
    /// Any rho-zCDP mechanism: its Renyi divergences are at most `rho alpha` at each order `alpha` (Bun and Steinke 2016, arXiv
    /// 1605.02065).
    ///
    /// [`super::RdpAccountant`] covers it.
    Zcdp {
        /// Rho, in [0, 5e5].
        rho: f64,
    },
    /// An event under neighbours that differ in `records` records: all added, all removed, or each replaced.
    ///
    /// Noise multipliers are divided by `records`, epsilons of mechanisms multiplied by it, and a rho by its square. On Poisson
    /// samples with Gaussian noise the pair is that of `Binomial(records, rate)` shifts (`docs/accounting.md`). On other
    /// samples no pair is known, and the event is refused. A group is put around a whole event; a composed event protects the
    /// smallest group among its parts.
    Group {
        /// Number of records in a group: 1 to 1e6, and 1 to 128 on Poisson samples.
        records: u64,
        /// The event on the records.
        event: Box<Event>,
    },
    /// A release without any guarantee: epsilon is infinite.
    NonPrivate,
}

impl Event {
    /// `count` times this event.
    #[must_use]
    pub fn repeated(self, count: u64) -> Self {
        Self::SelfComposed {
            event: Box::new(self),
            count,
        }
    }

    /// This event on a fresh sample.
    #[must_use]
    pub fn sampled(self, sampler: BatchDistribution) -> Self {
        Self::Sampled {
            sampler,
            event: Box::new(self),
        }
    }

    /// This event under neighbours that differ in `records` records.
    ///
    /// ```
    /// use dp_accountant::accounting::{Accountant, Event, PldAccountant, BatchDistribution};
    ///
    /// // Users with up to eight records each, all of which are added or removed together.
    /// let steps = Event::Gaussian { noise_multiplier: 4.0 }
    ///     .sampled(BatchDistribution::Poisson { rate: 0.01 })
    ///     .repeated(500);
    /// let epsilon = |event: &Event| PldAccountant::default().epsilon(event, 1e-6);
    /// let (record, user) = (epsilon(&steps)?, epsilon(&steps.clone().of_groups(8))?);
    /// assert!(8.0 * record < user && user < 12.0 * record, "{record} {user}");
    /// # Ok::<(), dp_accountant::accounting::AccountingError>(())
    /// ```
    #[must_use]
    pub fn of_groups(self, records: u64) -> Self {
        Self::Group {
            records,
            event: Box::new(self),
        }
    }

    /// `steps` Gaussian steps on batches of `batch` of `records` records sampled without replacement.
    #[must_use]
    pub fn dp_sgd(records: u64, batch: u64, steps: u64, noise_multiplier: f64) -> Self {
        Self::Gaussian { noise_multiplier }
            .sampled(BatchDistribution::WithoutReplacement { records, batch })
            .repeated(steps)
    }

    /// The neighbour relation under which the event holds; `None` if it holds under each relation.
    ///
    /// # Errors
    /// [`AccountingError::MixedNeighbours`] if two parts hold under relations that do not fit together.
    pub fn neighbours(&self) -> Result<Option<Neighbours>> {
        match self {
            Self::Gaussian { .. }
            | Self::CorrelatedGaussian { .. }
            | Self::DiscreteGaussian { .. }
            | Self::Laplace { .. }
            | Self::ExponentialMechanism { .. }
            | Self::Pure { .. }
            | Self::Zcdp { .. }
            | Self::Failure { .. }
            | Self::NonPrivate => Ok(None),
            Self::Sampled { sampler, event } => {
                join(Some(sampler.neighbours()), event.neighbours()?)
            }
            Self::SelfComposed { event, .. } | Self::Group { event, .. } => event.neighbours(),
            Self::Composed { events } | Self::Selected { events, .. } => joint_neighbours(events),
            // Parallel composition needs parts that a record cannot leave.
            Self::Parallel { events, .. } => Ok(Some(match joint_neighbours(events)? {
                Some(kept @ (Neighbours::AddRemove | Neighbours::ZeroOut)) => kept,
                _ => Neighbours::KEnd,
            })),
        }
    }
}

impl Neighbours {
    /// The relation under which both parts hold: k-end for replace-one and k-end, else that of both parts.
    ///
    /// # Errors
    /// [`AccountingError::MixedNeighbours`] for any other two different relations.
    pub fn both(self, other: Self) -> Result<Self> {
        match (self, other) {
            (first, second) if first == second => Ok(first),
            (Self::ReplaceOne, Self::KEnd) | (Self::KEnd, Self::ReplaceOne) => Ok(Self::KEnd),
            (first, second) => Err(AccountingError::MixedNeighbours { first, second }),
        }
    }
}

fn join(first: Option<Neighbours>, second: Option<Neighbours>) -> Result<Option<Neighbours>> {
    match (first, second) {
        (Some(first), Some(second)) => first.both(second).map(Some),
        (first, second) => Ok(first.or(second)),
    }
}

/// The neighbour relation under which all of `events` hold.
pub(super) fn joint_neighbours(events: &[Event]) -> Result<Option<Neighbours>> {
    events
        .iter()
        .try_fold(None, |so_far, event| join(so_far, event.neighbours()?))
}
