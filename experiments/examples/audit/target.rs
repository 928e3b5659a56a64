//! The mechanism under attack: a plan, its releaser, its ledger, run after run.

use burn::module::ParamId;
use burn::tensor::Device;
use dp_core::DpError;
use dp_core::accounting::Event;
use dp_core::ledger::Ledger;
use dp_core::mechanism::{BoundedGradient, NoiseSource, ParameterGradient, Releaser, Sensitivity};
use dp_core::per_sample::ParameterSlot;
use dp_core::plan::{CheckedPlan, TrainingPlan};
use dp_core::sampling::Sampler;
use lab::diagnostic::{Failure, OrFailed};

use super::Arguments;
use super::final_model::FinalModel;

/// What is attacked: releases of a sum of gradients, with Gaussian noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Mechanism {
    /// Of all records.
    Gaussian,
    /// Of batches of fixed size, sampled without replacement: DP-SGD where a neighbour replaces a record.
    FixedSize,
    /// Of Poisson samples: DP-SGD where a neighbour lacks a record.
    Poisson,
    /// Trainings of the head of `sliver classify` on images, of which the last weights alone are seen.
    FinalModel,
    /// Whole trainings of a small network, recorded and replayed on neighbours: no noise hides what reaches it.
    Training,
}

/// A bug that is planted, to see that it is found: by --mechanism training, and the first three by the others too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Sabotage {
    /// Half of the noise: the sensitivity is declared at half of what the record moves.
    HalfNoise,
    /// Every release has new noise, and one of them is accounted for.
    AccountedOnce,
    /// The first batch is used in every step.
    FixedBatches,
    /// Gradients of records are not clipped.
    NoClip,
    /// The gradient of the batch is clipped in place of each record's.
    ClipByBatch,
    /// The sum of gradients gets the noise of their mean.
    MeanForSum,
    /// Ties are broken by what the records hold.
    UnstableTies,
    /// Batches of one size are accounted for as Poisson samples.
    PoissonForFixed,
    /// A release is left out of the ledger.
    DroppedLine,
    /// The mean is over a number of records that is read from the data.
    SizeFromData,
    /// Features are divided by the largest norm of the data.
    NormalisingByData,
    /// A run that is taken up again adds the noise of before to other values.
    ResumedNoise,
    /// The record is among those that the public side has seen.
    CanaryInPublic,
}

/// Runs of one mechanism.
pub(super) struct AuditedMechanism {
    mechanism: Mechanism,
    sampler: Sampler,
    rate: f64,
    delta: f64,
    steps: u64,
    planned: u64,
    sabotage: Option<Sabotage>,
    noise_seed: Option<u64>,
    noise_multiplier: f64,
    event: Event,
    made: u64,
    folder: tempfile::TempDir,
    images: Option<FinalModel>,
}

impl AuditedMechanism {
    pub(super) fn new(arguments: &Arguments) -> Result<Self, Failure> {
        let once = arguments.sabotage == Some(Sabotage::AccountedOnce);
        let planned = if once { 1 } else { arguments.steps };
        let images = match arguments.mechanism {
            Mechanism::FinalModel => Some(FinalModel::load(arguments)?),
            _ => None,
        };
        let full = [Mechanism::FinalModel, Mechanism::Gaussian];
        let all = full.contains(&arguments.mechanism);
        match arguments.sabotage {
            None => {}
            Some(Sabotage::HalfNoise) if images.is_none() => {}
            Some(Sabotage::AccountedOnce | Sabotage::FixedBatches) if arguments.steps < 2 => {
                let message = "--sabotage with --steps 1: with one release there is no such bug";
                return Err(Failure::input(message, "say --steps 4"));
            }
            Some(Sabotage::FixedBatches) if all => {
                let message =
                    "--sabotage fixed-batches with --mechanism gaussian: it draws no batches";
                return Err(Failure::input(message, "say --mechanism fixed-size"));
            }
            Some(Sabotage::AccountedOnce | Sabotage::FixedBatches) if images.is_none() => {}
            Some(_) => {
                let message = "--sabotage: this bug is one of trainings";
                return Err(Failure::input(message, "say --mechanism training"));
            }
        }
        let input = |error: DpError| Failure::input(error.to_string(), "claim another budget");
        let records = arguments.canaries as usize;
        let batch = ((arguments.rate * records as f64).round() as usize).clamp(1, records);
        let sampler: Sampler = match (arguments.mechanism, &images) {
            (_, Some(images)) => images.sampler().map_err(input)?,
            (Mechanism::Gaussian, _) => Sampler::all(records).map_err(input)?,
            (Mechanism::FixedSize, _) => Sampler::fixed_size(records, batch).map_err(input)?,
            // Trainings are replayed, with samplers of their own.
            _ => Sampler::poisson_zero_out(records, arguments.rate).map_err(input)?,
        };
        let plan =
            TrainingPlan::for_epsilon(arguments.epsilon, arguments.delta, planned, sampler.clone());
        let plan = plan.check().map_err(input)?;
        Ok(Self {
            mechanism: arguments.mechanism,
            sampler,
            rate: if all {
                1.0
            } else {
                batch as f64 / records as f64
            },
            delta: arguments.delta,
            steps: arguments.steps,
            planned,
            sabotage: arguments.sabotage,
            noise_seed: arguments.insecure_noise_seed,
            noise_multiplier: plan.noise_multiplier(),
            event: plan.step_event().clone(),
            made: 0,
            folder: tempfile::tempdir().or_failed()?,
            images,
        })
    }

    pub(super) fn noise_multiplier(&self) -> f64 {
        self.noise_multiplier
    }

    /// Everything that was planned, at another noise multiplier.
    pub(super) fn claimed(&self, noise_multiplier: f64) -> Event {
        let gaussian = Event::Gaussian { noise_multiplier };
        let step = match &self.event {
            Event::Sampled { sampler, .. } => gaussian.sampled(sampler.clone()),
            _ => gaussian,
        };
        step.repeated(self.planned)
    }

    /// The shift, in units of the noise, that the planned releases of all records leave of one.
    pub(super) fn mu(&self) -> Option<f64> {
        let all = self.sampler.distribution().is_none();
        all.then(|| (self.planned as f64).sqrt() / self.noise_multiplier)
    }

    /// Whether scores are normal: those of a trained model need not be, since its steps depend on each other.
    pub(super) fn normal(&self) -> bool {
        self.mu().is_some() && self.mechanism != Mechanism::FinalModel
    }

    /// What a record adds to a release, by its coin: `[1, 0]`, or `[1, -1]` where another record takes its place.
    fn adds(&self, coin: bool) -> f32 {
        match (coin, self.mechanism) {
            (true, _) => 1.0,
            (false, Mechanism::FixedSize | Mechanism::FinalModel) => -1.0,
            (false, _) => 0.0,
        }
    }

    /// Scores of one run: for each coordinate the logarithm of the likelihood ratio of its releases between both
    /// coins of its record, which an attacker who sees all releases can compute. It allows for batches that are sampled
    /// anew and for one batch in all steps alike.
    ///
    /// - `coins`: of the records `0..coins.len()`, each of which has a coordinate of its own. No other record adds
    ///   anything.
    pub(super) fn scores(&mut self, coins: &[bool]) -> Result<Vec<f64>, Failure> {
        match self.images.take() {
            None => self.released(coins).or_failed(),
            Some(images) => {
                let scores = coins
                    .iter()
                    .map(|&coin| self.trained(&images, coin))
                    .collect();
                self.images = Some(images);
                scores
            }
        }
    }

    /// The score of one training, with a ledger of its own.
    fn trained(&mut self, images: &FinalModel, coin: bool) -> Result<f64, Failure> {
        self.made += 1;
        let ledger = self.folder.path().join(format!("{}.jsonl", self.made));
        let releaser = self.releaser(0).or_failed()?;
        let score = images.score(self.adds(coin), releaser, &ledger);
        let _ = std::fs::remove_file(&ledger);
        score
    }

    fn released(&mut self, coins: &[bool]) -> Result<Vec<f64>, DpError> {
        self.made += 1;
        let path = self.folder.path().join(format!("{}.jsonl", self.made));
        let mut ledger = Ledger::create(&path)?;
        let (here, away) = (self.adds(true), self.adds(false));
        let declared = match self.sabotage {
            Some(Sabotage::HalfNoise) => 0.5,
            _ => 1.0,
        };
        let sensitivity = Sensitivity::l2(declared * f64::from(here - away))?;
        let slot = ParameterSlot {
            id: ParamId::new(),
            shape: vec![coins.len()],
        };
        let mut first_batch = None;
        let mut seen = vec![[Likelihood::default(); 2]; coins.len()];
        let mut releaser = self.releaser(0)?;
        for step in 0..self.steps {
            if releaser.step() == self.planned {
                releaser = self.releaser(step)?;
            }
            let draw = releaser.draw()?;
            let mut values = vec![0.0; coins.len()];
            if self.mechanism == Mechanism::Gaussian {
                // Coordinates may be more than records here: each is a run of its own.
                let all = coins.iter().map(|coin| self.adds(*coin));
                values = all.collect();
            } else {
                let fixed = self.sabotage == Some(Sabotage::FixedBatches);
                let batch = match &first_batch {
                    Some(first) if fixed => Vec::clone(first),
                    _ => draw.indices(),
                };
                first_batch.get_or_insert_with(|| batch.clone());
                for record in batch {
                    if let Some(coin) = coins.get(record) {
                        values[record] = self.adds(*coin);
                    }
                }
            }
            let gradient =
                ParameterGradient::from_host(vec![slot.clone()], &values, &Device::flex())?;
            let sizes = draw.sizes();
            let deviation = releaser.deviation(sensitivity);
            let bounded = BoundedGradient::new(gradient, sensitivity, &sizes, draw)?;
            let released = releaser.release(bounded, &mut ledger)?;
            for (seen, value) in seen.iter_mut().zip(released.gradient().to_host()) {
                for (seen, added) in seen.iter_mut().zip([here, away]) {
                    seen.add(f64::from(value), f64::from(added), deviation, self.rate);
                }
            }
        }
        drop(ledger);
        let _ = std::fs::remove_file(&path);
        let score = |[here, away]: &[Likelihood; 2]| here.log(self.rate) - away.log(self.rate);
        Ok(seen.iter().map(score).collect())
    }

    fn releaser(&self, step: u64) -> Result<Releaser, DpError> {
        let noise = match self.noise_seed {
            // Another one for each run and each releaser.
            Some(seed) => NoiseSource::insecure(seed ^ (self.made << 20) ^ (step << 44)),
            None => NoiseSource::secret().map_err(|message| DpError::Device { message })?,
        };
        Ok(self.plan()?.releaser(noise))
    }

    fn plan(&self) -> Result<CheckedPlan, DpError> {
        let (z, sampler) = (self.noise_multiplier, self.sampler.clone());
        TrainingPlan::with_noise_multiplier(z, self.delta, self.planned, sampler).check()
    }
}

/// How likely the releases of a coordinate are if its record adds a certain number, over what they are if it adds none.
#[derive(Debug, Clone, Copy, Default)]
struct Likelihood {
    /// Logarithm, every batch being sampled anew.
    fresh: f64,
    /// Logarithm, for a record that is in every batch.
    always: f64,
}

impl Likelihood {
    fn add(&mut self, seen: f64, added: f64, deviation: f64, rate: f64) {
        let sampled = added * (seen - 0.5 * added) / (deviation * deviation);
        self.always += sampled;
        self.fresh += log_mixture(sampled, rate);
    }

    /// Batches sampled anew, or one batch for all steps: each as likely.
    fn log(&self, rate: f64) -> f64 {
        let fixed = log_mixture(self.always, rate);
        log_mixture(fixed - self.fresh, 0.5) + self.fresh
    }
}

/// `ln(1 - rate + rate exp(log))`.
fn log_mixture(log: f64, rate: f64) -> f64 {
    let (sampled, not) = (log + rate.ln(), (-rate).ln_1p());
    let larger = sampled.max(not);
    larger + ((sampled - larger).exp() + (not - larger).exp()).ln()
}
