//! From flags to an event.

use std::str::FromStr;

use clap::{Args, ValueEnum};
use dp_accountant::accounting::{BatchDistribution, Event, Neighbours, Stratum};
use reporting::diagnostic::Failure;

/// How batches are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SamplerName {
    /// Fixed size without replacement; replace-one neighbours, k-end with `--stratum`.
    WithoutReplacement,
    /// Each record independently; zero-out neighbours, or add-remove with a public --rate.
    Poisson,
    /// Batches of a fresh order of all records in each epoch; replace-one or zero-out neighbours. Nothing is amplified.
    Shuffled,
    /// Every step sees every record.
    None,
}

/// The distribution of the noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MechanismName {
    /// Gaussian, against the L2 sensitivity.
    Gaussian,
    /// Laplace, against the L1 sensitivity.
    Laplace,
}

/// Neighbour relations by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NeighboursName {
    /// One record is replaced.
    ReplaceOne,
    /// One record is added or removed.
    AddRemove,
    /// One record counts or is blank; the number of records is public.
    ZeroOut,
    /// One record is replaced within its stratum.
    KEnd,
}

/// A stratum as `RECORDS:BATCH`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StratumFlag(Stratum);

impl FromStr for StratumFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (records, batch) = text
            .split_once(':')
            .ok_or_else(|| format!("{text:?} is not of the form RECORDS:BATCH"))?;
        let number = |text: &str| {
            text.parse()
                .map_err(|_| format!("{text:?} is not a whole number"))
        };
        Ok(Self(Stratum {
            records: number(records)?,
            batch: number(batch)?,
        }))
    }
}

/// The mechanism of one step.
#[derive(Debug, Args)]
pub struct MechanismFlags {
    /// How batches are sampled.
    #[arg(long, value_enum, default_value_t = SamplerName::WithoutReplacement)]
    pub sampler: SamplerName,
    /// Records in the data set.
    #[arg(long)]
    pub records: Option<u64>,
    /// Records in a batch.
    #[arg(long)]
    pub batch: Option<u64>,
    /// Sampling rate, instead of `--records` and `--batch`.
    #[arg(long, conflicts_with_all = ["batch", "stratum"])]
    pub rate: Option<f64>,
    /// A public stratum of the records as RECORDS:BATCH; once for each stratum. Neighbours are k-end.
    #[arg(long, conflicts_with_all = ["batch", "records"])]
    pub stratum: Vec<StratumFlag>,
    /// The distribution of the noise.
    #[arg(long, value_enum, default_value_t = MechanismName::Gaussian)]
    pub mechanism: MechanismName,
    /// The neighbour relation that is wanted; refused if the sampler does not give it.
    #[arg(long, value_enum)]
    pub neighbours: Option<NeighboursName>,
}

impl MechanismFlags {
    /// `steps` steps with this noise multiplier.
    pub fn event(&self, noise_multiplier: f64, steps: u64) -> Result<Event, Failure> {
        let sampler = self.sampler()?;
        Ok(self.event_with(sampler, self.batch, noise_multiplier, steps))
    }

    /// The same, on batches of another size.
    pub fn event_of_batch(&self, batch: u64, noise_multiplier: f64, steps: u64) -> Event {
        let records = self.records.unwrap_or(batch);
        let sampler = match self.sampler {
            SamplerName::Poisson => BatchDistribution::PoissonZeroOut {
                rate: (batch as f64 / records as f64).min(1.0),
            },
            SamplerName::Shuffled => self.shuffled(),
            _ => BatchDistribution::WithoutReplacement { records, batch },
        };
        self.event_with(Some(sampler), Some(batch), noise_multiplier, steps)
    }

    fn shuffled(&self) -> BatchDistribution {
        let zero_out = self.neighbours == Some(NeighboursName::ZeroOut);
        BatchDistribution::ShuffledUpper { zero_out }
    }

    fn event_with(
        &self,
        sampler: Option<BatchDistribution>,
        batch: Option<u64>,
        noise_multiplier: f64,
        steps: u64,
    ) -> Event {
        // A shuffled epoch is one event, and a part of one too.
        let count = match (&sampler, self.records.zip(batch)) {
            (Some(BatchDistribution::ShuffledUpper { .. }), Some((records, batch))) => {
                steps.div_ceil((records / batch).max(1))
            }
            _ => steps,
        };
        let step = match self.mechanism {
            MechanismName::Gaussian => Event::Gaussian { noise_multiplier },
            MechanismName::Laplace => Event::Laplace { noise_multiplier },
        };
        match sampler {
            Some(sampler) => step.sampled(sampler),
            None => step,
        }
        .repeated(count)
    }

    /// The sampler, `None` where every step sees every record.
    pub fn sampler(&self) -> Result<Option<BatchDistribution>, Failure> {
        let sampler = match (self.sampler, self.rate, self.records, self.batch) {
            (SamplerName::None, None, _, None) if self.stratum.is_empty() => None,
            (SamplerName::None, ..) => {
                return Err(Failure::input(
                    "--sampler none sees every record, but a batch, rate or stratum was given",
                    "leave --batch, --rate and --stratum out, or name the sampler",
                ));
            }
            (SamplerName::WithoutReplacement, ..) if !self.stratum.is_empty() => {
                let strata = self.stratum.iter().map(|stratum| stratum.0).collect();
                Some(BatchDistribution::Stratified { strata })
            }
            (SamplerName::Poisson | SamplerName::Shuffled, ..) if !self.stratum.is_empty() => {
                return Err(Failure::input(
                    "--stratum is for --sampler without-replacement",
                    "Poisson samples have one --rate, and shuffled batches one size",
                ));
            }
            (SamplerName::Shuffled, rate, ..) if rate.is_some() || self.batch.is_none() => {
                return Err(Failure::input(
                    "shuffled batches have a size: how many of them are in an epoch is what counts",
                    "give --records and --batch",
                ));
            }
            (SamplerName::WithoutReplacement, Some(rate), ..) => {
                Some(BatchDistribution::WithoutReplacementRate { rate })
            }
            // A rate by itself says nothing of how many records there are.
            (SamplerName::Poisson, Some(rate), ..) => Some(match self.neighbours {
                Some(NeighboursName::ZeroOut) => BatchDistribution::PoissonZeroOut { rate },
                _ => BatchDistribution::Poisson { rate },
            }),
            (name, None, Some(records), Some(batch)) => {
                if batch == 0 || batch > records {
                    return Err(Failure::input(
                        format!(
                            "--batch is {batch}, but must be between 1 and the {records} of --records"
                        ),
                        "a batch is sampled from the records without replacement",
                    ));
                }
                Some(match name {
                    SamplerName::Poisson => BatchDistribution::PoissonZeroOut {
                        rate: (batch as f64 / records as f64).next_up().min(1.0),
                    },
                    SamplerName::Shuffled => self.shuffled(),
                    _ => BatchDistribution::WithoutReplacement { records, batch },
                })
            }
            _ => {
                return Err(Failure::input(
                    "the sampling rate is not known",
                    "give --records and --batch, or --rate, or --sampler none",
                ));
            }
        };
        self.check_neighbours(sampler.as_ref())?;
        Ok(sampler)
    }

    fn check_neighbours(&self, sampler: Option<&BatchDistribution>) -> Result<(), Failure> {
        let (Some(wanted), Some(sampler)) = (self.neighbours, sampler) else {
            return Ok(());
        };
        let wanted = wanted.into();
        let given = sampler.neighbours();
        // What holds when a record is replaced holds when it is replaced within its group.
        if wanted == given || (wanted, given) == (Neighbours::KEnd, Neighbours::ReplaceOne) {
            return Ok(());
        }
        Err(Failure::input(
            format!("--neighbours {wanted} is not what this sampler gives: {given}"),
            "without-replacement gives replace-one (k-end with --stratum); poisson gives zero-out of --records and \
             --batch, which make their number public, and add-remove or zero-out by --rate; shuffled gives replace-one or \
             zero-out, because a record more changes the number of batches or which record is left over",
        ))
    }

    /// The neighbour relation of the answer, in words.
    pub fn neighbours(&self, event: &Event) -> String {
        match (event.neighbours(), self.neighbours) {
            (_, Some(wanted)) => Neighbours::from(wanted).to_string(),
            (Ok(Some(given)), None) => given.to_string(),
            _ => "those of the sensitivity".into(),
        }
    }
}

impl From<NeighboursName> for Neighbours {
    fn from(name: NeighboursName) -> Self {
        match name {
            NeighboursName::ReplaceOne => Self::ReplaceOne,
            NeighboursName::AddRemove => Self::AddRemove,
            NeighboursName::ZeroOut => Self::ZeroOut,
            NeighboursName::KEnd => Self::KEnd,
        }
    }
}
