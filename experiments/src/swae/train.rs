//! The training run: its records, its autoencoder, one step, and its interim scores.

use std::sync::Arc;
use std::time::Instant;

use data::Dataset;
use dp_core::plan::CheckedPlan;
use lab::backend::Chosen;
use lab::diagnostic::Failure;
use lab::interrupt::Interrupt;
use lab::run_folder::RunFolder;
use lab::session::{
    Arguments, DataSummary, Evaluation, Experiment, Fingerprint, Report, RunState, Session, Used,
    Wording, announcement, judge_again, load_weights, released, save_weights, start as started,
    take_step,
};
use model::swae::{Swae as Network, SwaeConfig};
use private_training::{StepLosses, Training, TrainingConfig};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde_json::json;

use crate::particles::share;
use crate::records::load_private;

use super::batches::Batches;
use super::evaluate::Evaluator;
use super::plan::{MARGINALS, MOMENTS, plan};
use super::report::{self, Judging};
use super::samples::SHAPE;
use super::settings::{Flags, Settings};
use super::start;

/// Interim evaluations on public test records during a run.
const EVALUATIONS: u64 = 10;

/// A private autoencoder.
pub struct Swae {
    pub(super) settings: Settings,
    pub(super) data: Arc<Dataset>,
    pub(super) batches: Batches,
    pub(super) training: Training<Network>,
    pub(super) evaluator: Evaluator,
    pub(super) judging: Judging,
    used: Used,
    /// Of all private records, class by class; none before they are encoded.
    pub(super) latents: Vec<Vec<f32>>,
    pub(super) public_seconds: f64,
    /// Of the last step; not private.
    losses: Option<StepLosses>,
}

impl Experiment for Swae {
    const NAME: &'static str = "swae";
    const ABOUT: &'static str = "Train a private sliced-Wasserstein autoencoder and look at what it \
                                 learned. Values come from the preset, and a flag wins over the preset. \
                                 The run folder holds the resolved configuration, the privacy ledger, \
                                 metrics, weights, pictures and a report.";
    const FLAGS_OF_A_PROCESS: &'static [&'static str] =
        &["ScoreFlags", "Judging", "ExportFlags", "ExportRequest"];
    const STORED: &'static [&'static str] = &[MOMENTS, MARGINALS];
    type Settings = Settings;

    fn instead(arguments: &Arguments<Flags>) -> Option<Result<(), Failure>> {
        let path = arguments.own.judging.rescore.as_deref()?;
        let finished = |folder: &RunFolder, settings: &Settings| {
            let asked = [
                (MOMENTS, settings.releases_moments()),
                (MARGINALS, settings.releases_marginals()),
            ];
            for (name, _) in asked.into_iter().filter(|&(_, asked)| asked) {
                if !released(folder, name)? {
                    return Ok(false);
                }
            }
            Ok(folder.file("model.bpk").exists())
        };
        let weights = |folder: &RunFolder, run: &mut Self| {
            run.training.network = load_weights(run.training.network.clone(), folder)?;
            Ok(())
        };
        Some(judge_again::<Self>(path, arguments, finished, weights))
    }

    fn afterwards(
        arguments: &Arguments<Flags>,
        folder: &RunFolder,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        arguments.own.judging.export.of(folder, interrupt)
    }

    fn load(
        settings: &Settings,
        arguments: &Arguments<Flags>,
        chosen: &Chosen,
    ) -> Result<Self, Failure> {
        let export = &arguments.own.judging.export;
        let (kind, data_dir) = (settings.kind()?, arguments.running.data_dir.as_deref());
        let (data, used) = load_private(kind, settings.seed, settings.records, data_dir)?;
        let batches = Batches::new(settings, &data)?;
        let most = settings.releases_marginals().then(|| {
            let sizes = &batches.class_sizes;
            let particles = settings.particles.unwrap_or(sizes.iter().sum());
            share(sizes, particles).iter().sum()
        });
        let most = most.filter(|_| !settings.variation().any());
        export.check(SHAPE, settings.conditional, most)?;
        let plan = plan(settings, &batches)?;
        let mut public = ChaCha20Rng::seed_from_u64(settings.seed);
        let classes = data.train.classes();
        let config = SwaeConfig {
            latent: settings.latent,
            classes: if settings.conditional { classes } else { 0 },
        };
        let network = config.init(&mut public, &chosen.device);
        let config = TrainingConfig::new(settings.objective()?)
            .learning_rate(settings.learning_rate)
            .average(settings.ema)
            .public(public);
        let mut non_private = ChaCha20Rng::seed_from_u64(settings.seed);
        non_private.set_stream(1);
        let (sampler, known) = (batches.sampler.clone(), settings.insecure_noise_seed);
        let training = started(config, network, sampler, plan, known, non_private, chosen)?;
        let data = Arc::new(data);
        Ok(Self {
            evaluator: Evaluator::new(data.clone(), settings, &chosen.device)?,
            settings: settings.clone(),
            data,
            batches,
            training,
            judging: arguments.own.judging.clone(),
            used,
            latents: Vec::new(),
            public_seconds: 0.0,
            losses: None,
        })
    }

    fn data(&self) -> DataSummary {
        DataSummary {
            name: self.data.name.clone(),
            private: self.data.train.len(),
            test: self.data.test.len(),
            used: vec![self.used.clone()],
        }
    }

    fn plan(&self) -> Option<&CheckedPlan> {
        self.training.plan()
    }

    fn wording(&self) -> Wording {
        let mut wording = Wording::default();
        if self.settings.releases_moments() {
            wording.releases += match self.settings.releases_marginals() {
                true => ", the class moments and the class marginals",
                false => " and the class moments",
            };
        }
        if let Some(from) = &self.settings.start_from {
            let start = crate::records::synthetic(from).map_or("glyphs", |_| from);
            wording.public =
                format!("synthetic {start}, on which the weights started, and the test records");
        }
        wording
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        let (steps, dims) = (self.settings.steps, [self.settings.latent]);
        announcement(&mut self.training, steps, &dims)
    }

    fn prepare(&mut self, session: &mut Session) -> Result<(), Failure> {
        let start = Instant::now();
        let fresh = self.training.network.clone();
        self.training.network = start::network(fresh, &self.settings, session)?;
        self.public_seconds = start.elapsed().as_secs_f64();
        Ok(())
    }

    fn fingerprint(&self) -> Result<Fingerprint, Failure> {
        let train = &self.data.train;
        let mut records = (train.len() as u64).to_le_bytes().to_vec();
        records.extend(train.pixels());
        records.extend(train.labels());
        Ok(Fingerprint::of(&records))
    }

    fn state(&mut self) -> Option<&mut dyn RunState> {
        Some(&mut self.training)
    }

    fn steps(&self) -> u64 {
        self.settings.steps
    }

    fn step(&mut self, session: &mut Session) -> Result<(), Failure> {
        let (batches, data, device) = (&self.batches, &self.data, &session.chosen.device);
        let gather = |model: &Network, sampled: &[Vec<usize>]| {
            batches.of(data, &sampled.concat(), model, device)
        };
        self.losses = take_step(&mut self.training, &mut session.ledger, gather)?;
        Ok(())
    }

    fn evaluates_after(&self, step: u64) -> bool {
        let steps = self.settings.steps;
        step > 0 && (step.is_multiple_of((steps / EVALUATIONS).max(1)) || step == steps)
    }

    fn evaluate(&mut self, session: &Session) -> Result<Evaluation, Failure> {
        let model = self.training.averaged().map_err(Failure::failed)?;
        let last = session.step == self.settings.steps;
        let scores = self.evaluator.scores(&model, last)?;
        let (reconstruction, sliced) = (scores.reconstruction, scores.sliced);
        Ok(Evaluation {
            message: format!(
                "test reconstruction {reconstruction:.2} nats, sliced distance to prior {sliced:.4}"
            ),
            scores: json!({
                "test_reconstruction_bce": reconstruction,
                "test_sliced_w2_squared": sliced,
                "training_loss_not_private": self.losses.as_ref().map(|losses| {
                    json!({"reconstruction": losses.losses[0], "sliced": losses.penalties[0]})
                }),
            }),
            accounted: true,
        })
    }

    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        save_weights(&self.training, &session.folder)?;
        let origin = self.origin(session)?;
        report::report(self, session, &origin)
    }
}
