//! The run: its records, the classifier of the source, one release, and its interim scores.

use std::path::PathBuf;

use dp_core::plan::CheckedPlan;
use dp_core::sampling::FixedSizeSampler;
use lab::backend::Chosen;
use lab::diagnostic::Failure;
use lab::session::{
    Arguments, DataSummary, Evaluation, Experiment, Fingerprint, Report, RunState, Session, Start,
    Wording, bounded, save_weights,
};
use private_training::{Loss, Objective, Training, TrainingConfig};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde_json::json;

use super::domains::Domains;
use super::evaluate::Confusion;
use super::network::{Model, Path, Sizes};
use super::public::trained_on_source;
use super::settings::{Flags, Method, Settings};
use super::{adversary, report};

/// Test records that an interim evaluation looks at.
const INTERIM: usize = 2000;

/// Interim evaluations of a run.
const EVALUATIONS: u64 = 6;

/// A classifier on its way to another domain.
pub struct Adapt {
    pub(super) settings: Settings,
    pub(super) domains: Domains,
    pub(super) sizes: Sizes,
    pub(super) training: Training<Model>,
    /// The classifier of the source; none before it is trained.
    pub(super) before: Option<Path>,
    cache: PathBuf,
}

impl Adapt {
    /// How good the network that is scored is, on some of the target's test records.
    fn interim(&self) -> Result<Confusion, Failure> {
        let network = self
            .training
            .averaged()
            .map_err(Failure::failed)?
            .classifier();
        let device = self.training.device();
        let mut test = self.domains.target_test.clone();
        test.truncate(INTERIM);
        Confusion::of(&network, &test, self.domains.classes, &device)
    }
}

impl Experiment for Adapt {
    const NAME: &'static str = "adapt";
    const ABOUT: &'static str = "Carry a classifier over from public, labelled records to private ones without labels. \
                                 Values come from the preset, and a flag wins over the preset.";
    type Settings = Settings;

    fn load(
        settings: &Settings,
        arguments: &Arguments<Flags>,
        chosen: &Chosen,
    ) -> Result<Self, Failure> {
        let cache = arguments.running.cache()?;
        let domains = Domains::load(settings, arguments.running.data_dir.as_deref())?;
        let records = domains.target.len();
        let batch = settings.batch.unwrap_or(records);
        let bound = format!("between 1 and the {records} private target records");
        bounded("batch", batch, (1..=records).contains(&batch), &bound)?;
        let sampler = FixedSizeSampler::new(records, batch).map_err(Failure::failed)?;
        let sizes = Sizes {
            width: domains.source.width,
            side: domains.side,
            classes: domains.classes,
            bottleneck: settings.bottleneck,
            mapped: settings.method == Method::Sliced,
            adversary: settings.method == Method::Dann,
        };
        let loss = match settings.method {
            Method::Dann => adversary::loss(),
            // Public records alone.
            Method::Sliced | Method::Source => Loss::cross_entropy(),
        };
        let mut public = ChaCha20Rng::seed_from_u64(settings.seed);
        let model = Model::new(&sizes, &mut public, &chosen.device);
        let config =
            TrainingConfig::new(Objective::of([loss.max_grad_norm(settings.max_grad_norm)]))
                .average(settings.ema)
                .public(public);
        let mut start = Start::new(&lab::basics!(settings), config, model, sampler);
        start.plan = start.plan.filter(|plan| plan.steps > 0);
        Ok(Self {
            settings: settings.clone(),
            domains,
            sizes,
            training: start.training(chosen)?,
            before: None,
            cache,
        })
    }

    fn data(&self) -> DataSummary {
        DataSummary {
            name: format!("{} to {}", self.settings.source, self.settings.target),
            private: self.domains.target.len(),
            test: self.domains.target_test.len(),
            used: self.domains.used.clone(),
        }
    }

    fn plan(&self) -> Option<&CheckedPlan> {
        self.training.plan()
    }

    fn wording(&self) -> Wording {
        let settings = &self.settings;
        let reads_nothing = settings.steps == 0;
        let aligned = match settings.method {
            Method::Sliced => "noisy projections of target features",
            Method::Dann => "the discriminator's gradients at target records",
            Method::Source => "",
        };
        Wording {
            releases: format!("all that is read of the target ({aligned})"),
            public: format!(
                "the records of {} with their labels, and the target's test records, whose labels judge the run and \
                 nothing else",
                settings.source
            ),
            without_noise: if reads_nothing {
                "Nothing private is read: the classifier of the public source."
            } else {
                "Not private: --no-privacy adds no noise that anything is promised of."
            }
            .into(),
            reads_nothing,
            ..Wording::default()
        }
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        let settings = &self.settings;
        let steps = settings.steps;
        let batch = settings.batch.unwrap_or(self.domains.target.len());
        Ok(vec![
            format!(
                "source    {} public records of {}",
                self.domains.source.len(),
                settings.source
            ),
            format!("releases  {steps} of {batch} records each"),
            format!(
                "features  {} dimensions are compared",
                self.sizes.compared()
            ),
        ])
    }

    fn prepare(&mut self, session: &mut Session) -> Result<(), Failure> {
        let fresh = self.training.network.classifier();
        let (settings, domains) = (&self.settings, &self.domains);
        let trained = trained_on_source(fresh, settings, domains, &self.cache, session)?;
        let network = self.training.network.clone().with_classifier(&trained);
        self.training.network = network.map_err(Failure::failed)?;
        self.before = Some(trained);
        Ok(())
    }

    fn fingerprint(&self) -> Result<Fingerprint, Failure> {
        // Labels of the target are read by no step. The classifier of the source belongs to it: it decides what of
        // a record meets the noise.
        let target = self.domains.target.rows.iter();
        let weights = self
            .before
            .as_ref()
            .map(private_training::weights::to_host)
            .unwrap_or_default();
        let values = target.chain(&weights);
        let bytes: Vec<u8> = values.flat_map(|value| value.to_le_bytes()).collect();
        Ok(Fingerprint::of(&bytes))
    }

    fn state(&mut self) -> Option<&mut dyn RunState> {
        Some(&mut self.training)
    }

    fn steps(&self) -> u64 {
        self.settings.steps
    }

    fn step(&mut self, session: &mut Session) -> Result<(), Failure> {
        let device = session.chosen.device.clone();
        let (step, steps) = (session.step, self.settings.steps);
        let ledger = &mut session.ledger;
        let rate = self.settings.learning_rate * (1.0 - step as f64 / steps as f64);
        if self.settings.method == Method::Dann {
            return self.against_the_discriminator(rate, ledger, &device);
        }
        let release = self.release(ledger, &device)?;
        self.towards(&release, rate, &device)
    }

    fn evaluates_after(&self, step: u64) -> bool {
        let steps = self.steps();
        step > 0 && (step.is_multiple_of((steps / EVALUATIONS).max(1)) || step == steps)
    }

    fn evaluate(&mut self, _: &Session) -> Result<Evaluation, Failure> {
        let found = self.interim()?;
        let (accuracy, loss) = (found.accuracy(), found.loss);
        Ok(Evaluation {
            scores: json!({"accuracy": accuracy, "loss": loss}),
            message: format!("accuracy {accuracy:.4}, loss {loss:.4}"),
            accounted: true,
        })
    }

    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        save_weights(&self.training, &session.folder)?;
        report::report(self, session)
    }
}
