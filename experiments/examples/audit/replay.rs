//! Record and replay: two runs on neighbours with the same randomness, release by release.

use std::fmt;

use dp_core::accounting::{BatchDistribution, Event};
use dp_core::ledger::LedgerEntry;

/// One release as it was made: what a ledger does not hold, which is **private**, beside what it declares.
#[derive(Clone, PartialEq)]
pub(super) struct Recorded {
    /// What is declared of it: event, sensitivity, deviation.
    pub(super) declared: LedgerEntry,
    /// The values before their noise.
    pub(super) input: Vec<f64>,
    /// The noise: what left, less the input.
    pub(super) noise: Vec<f64>,
    /// The records that it is of, where they were sampled.
    pub(super) batch: Option<Vec<usize>>,
}

impl std::fmt::Debug for Recorded {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Recorded");
        shown.field("declared", &self.declared);
        shown.finish_non_exhaustive()
    }
}

/// All that left in a run, recorded.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Recording {
    /// The releases, in their order.
    pub(super) releases: Vec<Recorded>,
    /// What left without a mechanism, by name: settings, slices, weights before the first step.
    pub(super) public: Vec<(String, Vec<f64>)>,
    /// What the ledger holds in the end.
    pub(super) ledger: Vec<LedgerEntry>,
}

/// What is wrong with a run, or with a pair of runs.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AuditFinding {
    /// What reached the mechanism differs by more than is declared.
    Moved {
        /// The number of the release, from 0 on.
        release: usize,
        /// The distance, in L2, or in L1 for Laplace noise.
        distance: f64,
        /// The declared sensitivity.
        declared: f64,
    },
    /// A sensitivity, an event or a number of values that is not the same for neighbours, or is not declared.
    Declared {
        /// The number of the release.
        release: usize,
    },
    /// Neighbours do not make the same number of releases.
    Number {
        /// Of the run.
        here: usize,
        /// Of its neighbour.
        there: usize,
    },
    /// What leaves without noise depends on the record.
    Public {
        /// Its name.
        name: String,
    },
    /// The ledger holds another number of releases than were made.
    Ledger {
        /// How many were made.
        made: u64,
        /// How many it holds.
        held: u64,
    },
    /// There is less noise than the event says.
    Noise {
        /// Its root mean square over the declared deviation.
        share: f64,
    },
    /// Two releases of different values have the same noise.
    NoiseTwice {
        /// The first of them.
        first: usize,
        /// The second.
        second: usize,
    },
    /// This release has one line of the ledger with others, as steps with correlated noise have: nothing here
    /// checks them.
    Unchecked {
        /// The number of the release.
        release: usize,
    },
    /// The batches are not sampled as the event says.
    Batches {
        /// How they differ from that.
        how: &'static str,
    },
}

impl fmt::Display for AuditFinding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Moved {
                release,
                distance,
                declared,
            } => write!(
                out,
                "release {release}: neighbours are {distance:.4} apart, and {declared:.4} is declared"
            ),
            Self::Declared { release } => {
                write!(
                    out,
                    "release {release}: what is declared of it depends on the record, or is missing"
                )
            }
            Self::Number { here, there } => {
                write!(out, "{here} releases, and {there} for a neighbour")
            }
            Self::Public { name } => write!(
                out,
                "{name}: it leaves without noise and depends on the record"
            ),
            Self::Ledger { made, held } => write!(
                out,
                "{made} releases were made, and the ledger holds {held}"
            ),
            Self::Noise { share } => write!(out, "the noise is {share:.3} times what is declared"),
            Self::NoiseTwice { first, second } => {
                write!(
                    out,
                    "releases {first} and {second}: other values, the same noise"
                )
            }
            Self::Unchecked { release } => write!(
                out,
                "release {release}: this audit does not check steps that have one line of the ledger together"
            ),
            Self::Batches { how } => write!(out, "batches: {how}"),
        }
    }
}

/// Two noises are taken for one where no value differs by as many deviations.
const SAME: f64 = 1e-3;
/// What rounding to `f32` on the way may add to a distance, against the declared sensitivity.
const ROUNDING: f64 = 1e-6;

impl Recording {
    /// What is wrong with this run alone.
    ///
    /// - `false_alarm`: the probability, at most, with which a fault is found in a run that has none. Only noise and
    ///   batches are random; that of noise is Chernoff's: of `d` squares of Gaussian noise of deviation 1 the mean is
    ///   at most `x < 1` with a probability of at most `(x exp(1 - x))^(d/2)`.
    pub(super) fn faults(&self, false_alarm: f64) -> Vec<AuditFinding> {
        let mut faults = Vec::new();
        let count = |entries: &mut dyn Iterator<Item = &LedgerEntry>| {
            entries.fold(0_u64, |sum, entry| sum.saturating_add(entry.count))
        };
        let made = count(&mut self.releases.iter().map(|release| &release.declared));
        let held = count(&mut self.ledger.iter());
        if made != held {
            faults.push(AuditFinding::Ledger { made, held });
        }
        let one_line =
            |release: &Recorded| matches!(release.declared.event, Event::CorrelatedGaussian { .. });
        faults.extend(
            (self.releases.iter().position(one_line))
                .map(|release| AuditFinding::Unchecked { release }),
        );
        faults.extend(self.noise(false_alarm / 3.0));
        faults.extend(self.noise_twice(false_alarm / 3.0));
        faults.extend(self.batches(false_alarm / 3.0));
        faults
    }

    /// What is wrong with this run and that of a neighbour, with the same randomness and, from its second release on,
    /// with what left this run in place of its own: everything public is then the same in both.
    pub(super) fn against(&self, neighbour: &Self) -> Vec<AuditFinding> {
        let mut faults = Vec::new();
        let (here, there) = (self.releases.len(), neighbour.releases.len());
        if here != there {
            faults.push(AuditFinding::Number { here, there });
        }
        for (name, values) in &self.public {
            if !neighbour
                .public
                .iter()
                .any(|(other, same)| other == name && same == values)
            {
                faults.push(AuditFinding::Public { name: name.clone() });
            }
        }
        for (release, (a, b)) in self.releases.iter().zip(&neighbour.releases).enumerate() {
            let declared = a.declared.sensitivity.filter(|_| a.declared == b.declared);
            let Some(declared) = declared.filter(|_| a.input.len() == b.input.len()) else {
                faults.push(AuditFinding::Declared { release });
                continue;
            };
            let apart = a.input.iter().zip(&b.input).map(|(a, b)| (a - b).abs());
            let distance = match mechanism(&a.declared.event) {
                Event::Laplace { .. } => apart.sum(),
                _ => apart.map(|apart| apart * apart).sum::<f64>().sqrt(),
            };
            // Not below for what is not a number, too.
            if distance.is_nan() || distance > declared * (1.0 + ROUNDING) {
                faults.push(AuditFinding::Moved {
                    release,
                    distance,
                    declared,
                });
            }
        }
        faults
    }

    /// Noise in units of the deviation that its event and sensitivity ask for; of Gaussian releases.
    fn normal(&self) -> Vec<(usize, Vec<f64>)> {
        let all = self.releases.iter().enumerate();
        let normal = all.filter_map(|(place, release)| {
            let Event::Gaussian { noise_multiplier } = mechanism(&release.declared.event) else {
                return None;
            };
            let deviation = noise_multiplier * release.declared.sensitivity?;
            Some((
                place,
                release
                    .noise
                    .iter()
                    .map(|noise| noise / deviation)
                    .collect(),
            ))
        });
        normal.collect()
    }

    fn noise(&self, rate: f64) -> Option<AuditFinding> {
        let all: Vec<f64> = self
            .normal()
            .into_iter()
            .flat_map(|(_, noise)| noise)
            .collect();
        let (d, squares) = (all.len() as f64, all.iter().map(|z| z * z).sum::<f64>());
        let mean = squares / d;
        let chance = (0.5 * d * (1.0 - mean + mean.ln())).exp();
        let less = d > 0.0 && mean < 1.0 && chance <= rate;
        less.then_some(AuditFinding::Noise { share: mean.sqrt() })
    }

    /// Two normal values are within `t` deviations with a probability of at most `t / sqrt(pi)`.
    fn noise_twice(&self, rate: f64) -> Option<AuditFinding> {
        let all = self.normal();
        let pairs = (all.len() * all.len()) as f64 / 2.0;
        for (index, (first, a)) in all.iter().enumerate() {
            for (second, b) in &all[index + 1..] {
                let same = a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < SAME);
                let inputs = [first, second].map(|place| &self.releases[*place].input);
                let chance = pairs * (SAME / std::f64::consts::PI.sqrt()).powf(a.len() as f64);
                if same && inputs[0] != inputs[1] && chance <= rate {
                    let (first, second) = (*first, *second);
                    return Some(AuditFinding::NoiseTwice { first, second });
                }
            }
        }
        None
    }

    fn batches(&self, rate: f64) -> Option<AuditFinding> {
        let sampled: Vec<(&Vec<usize>, &BatchDistribution)> = self
            .releases
            .iter()
            .filter_map(|release| match &release.declared.event {
                Event::Sampled { sampler, .. } => Some((release.batch.as_ref()?, sampler)),
                _ => None,
            })
            .collect();
        let (first, sampler) = sampled.first()?;
        let others = sampled.len() as f64 - 1.0;
        let fault = |how| Some(AuditFinding::Batches { how });
        match sampler {
            BatchDistribution::WithoutReplacement { records, batch } => {
                if sampled
                    .iter()
                    .any(|(sampled, _)| sampled.len() as u64 != *batch)
                {
                    return fault("their size is not the one that is declared");
                }
                // All like the first: each with one chance in as many as there are batches.
                let chance = (-others * log_choose(*records, *batch)).exp();
                let set = |batch: &[usize]| {
                    let mut sorted = batch.to_vec();
                    sorted.sort_unstable();
                    sorted
                };
                let one = set(first);
                let fixed = sampled.iter().all(|(sampled, _)| set(sampled) == one);
                (fixed && chance <= rate).then_some(AuditFinding::Batches {
                    how: "all steps have the same one",
                })
            }
            BatchDistribution::Poisson { rate: p }
            | BatchDistribution::PoissonZeroOut { rate: p } => {
                // Sizes are binomial, of at least as many records as are seen; the more there are, the less likely is
                // the likeliest size, which all others would have to be.
                let size = first.len();
                let equal = sampled.iter().all(|(sampled, _)| sampled.len() == size);
                let seen = sampled
                    .iter()
                    .filter_map(|(sampled, _)| sampled.iter().max());
                let n = seen.max().map_or(1, |most| *most as u64 + 1);
                let k = (((n + 1) as f64 * p).floor() as u64).min(n);
                let log = log_choose(n, k) + k as f64 * p.ln() + (n - k) as f64 * (-p).ln_1p();
                let chance = if *p < 1.0 { (others * log).exp() } else { 1.0 };
                (equal && chance <= rate).then_some(AuditFinding::Batches {
                    how: "they are of one size, and a Poisson sample's is random",
                })
            }
            _ => None,
        }
    }
}

/// The mechanism below samplers.
fn mechanism(event: &Event) -> &Event {
    match event {
        Event::Sampled { event, .. } => mechanism(event),
        Event::SelfComposed { event, .. } => mechanism(event),
        other => other,
    }
}

/// `ln(n choose k)`.
fn log_choose(n: u64, k: u64) -> f64 {
    let terms = (0..k.min(n - k.min(n))).map(|i| ((n - i) as f64 / (i + 1) as f64).ln());
    terms.sum()
}

#[cfg(test)]
mod tests {
    use rand::seq::index::sample;
    use rand::{Rng, RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use dp_core::accounting::Neighbours;

    const RECORDS: usize = 40;
    const BATCH: usize = 10;
    const FALSE_ALARM: f64 = 1e-6;

    /// Sums of clipped records in batches, with Gaussian noise: of records of norm at most 1 in three dimensions.
    fn run(records: &[[f64; 3]], sampler: BatchDistribution, seed: u64) -> Recording {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut recording = Recording::default();
        for _ in 0..30 {
            let batch: Vec<usize> = match &sampler {
                BatchDistribution::Poisson { rate } => {
                    (0..RECORDS).filter(|_| rng.random_bool(*rate)).collect()
                }
                _ => sample(&mut rng, RECORDS, BATCH).into_vec(),
            };
            let event = gaussian().sampled(sampler.clone());
            let declared = LedgerEntry {
                event,
                count: 1,
                neighbours: Neighbours::ReplaceOne,
                sensitivity: Some(2.0),
                deviation: Some(4.0),
                secret_noise: false,
                mechanism: None,
            };
            let sum = |k: usize| batch.iter().map(|i| records[*i][k]).sum::<f64>();
            recording.releases.push(Recorded {
                input: (0..3).map(sum).collect(),
                noise: (0..3).map(|_| 4.0 * normal(&mut rng)).collect(),
                batch: Some(batch),
                declared: declared.clone(),
            });
            recording.ledger.push(declared);
        }
        recording
    }

    fn gaussian() -> Event {
        Event::Gaussian {
            noise_multiplier: 2.0,
        }
    }

    /// Box and Muller.
    fn normal(rng: &mut impl Rng) -> f64 {
        let (u, v): (f64, f64) = (rng.random(), rng.random());
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    fn fixed() -> BatchDistribution {
        BatchDistribution::WithoutReplacement {
            records: RECORDS as u64,
            batch: BATCH as u64,
        }
    }

    fn pair(sampler: BatchDistribution, seed: u64) -> [Recording; 2] {
        let mut records: [[f64; 3]; RECORDS] =
            std::array::from_fn(|i| [0.6, -0.6, 0.01 * i as f64]);
        let here = run(&records, sampler.clone(), seed);
        records[7] = [-0.6, 0.6, -0.5];
        [here, run(&records, sampler, seed)]
    }

    /// A hundred pairs; the false-alarm rate of each is one in a million.
    #[test]
    fn what_keeps_its_word_has_no_fault() {
        for seed in 0..100 {
            for sampler in [fixed(), BatchDistribution::Poisson { rate: 0.25 }] {
                let [here, there] = pair(sampler, seed);
                assert_eq!(here.faults(FALSE_ALARM), []);
                assert_eq!(here.against(&there), []);
            }
        }
    }

    #[test]
    fn every_fault_is_found() {
        let only = |faults: Vec<AuditFinding>, wanted: fn(&AuditFinding) -> bool| {
            assert!(
                !faults.is_empty() && faults.iter().all(wanted),
                "{faults:?}"
            );
            assert!(!faults[0].to_string().is_empty());
        };
        let [here, there] = pair(fixed(), 3);
        let changed = |change: &dyn Fn(&mut Recording)| {
            let mut other = there.clone();
            change(&mut other);
            here.against(&other)
        };
        let moved = |fault: &AuditFinding| matches!(fault, AuditFinding::Moved { release: 4, .. });
        for by in [3.0, f64::NAN] {
            only(changed(&|other| other.releases[4].input[0] += by), moved);
        }
        let fewer = changed(&|other| other.releases[4].declared.sensitivity = Some(1.9));
        only(fewer, |fault| {
            matches!(fault, AuditFinding::Declared { release: 4 })
        });
        let short = changed(&|other| drop(other.releases.pop()));
        only(short, |fault| {
            matches!(
                fault,
                AuditFinding::Number {
                    here: 30,
                    there: 29
                }
            )
        });
        let mut public = here.clone();
        public.public.push(("weights".into(), vec![1.0]));
        only(public.against(&there), |fault| {
            matches!(fault, AuditFinding::Public { .. })
        });

        let alone = |change: &dyn Fn(&mut Recording)| {
            let mut other = here.clone();
            change(&mut other);
            other.faults(FALSE_ALARM)
        };
        let held = alone(&|run| drop(run.ledger.pop()));
        only(held, |fault| {
            matches!(fault, AuditFinding::Ledger { made: 30, held: 29 })
        });
        let halve = |release: &mut Recorded| release.noise.iter_mut().for_each(|x| *x /= 2.0);
        let less = alone(&|run| run.releases.iter_mut().for_each(halve));
        only(less, |fault| matches!(fault, AuditFinding::Noise { .. }));
        let again = alone(&|run| run.releases[9].noise = run.releases[2].noise.clone());
        only(again, |fault| {
            matches!(
                fault,
                AuditFinding::NoiseTwice {
                    first: 2,
                    second: 9
                }
            )
        });
        let one = here.releases[0].batch.clone();
        let batches = |fault: &AuditFinding| matches!(fault, AuditFinding::Batches { .. });
        only(
            alone(&|run| run.releases.iter_mut().for_each(|r| r.batch = one.clone())),
            batches,
        );
        let correlated = Event::CorrelatedGaussian {
            noise_multiplier: 2.0,
            bandwidth: 2,
            steps: 30,
            separation: 4,
            participations: 8,
        };
        let other = alone(&|run| run.releases[6].declared.event = correlated.clone());
        only(other, |fault| {
            matches!(fault, AuditFinding::Unchecked { release: 6 })
        });
        let poisson = gaussian().sampled(BatchDistribution::Poisson { rate: 0.25 });
        let declared = |release: &mut Recorded| release.declared.event = poisson.clone();
        only(
            alone(&|run| run.releases.iter_mut().for_each(declared)),
            batches,
        );
    }

    /// The noise that a fault is found in with one chance in a hundred is found in no more: 2000 runs, and a bound of
    /// six standard deviations.
    #[test]
    fn noise_is_blamed_no_more_often_than_stated() {
        let found = (0..2000).filter(|seed| {
            let [here, _] = pair(fixed(), *seed);
            !here.faults(0.01).is_empty()
        });
        let found = found.count();
        assert!(found <= 20 + 27, "{found}");
    }
}
