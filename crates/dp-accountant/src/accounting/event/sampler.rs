//! How the batch of an event is sampled.

use serde::{Deserialize, Serialize};

use crate::accounting::error::{AccountingError, Result, check};
use crate::accounting::neighbours::Neighbours;
use crate::numerics::binomial::upper_tail;

/// Relative allowance for the rounding of a binomial tail, upwards.
const TAIL_ROUNDING: f64 = 1e-9;

/// The public sizes of one stratum of records and of its part of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stratum {
    /// Number of records in the stratum.
    pub records: u64,
    /// Number of records that each batch takes from the stratum.
    pub batch: u64,
}

/// How the records of a batch are sampled: afresh for each batch, and independently of the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BatchDistribution {
    /// A batch of fixed size, uniform among all such batches (replace-one neighbours).
    WithoutReplacement {
        /// Number of records in the data set.
        records: u64,
        /// Number of records in a batch.
        batch: u64,
    },
    /// [`BatchDistribution::WithoutReplacement`], given by its rate `batch / records`.
    WithoutReplacementRate {
        /// Sampling rate in (0, 1].
        rate: f64,
    },
    /// Each record is in the batch independently with probability `rate` (add-remove neighbours).
    ///
    /// The rate is public, and must not depend on the number of records.
    Poisson {
        /// Sampling rate in (0, 1].
        rate: f64,
    },
    /// Poisson sampling from a public number of records (zero-out neighbours).
    ///
    /// The rate may depend on the number of records. The same pairs dominate a step as for [`BatchDistribution::Poisson`].
    PoissonZeroOut {
        /// Sampling rate in (0, 1].
        rate: f64,
    },
    /// [`BatchDistribution::PoissonZeroOut`] with batches cut to `largest` records by any rule (zero-out neighbours).
    ///
    /// A step costs what Poisson sampling costs, and a failure ([`super::Event::Failure`]) of probability
    /// `P(Binomial(records - 1, rate) >= largest)`. If batches are often cut, the analysis of Ganesh 2025 (*Tighter privacy
    /// analysis for truncated Poisson sampling*) is tighter.
    ///
    /// *Proof.* Let `W` be the sampled ones among the records that both neighbours share. `W` has the same law for both, and
    /// is independent of whether the other record is sampled. If `W` has fewer than `largest` records, nothing is cut, and the
    /// step is Poisson sampling. Every other `W` has the probability above in all, and there `H_a` is at most 1. `H_a` is
    /// jointly convex. For a group of `k` records the numbers are `records - k` and `largest - k`.
    PoissonTruncated {
        /// Number of records in the data set, blank ones included.
        records: u64,
        /// Sampling rate in (0, 1].
        rate: f64,
        /// Largest number of records in a batch, at least 1.
        largest: u64,
    },
    /// Each record is dealt to one of `steps` batches, uniformly and independently of the others (zero-out neighbours).
    ///
    /// The sampled event is an epoch: a release of each of the `steps` batches. Source: "balls and bins" of Chua et al. 2025,
    /// arXiv 2412.16802; Feldman and Shenfeld 2025, arXiv 2502.08202.
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
        /// Number of batches in an epoch, 1 to 2048.
        steps: u64,
    },
    /// Batches of fixed size from all records in a fresh order each epoch, as from a loader that shuffles.
    ///
    /// The order must not depend on the data. The sampled event is an epoch: a release of each batch, with independent noise.
    /// An epoch costs what the event costs on all records. This is an upper bound that counts no amplification;
    /// [`BatchDistribution::PoissonZeroOut`] and [`BatchDistribution::RandomAllocation`] with the same batch size cost less.
    ///
    /// *Proof.* Fix the orders, secret or not. A record is in at most one batch of an epoch: an incomplete last batch is
    /// dropped, and an epoch that ends early counts as a whole one. Whatever was released before, the other batches of the
    /// epoch release the same for both neighbours, and this batch is the event. So the event's pair dominates the epoch, and
    /// pairs of epochs compose. The orders have one law for both neighbours, and `H_a` is jointly convex. The `k` records of a
    /// group lie in batches of `k_1 + k_2 + ... = k` of them, and Gaussian noise hides `sum k_i^2 <= k^2`. An added record
    /// changes the number of batches, or which record is left over, so add-remove neighbours have no bound here.
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
    /// A batch of fixed size from each stratum (k-end neighbours).
    ///
    /// The largest rate of a stratum counts (Rodriguez-Vitores et al. 2025, arXiv 2502.01701, lemma 5.2).
    #[serde(rename = "k_end_groups")]
    Stratified {
        /// The strata, at least one.
        #[serde(rename = "groups")]
        strata: Vec<Stratum>,
    },
}

impl BatchDistribution {
    /// The sampling rate in (0, 1]: for strata their largest one, for a shuffled epoch 1.
    ///
    /// # Errors
    /// [`AccountingError::OutOfRange`] for a rate outside (0, 1] or an empty list of strata; [`AccountingError::Batch`] for a
    /// batch that is empty or larger than the records that it is sampled from.
    pub fn rate(&self) -> Result<f64> {
        let rate_of = |records: u64, batch: u64| {
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
            Self::WithoutReplacement { records, batch } => rate_of(*records, *batch),
            Self::WithoutReplacementRate { rate }
            | Self::Poisson { rate }
            | Self::PoissonZeroOut { rate } => checked_rate(*rate),
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
                checked_rate(*rate)?;
                check("records", *records as f64, *records > 0, "at least 1")?;
                check("largest batch", *largest as f64, *largest > 0, "at least 1")?;
                Ok(*rate)
            }
            Self::Stratified { strata } => {
                let mut largest = 0.0_f64;
                for stratum in strata {
                    largest = largest.max(rate_of(stratum.records, stratum.batch)?);
                }
                check("number of strata", 0.0, !strata.is_empty(), "at least 1")?;
                Ok(largest)
            }
        }
    }

    /// The neighbour relation under which this sampler amplifies.
    pub fn neighbours(&self) -> Neighbours {
        match self {
            Self::WithoutReplacement { .. }
            | Self::WithoutReplacementRate { .. }
            | Self::ShuffledUpper { zero_out: false } => Neighbours::ReplaceOne,
            Self::Poisson { .. } => Neighbours::AddRemove,
            Self::PoissonZeroOut { .. }
            | Self::PoissonTruncated { .. }
            | Self::RandomAllocation { .. }
            | Self::ShuffledUpper { zero_out: true } => Neighbours::ZeroOut,
            Self::Stratified { .. } => Neighbours::KEnd,
        }
    }

    pub(crate) fn is_poisson(&self) -> bool {
        matches!(
            self,
            Self::Poisson { .. } | Self::PoissonZeroOut { .. } | Self::PoissonTruncated { .. }
        )
    }

    /// The probability, rounded up, that a batch is cut for neighbours that differ in `differing` records.
    pub(crate) fn failure(&self, differing: u64) -> f64 {
        let Self::PoissonTruncated {
            records,
            rate,
            largest,
        } = *self
        else {
            return 0.0;
        };
        if largest < differing {
            return 1.0;
        }
        let shared = records.saturating_sub(differing);
        (upper_tail(largest - differing + 1, shared, rate) * (1.0 + TAIL_ROUNDING)).min(1.0)
    }
}

fn checked_rate(rate: f64) -> Result<f64> {
    check("rate", rate, rate > 0.0 && rate <= 1.0, "in (0, 1]").map(|()| rate)
}
