//! Events, samplers and distributions of numbers of runs in words, for pages and messages.

use super::{BatchDistribution, Event, RepetitionDistribution};
use crate::decimal::{nearest, upper};

/// Significant digits of a number that need not be rounded to one side.
const DIGITS: usize = 5;

impl Event {
    /// A short description of the event, without its noise multiplier.
    ///
    /// ```
    /// use dp_accountant::accounting::Event;
    ///
    /// let steps = Event::dp_sgd(60_000, 600, 5_000, 0.76);
    /// assert_eq!(
    ///     steps.words(),
    ///     "5000 times Gaussian noise on batches of 600 of 60000 records, without replacement"
    /// );
    /// ```
    pub fn words(&self) -> String {
        match self {
            Self::Gaussian { .. } => "Gaussian noise".into(),
            Self::DiscreteGaussian { .. } => "discrete Gaussian noise".into(),
            Self::CorrelatedGaussian {
                bandwidth, steps, ..
            } => format!("Gaussian noise on {steps} steps, correlated over {bandwidth} of them"),
            Self::Laplace { .. } => "Laplace noise".into(),
            Self::Sampled { sampler, event } => {
                format!("{} on {}", event.words(), sampler.words())
            }
            Self::SelfComposed { event, count } => format!("{count} times {}", event.words()),
            Self::Composed { events } => list(events, ", then "),
            Self::Parallel { partition, events } => {
                format!("in parallel over {partition}: {}", list(events, "; "))
            }
            Self::Selected { runs, events } => format!(
                "the best of a random number of runs ({}), each {}",
                runs.words(),
                list(events, ", or ")
            ),
            Self::Failure { delta } => format!("a failure of probability {}", upper(*delta)),
            Self::ExponentialMechanism { epsilon } => {
                format!("an exponential mechanism of epsilon {}", upper(*epsilon))
            }
            Self::Pure { epsilon } => format!("a release of epsilon {}", upper(*epsilon)),
            Self::Zcdp { rho } => format!("a release of zCDP with rho {}", upper(*rho)),
            Self::Group { records, event } => {
                format!("for groups of {records} records, {}", event.words())
            }
            Self::NonPrivate => "no noise".into(),
        }
    }
}

impl BatchDistribution {
    /// A short description of the batches that an event sees.
    pub fn words(&self) -> String {
        match self {
            Self::WithoutReplacement { records, batch } => {
                format!("batches of {batch} of {records} records, without replacement")
            }
            Self::WithoutReplacementRate { rate } => {
                let share = nearest(*rate, DIGITS);
                format!("batches of a share of {share}, without replacement")
            }
            Self::Poisson { rate } | Self::PoissonZeroOut { rate } => {
                format!("Poisson samples at rate {}", nearest(*rate, DIGITS))
            }
            Self::PoissonTruncated { rate, largest, .. } => format!(
                "Poisson samples at rate {}, of at most {largest} records",
                nearest(*rate, DIGITS)
            ),
            Self::RandomAllocation { steps } => {
                format!("batches of an epoch of {steps}, to which records are dealt")
            }
            Self::ShuffledUpper { .. } => "batches of a shuffled epoch".into(),
            Self::Stratified { strata } => format!(
                "batches of {} of {} records, a fixed number from each of {} strata",
                strata.iter().map(|stratum| stratum.batch).sum::<u64>(),
                strata.iter().map(|stratum| stratum.records).sum::<u64>(),
                strata.len()
            ),
        }
    }
}

impl RepetitionDistribution {
    /// A short description of the distribution, with its mean.
    pub fn words(&self) -> String {
        let mean = nearest(self.mean(), DIGITS);
        match self {
            Self::NegativeBinomial { shape, .. } => format!(
                "truncated negative binomial law of shape {}, mean {mean}",
                nearest(*shape, DIGITS)
            ),
            Self::Poisson { .. } => format!("Poisson law, mean {mean}"),
        }
    }
}

fn list(events: &[Event], between: &str) -> String {
    let words: Vec<String> = events.iter().map(Event::words).collect();
    match &words[..] {
        [] => "nothing".into(),
        // Long lists, one event a class, are mostly the same event.
        [first, _, ..] if words.iter().all(|other| other == first) => {
            format!("{} times {first}", words.len())
        }
        _ => words.join(between),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::Stratum;

    const HALF: f64 = 0.5;

    fn gaussian() -> Event {
        Event::Gaussian {
            noise_multiplier: HALF,
        }
    }

    fn events() -> Vec<Event> {
        let (partition, runs) = (
            "classes".into(),
            RepetitionDistribution::Poisson { mean: 5.0 },
        );
        let correlated = Event::CorrelatedGaussian {
            noise_multiplier: 9.0,
            bandwidth: 16,
            steps: 200,
            separation: 100,
            participations: 2,
        };
        let failing = vec![gaussian(), Event::Failure { delta: 1e-7 }];
        let all = [
            gaussian(),
            Event::DiscreteGaussian {
                noise_multiplier: HALF,
            },
            correlated,
            Event::Laplace {
                noise_multiplier: HALF,
            },
            Event::dp_sgd(60_000, 600, 10, HALF),
            Event::Composed { events: failing },
            Event::Parallel {
                partition,
                events: vec![gaussian(); 10],
            },
            Event::Selected {
                runs,
                events: vec![gaussian()],
            },
            Event::ExponentialMechanism { epsilon: 0.25 },
            Event::Pure { epsilon: 0.5 },
            Event::Zcdp { rho: 0.125 },
            gaussian().of_groups(8),
            Event::NonPrivate,
        ];
        let sampled = samplers().map(|sampler| gaussian().sampled(sampler));
        all.into_iter().chain(sampled).collect()
    }

    fn samplers() -> [BatchDistribution; 8] {
        let stratum = |(records, batch)| Stratum { records, batch };
        let strata = [(10, 2), (20, 3)].map(stratum).into();
        let (records, batch, rate, largest) = (100, 10, 0.1, 20);
        [
            BatchDistribution::WithoutReplacement { records, batch },
            BatchDistribution::WithoutReplacementRate { rate },
            BatchDistribution::Poisson { rate },
            BatchDistribution::PoissonZeroOut { rate },
            BatchDistribution::PoissonTruncated {
                records,
                rate,
                largest,
            },
            BatchDistribution::RandomAllocation { steps: 50 },
            BatchDistribution::ShuffledUpper { zero_out: true },
            BatchDistribution::Stratified { strata },
        ]
    }

    #[test]
    fn every_event_reads() {
        let words: Vec<String> = events().iter().map(Event::words).collect();
        for said in &words {
            let written = said.contains(['{', '"', '_']) || said.is_empty();
            assert!(!written, "{said}");
        }
        for said in [
            "10 times Gaussian noise on batches of 600 of 60000 records, without replacement",
            "Gaussian noise on 200 steps, correlated over 16 of them",
            "Gaussian noise, then a failure of probability 1e-7",
            "in parallel over classes: 10 times Gaussian noise",
            "the best of a random number of runs (Poisson law, mean 5), each Gaussian noise",
            "an exponential mechanism of epsilon 0.25",
            "a release of zCDP with rho 0.125",
            "for groups of 8 records, Gaussian noise",
            "Gaussian noise on Poisson samples at rate 0.1, of at most 20 records",
            "Gaussian noise on batches of 5 of 30 records, a fixed number from each of 2 strata",
        ] {
            assert!(words.iter().any(|all| all == said), "{said}: {words:#?}");
        }
        let nothing = Event::Composed { events: Vec::new() };
        assert_eq!(nothing.words(), "nothing");
    }
}
