//! Mechanisms as data: what was, or would be, released.

use serde::{Deserialize, Serialize};

use super::binomial::upper_tail;
use super::error::{AccountingError, Result, check};
use super::neighbours::Neighbours;
use super::selection::Runs;

/// Relative allowance for the rounding of a binomial tail, upwards.
const TAIL_ROUNDING: f64 = 1e-9;

impl Neighbours {
    /// The relation under which both parts hold: replace-one implies k-end, nothing else mixes.
    ///
    /// # Errors
    /// [`AccountingError::MixedNeighbours`] when one is add-remove or zero-out and the other is not the same.
    pub fn both(self, other: Self) -> Result<Self> {
        match (self, other) {
            (first, second) if first == second => Ok(first),
            (Self::ReplaceOne, Self::KEnd) | (Self::KEnd, Self::ReplaceOne) => Ok(Self::KEnd),
            (first, second) => Err(AccountingError::MixedNeighbours { first, second }),
        }
    }
}

/// Public size of one group of records, and how many of them a batch draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupSize {
    /// Records in the group.
    pub records: u64,
    /// Records of the group in each batch.
    pub batch: u64,
}

/// How the records that an event sees are sampled, afresh each time and independently of the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BatchDistribution {
    /// A batch of fixed size, sampled uniformly without replacement (replace-one neighbours).
    WithoutReplacement {
        /// Records in the data set.
        records: u64,
        /// Records in a batch.
        batch: u64,
    },
    /// The same, by its rate `batch / records`.
    WithoutReplacementRate {
        /// Sampling rate in (0, 1].
        rate: f64,
    },
    /// Each record is kept independently with probability `rate`, a public number that says nothing of how many
    /// records there are (add-remove neighbours).
    Poisson {
        /// Sampling rate in (0, 1].
        rate: f64,
    },
    /// The same of a public number of records, which `rate` may say (zero-out neighbours). The pairs of distributions
    /// that dominate a step are those of [`BatchDistribution::Poisson`].
    PoissonZeroOut {
        /// Sampling rate in (0, 1].
        rate: f64,
    },
    /// [`BatchDistribution::PoissonZeroOut`] of which no batch is larger than `largest`: what exceeds it is left out by any rule (zero-out
    /// neighbours). It costs what Poisson sampling costs, and in each step a failure (as [`Event::Failure`]) of probability
    /// `P(Binomial(records - 1, rate) >= largest)`. Ganesh 2025 (*Tighter privacy analysis for truncated Poisson sampling*) says
    /// more where batches are often cut.
    ///
    /// *Proof.* Let `W` be those that are sampled of the records that neighbours share, which has the same law for both and is
    /// independent of whether the record in question is sampled. Given `W` with fewer than `largest` records nothing is left
    /// out, whether it is sampled or not: that is Poisson sampling. Given any other `W`, which has the probability above, `H_a`
    /// is at most 1; and `H_a` is jointly convex. A group of `k` records leaves `records - k` and `largest - k`.
    PoissonTruncated {
        /// Records in the data set, blank ones among them.
        records: u64,
        /// Sampling rate in (0, 1].
        rate: f64,
        /// The most records of a batch, at least 1.
        largest: u64,
    },
    /// All records are dealt to `steps` batches, each to one of them with the same probability and on its own, for a release of
    /// each batch (balls and bins; Chua et al. 2025, arXiv 2412.16802; Feldman and Shenfeld 2025, arXiv 2502.08202): the sampled
    /// event is all `steps` releases, an epoch (zero-out neighbours).
    ///
    /// ```
    /// use dp_accountant::accounting::{Accountant, Event, PldAccountant, BatchDistribution};
    ///
    /// let noise = Event::Gaussian { noise_multiplier: 1.0 };
    /// let dealt = noise.clone().sampled(BatchDistribution::RandomAllocation { steps: 100 }).repeated(5);
    /// let poisson = noise.sampled(BatchDistribution::PoissonZeroOut { rate: 0.01 }).repeated(500);
    /// let epsilon = |event: &Event| PldAccountant::default().epsilon(event, 1e-6);
    /// assert!(epsilon(&dealt)? < epsilon(&poisson)?);
    /// # Ok::<(), dp_accountant::accounting::AccountingError>(())
    /// ```
    RandomAllocation {
        /// Batches of an epoch, 1 to 2048.
        steps: u64,
    },
    /// Batches of fixed size of all records in an order that is made anew for each epoch, without a look at the data: a
    /// loader that shuffles. The sampled event is all releases of an epoch, one for each batch and each with noise of its own;
    /// an upper bound, for nothing is amplified: an epoch costs what the event does on all records. Poisson samples
    /// ([`BatchDistribution::PoissonZeroOut`]) and dealt ones ([`BatchDistribution::RandomAllocation`]) of the same size cost less.
    ///
    /// *Proof.* Given the orders, secret or not, a record is in one batch of an epoch at most: an incomplete last one is
    /// dropped, and an epoch that ends early is a whole one here. Whatever was released before, the other batches of the
    /// epoch release the same of both neighbours, and this one is the event; so its pair dominates the epoch, and pairs of
    /// epochs compose. The orders have one law for both neighbours, and `H_a` is jointly convex. The `k` records of a group
    /// lie in batches of `k_1 + k_2 + ... = k` of them, and Gaussian noise hides `sum k_i^2 <= k^2`. A record more changes
    /// the number of batches, or leaves another one over: there is no bound here for add or remove.
    ///
    /// ```
    /// use dp_accountant::accounting::{Accountant, Event, GaussianAccountant, PldAccountant, BatchDistribution};
    ///
    /// // Five epochs of a hundred batches.
    /// let noise = Event::Gaussian { noise_multiplier: 5.0 };
    /// let shuffled = noise.clone().sampled(BatchDistribution::ShuffledUpper { zero_out: true }).repeated(5);
    /// let poisson = noise.clone().sampled(BatchDistribution::PoissonZeroOut { rate: 0.01 }).repeated(500);
    /// let epsilon = |event: &Event| GaussianAccountant.epsilon(event, 1e-6);
    /// assert_eq!(epsilon(&shuffled)?, epsilon(&noise.repeated(5))?);
    /// assert!(PldAccountant::default().epsilon(&poisson, 1e-6)? < 0.2 * epsilon(&shuffled)?);
    /// # Ok::<(), dp_accountant::accounting::AccountingError>(())
    /// ```
    ShuffledUpper {
        /// Whether neighbours blank a record, instead of replacing it.
        zero_out: bool,
    },
    /// A batch of fixed size from each group (k-end neighbours): the largest group rate counts
    /// (Rodriguez-Vitores et al. 2025, arXiv 2502.01701, lemma 5.2).
    KEndGroups {
        /// The groups, at least one.
        groups: Vec<GroupSize>,
    },
}

impl BatchDistribution {
    /// The sampling rate in (0, 1]; for groups the largest of theirs, and 1 for the whole of a shuffled epoch.
    ///
    /// # Errors
    /// A rate outside (0, 1], an empty batch, a batch larger than its group, or no group at all.
    pub fn rate(&self) -> Result<f64> {
        let of = |records: u64, batch: u64| {
            if batch == 0 || batch > records {
                Err(AccountingError::Batch { batch, records })
            } else if batch == records {
                Ok(1.0)
            } else {
                // One ulp up, so that the rate is never rounded in the wrong direction.
                Ok((batch as f64 / records as f64).next_up().min(1.0))
            }
        };
        match self {
            Self::WithoutReplacement { records, batch } => of(*records, *batch),
            Self::WithoutReplacementRate { rate }
            | Self::Poisson { rate }
            | Self::PoissonZeroOut { rate } => {
                check_rate(*rate)?;
                Ok(*rate)
            }
            Self::ShuffledUpper { .. } => Ok(1.0),
            Self::RandomAllocation { steps } => {
                let ok = (1..=2048).contains(steps);
                check("number of steps", *steps as f64, ok, "between 1 and 2048")?;
                Ok(1.0 / *steps as f64)
            }
            Self::PoissonTruncated {
                records,
                rate,
                largest,
            } => {
                check_rate(*rate)?;
                check("records", *records as f64, *records > 0, "at least 1")?;
                check("largest batch", *largest as f64, *largest > 0, "at least 1")?;
                Ok(*rate)
            }
            Self::KEndGroups { groups } => {
                let mut largest = 0.0_f64;
                for group in groups {
                    largest = largest.max(of(group.records, group.batch)?);
                }
                check("number of groups", 0.0, !groups.is_empty(), "at least 1")?;
                Ok(largest)
            }
        }
    }

    /// The neighbour relation that this sampler amplifies for.
    pub fn neighbours(&self) -> Neighbours {
        match self {
            Self::WithoutReplacement { .. } | Self::WithoutReplacementRate { .. } => {
                Neighbours::ReplaceOne
            }
            Self::Poisson { .. } => Neighbours::AddRemove,
            Self::PoissonZeroOut { .. }
            | Self::PoissonTruncated { .. }
            | Self::RandomAllocation { .. } => Neighbours::ZeroOut,
            Self::ShuffledUpper { zero_out: true } => Neighbours::ZeroOut,
            Self::ShuffledUpper { zero_out: false } => Neighbours::ReplaceOne,
            Self::KEndGroups { .. } => Neighbours::KEnd,
        }
    }

    pub(crate) fn is_poisson(&self) -> bool {
        matches!(
            self,
            Self::Poisson { .. } | Self::PoissonZeroOut { .. } | Self::PoissonTruncated { .. }
        )
    }

    /// The probability that a step is not what its pair says to neighbours that differ in so many records, rounded up.
    pub(crate) fn failure(&self, differing: u64) -> f64 {
        match *self {
            Self::PoissonTruncated {
                records,
                rate,
                largest,
            } => {
                let shared = records.saturating_sub(differing);
                let least = largest.saturating_sub(differing) + 1;
                if largest < differing {
                    return 1.0;
                }
                (upper_tail(least, shared, rate) * (1.0 + TAIL_ROUNDING)).min(1.0)
            }
            _ => 0.0,
        }
    }
}

/// A mechanism, or many of them, as data.
///
/// Noise multipliers are noise scale divided by sensitivity, the sensitivity being that of the
/// neighbour relation of the whole event.
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
    /// Discrete Gaussian noise, parameter sigma `noise_multiplier` times the L2 sensitivity, on every entry of a vector
    /// of whole numbers. Its Renyi divergences are at most those of Gaussian noise (Canonne, Kamath and Steinke 2020,
    /// arXiv 2004.00010, theorem 4 and proposition 5), its delta is not: [`super::RdpAccountant`] covers it.
    DiscreteGaussian {
        /// Parameter sigma over L2 sensitivity, positive.
        noise_multiplier: f64,
    },
    /// Gaussian noise on all `steps` steps of a training, correlated over steps as [`super::BandedInverse`] says: one event,
    /// in which a record takes part at most `participations` times, in steps at least `separation` apart, whatever the
    /// steps release before decides of the next one. There is no sampling: where batches are fixed and come in a cycle of
    /// `b`, `separation` is `b`, and `participations` is `steps / b`, rounded up.
    ///
    /// It is `mu`-GDP for `mu = sensitivity_upper / noise_multiplier`, exactly but for rounding. *Proof.* Divide each step's
    /// sum by its sensitivity. What is released says as much as `C G + Z`, whose row `t` is a Gaussian release that
    /// neighbours move by the norm of row `t` of `C U`, for `U` their differences. Which they are may depend on the rows
    /// before; in each case the squares add up to at most `sensitivity_upper^2`, and then all of it is `mu`-GDP (Denisov et
    /// al. 2022, arXiv 2202.08312, theorem 2.1; of adaptively chosen releases Smith and Thakurta 2022, arXiv
    /// 2210.17520).
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
        /// Steps of which the noise of a step is made, 1 for independent noise.
        bandwidth: u64,
        /// All of them.
        steps: u64,
        /// Steps from one in which a record takes part to the next such, at least.
        separation: u64,
        /// Steps in which a record takes part, at most.
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
        /// What is done with the sample.
        event: Box<Event>,
    },
    /// The same event `count` times, adaptively.
    SelfComposed {
        /// The event.
        event: Box<Event>,
        /// How often; 0 releases nothing.
        count: u64,
    },
    /// Several events, adaptively; an empty list releases nothing.
    Composed {
        /// The events.
        events: Vec<Event>,
    },
    /// One event for each group of a fixed public partition of the records, each seeing only its
    /// own group: only one of them sees the record in question, so the worst counts.
    ///
    /// Not covered under replace-one, where a record may leave one group and enter another.
    /// Events that share a partition's name share its groups, in the same order.
    Parallel {
        /// Name of the partition.
        partition: String,
        /// One event a group.
        events: Vec<Event>,
    },
    /// The best of a random number of runs, each of them any of these events, chosen without the data: see
    /// [`super::Selection`]. Neither the number nor another run's output may leave. [`super::PldAccountant`] gives its
    /// epsilon, and composes it with others by adding epsilons at equal parts of delta.
    Selected {
        /// The law of the number of runs.
        runs: Runs,
        /// What a run may be, at least one event.
        events: Vec<Event>,
    },
    /// A `(0, delta)`-private part of a release: outputs of neighbours have the same distribution but for a total variation
    /// distance of `delta` at most, as where a name that one record alone has passes a noisy threshold. Deltas add up, whatever
    /// else is released.
    Failure {
        /// The distance, in [0, 1].
        delta: f64,
    },
    /// An exponential mechanism: `y` with a probability proportional to `e^(epsilon u(y) / (2 sensitivity))` of its score,
    /// the 2 left out where all scores move in one direction. Its privacy loss has a range of `epsilon`, whatever its ends
    /// are (Durfee and Rogers 2019, arXiv 1905.04273), and so it costs less than [`Event::Pure`] of the same epsilon.
    ExponentialMechanism {
        /// The range of the privacy loss, between 1e-9 and 1e3.
        epsilon: f64,
    },
    /// Anything that is purely epsilon-private, as permute-and-flip (McKenna and Sheldon 2020, arXiv 2010.12603), the
    /// geometric mechanism or randomised response, which is the worst of them (Kairouz, Oh and Viswanath 2015, arXiv
    /// 1311.0776, theorem 3.3).
    Pure {
        /// Epsilon, between 1e-9 and 1e3.
        epsilon: f64,
    },
    /// Anything that is rho-zCDP: its Renyi divergences are at most `rho alpha` for every order `alpha` (Bun and Steinke 2016,
    /// arXiv 1605.02065). Nothing else is known of it: [`super::RdpAccountant`] covers it, beside whatever else it covers.
    Zcdp {
        /// Rho, in [0, 5e5].
        rho: f64,
    },
    /// The same event as a group of `records` records sees it: what [`Self::neighbours`] says of one record holds of all of
    /// the group at once, all added, all removed, or each replaced. It goes around all that it is asked of: an event that is
    /// composed of others hides the smallest of their groups.
    ///
    /// Noise multipliers fall to `1 / records` of theirs, epsilons of mechanisms grow by as much and a rho by its square. On
    /// Poisson samples of Gaussian noise the pair is that of `Binomial(records, rate)` shifts (see `docs/accounting.md`).
    /// Elsewhere it is refused: no pair is known.
    Group {
        /// Records of a group, 1 to 1e6, and to 128 on Poisson samples.
        records: u64,
        /// What releases something of them.
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

    /// This event as groups of so many records see it.
    ///
    /// ```
    /// use dp_accountant::accounting::{Accountant, Event, PldAccountant, BatchDistribution};
    ///
    /// // Users with up to eight records each, of whom all records come or go together.
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

    /// The neighbour relation that the event holds under, `None` where any will do.
    ///
    /// # Errors
    /// [`AccountingError::MixedNeighbours`] when its parts do not fit together.
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
            Self::Composed { events } | Self::Selected { events, .. } => all(events),
            // Parallel composition needs groups that a record cannot leave.
            Self::Parallel { events, .. } => match all(events)? {
                Some(Neighbours::AddRemove) => Ok(Some(Neighbours::AddRemove)),
                Some(Neighbours::ZeroOut) => Ok(Some(Neighbours::ZeroOut)),
                _ => Ok(Some(Neighbours::KEnd)),
            },
        }
    }
}

fn check_rate(rate: f64) -> Result<()> {
    check("rate", rate, rate > 0.0 && rate <= 1.0, "in (0, 1]")
}

fn join(first: Option<Neighbours>, second: Option<Neighbours>) -> Result<Option<Neighbours>> {
    match (first, second) {
        (Some(first), Some(second)) => first.both(second).map(Some),
        (first, second) => Ok(first.or(second)),
    }
}

fn all(events: &[Event]) -> Result<Option<Neighbours>> {
    events
        .iter()
        .try_fold(None, |so_far, event| join(so_far, event.neighbours()?))
}
