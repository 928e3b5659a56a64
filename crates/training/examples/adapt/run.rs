//! A run: its settings, what it promises the target's records, and what it learns.

use burn::tensor::Device;
use clap::ValueEnum;
use dp_core::delta::{default_delta, loose_delta};
use dp_core::mechanism::NoiseSource;
use dp_core::plan::{CheckedPlan, ReleaseNoise};
use private_training::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

use super::Failed;
use super::domains::Domains;
use super::fit::Warps;
use super::network::Classifier;
use super::{sliced, warped};

/// Of the first step.
pub(super) const LEARNING_RATE: f64 = 2e-3;

/// How the classifier learns of the target.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum Method {
    /// Source images are warped until their sliced marginals are those that the target releases once.
    Warp,
    /// Clipped and noisy gradients of the sliced distance pull the features of both domains together.
    Sliced,
    /// The classifier of the source: nothing private is read.
    Source,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, clap::Args)]
pub(super) struct Settings {
    /// Public images with labels: mnist, usps, fashion-mnist or glyphs.
    #[arg(default_value = "mnist")]
    pub source: String,
    /// Private images without labels, likewise.
    #[arg(default_value = "usps")]
    pub target: String,
    #[arg(long, value_enum, default_value = "warp")]
    pub method: Method,
    /// The budget of a target record.
    #[arg(long, default_value_t = 1.0)]
    pub epsilon: f64,
    /// Clip nothing and add no noise.
    #[arg(long, conflicts_with = "epsilon")]
    pub no_privacy: bool,
    /// A tenth over the number of target records unless given.
    #[arg(long)]
    pub delta: Option<f64>,
    /// Target records: the first ones, all unless given.
    #[arg(long)]
    pub records: Option<usize>,
    /// Take slant and size from each image by itself, the same in both domains.
    #[arg(long)]
    pub upright: bool,
    /// How far public images are turned, sheared, stretched, shifted, thickened and blurred: 0 not at all, 1 usual.
    #[arg(long, default_value_t = 1.0)]
    pub augment: f64,
    /// Steps on source records before anything private is read, or under the warp.
    #[arg(long, default_value_t = 1000)]
    pub public_steps: u64,
    /// Steps that release a gradient, by `sliced`.
    #[arg(long, default_value_t = 60)]
    pub steps: u64,
    /// Target records in such a step.
    #[arg(long, default_value_t = 128)]
    pub batch: usize,
    /// The seed of everything public; `--seed 0 1 2` makes a run each.
    #[arg(skip)]
    pub seed: u64,
}

/// What `run.json` says of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Run {
    pub settings: Settings,
    /// Of the target's test records, and the same of the source's classifier where a run begins with it.
    pub accuracy: f64,
    pub accuracy_before: Option<f64>,
    /// An upper bound, with its delta, that all releases of the run have together; none if nothing is promised.
    pub epsilon_delta: Option<(f64, f64)>,
    /// What source images were warped by: zeros if by nothing.
    pub warps: Warps,
}

impl Settings {
    /// The budget, if the run has one.
    pub(super) fn budget(&self) -> Option<f64> {
        (self.method != Method::Source && !self.no_privacy).then_some(self.epsilon)
    }

    /// Domains, method and budget, as they stand in a table.
    pub(super) fn row(&self) -> String {
        let budget = match (self.method, self.budget()) {
            (Method::Source, _) => "nothing private".into(),
            (_, None) => "no noise".into(),
            (_, Some(epsilon)) => format!("epsilon {epsilon}"),
        };
        let method = format!("{:?}", self.method).to_lowercase();
        let upright = if self.upright { ", upright" } else { "" };
        let (source, target, augment) = (&self.source, &self.target, self.augment);
        format!("{source} to {target} | {method}{upright}, varied {augment} times | {budget}")
    }

    /// The folder's name.
    pub(super) fn name(&self) -> String {
        let row = self.row().replace([' ', ',', '|'], "-");
        let words: Vec<&str> = row.split('-').filter(|word| !word.is_empty()).collect();
        format!("{}-seed-{}", words.join("-"), self.seed)
    }

    /// How the operating system, or the seed if nothing is promised, samples.
    pub(super) fn noise(&self) -> Result<NoiseSource, Failed> {
        match self.budget() {
            Some(_) => Ok(NoiseSource::secret()?),
            None => Ok(NoiseSource::insecure(self.seed)),
        }
    }

    /// What is promised of all that is read of the target.
    pub(super) fn plan(&self, domains: &Domains) -> Result<Option<CheckedPlan>, Failed> {
        let Some(epsilon) = self.budget() else {
            return Ok(None);
        };
        let records = domains.records();
        let delta = self.delta.unwrap_or(default_delta(records as f64));
        let plan = match self.method {
            Method::Sliced => TrainingPlan::for_epsilon(
                epsilon,
                delta,
                self.steps,
                sliced::sampler(self, domains)?,
            ),
            _ => {
                TrainingPlan::for_epsilon(epsilon, delta, 0, Sampler::fixed_size(records, records)?)
                    .with_release(warped::MARGINALS, ReleaseNoise::Share(1.0))
            }
        };
        Ok(Some(plan.check()?))
    }

    pub(super) fn run(
        &self,
        domains: &Domains,
        noise: NoiseSource,
        ledger: &mut Ledger,
    ) -> Result<Run, Failed> {
        let mut public = ChaCha20Rng::seed_from_u64(self.seed);
        let compared = (self.method == Method::Sliced).then_some(sliced::COMPARED);
        let (side, classes, device) = (domains.side, domains.classes, Device::flex());
        let fresh = Classifier::new(side, classes, compared, &mut public, &device);
        let plan = self.plan(domains)?;
        let epsilon_delta = plan
            .as_ref()
            .map(|plan| (plan.epsilon_upper(), plan.delta()));
        if let Some((epsilon, delta)) = epsilon_delta {
            let (epsilon, records, target) = (upper(epsilon), domains.records(), &self.target);
            eprintln!(
                "privacy   epsilon {epsilon} at delta {delta:e} for one of {records} records of {target}"
            );
            if let Some(why) = loose_delta(delta, records as f64) {
                eprintln!("WARNING   {why}");
            }
        }
        let (mut warps, mut accuracy_before) = (Warps::default(), None);
        let network = match self.method {
            Method::Source => self.learn_source(fresh, domains, &warps)?,
            Method::Warp => {
                warps = warped::warps(self, domains, plan, noise, ledger)?;
                self.learn_source(fresh, domains, &warps)?
            }
            Method::Sliced => {
                let network = self.learn_source(fresh, domains, &warps)?;
                accuracy_before = Some(network.accuracy(&domains.test)?);
                let mut training = sliced::training(self, network, domains, plan, noise, public)?;
                for _ in 0..self.steps {
                    let released = sliced::released(&mut training, domains, ledger)?;
                    sliced::follow(&mut training, self, domains, released)?;
                }
                training.averaged()?
            }
        };
        Ok(Run {
            settings: self.clone(),
            accuracy: network.accuracy(&domains.test)?,
            accuracy_before,
            epsilon_delta,
            warps,
        })
    }
}
