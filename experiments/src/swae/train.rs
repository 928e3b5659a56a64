//! The training run: its records, its autoencoder, one step, and its interim scores.

use std::path::Path;

use clap::Id;
use lab::prelude::*;
use model::swae::{Swae, SwaeConfig};
use private_training::TrainingConfig;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde_json::json;

use crate::export::ExportFlags;
use crate::random::stream;
use crate::records::{kind, load_private};

use super::batches::Batches;
use super::evaluate::Tested;
use super::moments::{MOMENTS, moments_noise};
use super::report::{self, Judging};
use super::samples::SHAPE;
use super::settings::{Flags, Settings};

pub(crate) struct SwaeRun {
    pub(super) settings: Settings,
    pub(super) steps: TrainingSteps<Swae, Batches>,
    pub(super) judging: Judging,
}

impl Experiment for SwaeRun {
    const NAME: &'static str = "swae";
    const ABOUT: &'static str = "Train a private sliced-Wasserstein autoencoder and look at what it \
                                 learned. Values come from the preset, and a flag wins over the preset. \
                                 The run folder holds the resolved configuration, the privacy ledger, \
                                 metrics, weights, pictures and a report.";
    const FLAGS_OF_A_PROCESS: &'static [fn() -> Vec<Id>] = &[flags_of::<Judging>];
    const FLAGS_AFTERWARDS: &'static [fn() -> Vec<Id>] = &[flags_of::<ExportFlags>];
    const STORED: &'static [&'static str] = &[MOMENTS];
    /// On public test records.
    const EVALUATIONS: u64 = 10;
    type Settings = Settings;

    fn instead(arguments: &Arguments<Flags>) -> Option<Result<(), Failure>> {
        let path = arguments.own.judging.rescore.as_deref()?;
        let finished = |folder: &RunFolder, settings: &Settings| {
            let missing = settings.conditional && !released(folder, MOMENTS)?;
            Ok(!missing && folder.file("model.bpk").exists())
        };
        let weights = |folder: &RunFolder, run: &mut Self| {
            let network = &mut run.steps.training.network;
            *network = load_weights(network.clone(), folder)?;
            Ok(())
        };
        Some(judge_again::<Self>(path, arguments, finished, weights))
    }

    fn when_done(run: &Path, word: &str) -> String {
        format!(
            "judge it again by `sliver swae --rescore {} {word}`",
            run.display()
        )
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
        let (kind, data_dir) = (
            kind("dataset", &settings.dataset)?,
            arguments.running.data_dir.as_deref(),
        );
        let (data, used) = load_private(kind, settings.seed, settings.records, data_dir)?;
        let classes = data.train.classes();
        let batches = Batches::new(settings, data, used)?;
        export.check(SHAPE, settings.conditional, None)?;
        let mut public = ChaCha20Rng::seed_from_u64(settings.seed);
        let config = SwaeConfig {
            latent: settings.latent,
            classes: if settings.conditional { classes } else { 0 },
        };
        let network = config.init(&mut public, &chosen.device);
        let config = TrainingConfig::new(settings.objective()?)
            .learning_rate(settings.learning_rate)
            .average(settings.ema)
            .public(public);
        let non_private = stream(settings.seed, 1);
        let sampler = batches.sampler.clone();
        let mut start = Start::new(lab::basics!(settings), config, network, sampler);
        if let Some(noise) = moments_noise(settings, batches.data.train.len()) {
            start = start.with_release(MOMENTS, noise);
        }
        start.batches = non_private;
        start.penalised = vec![settings.latent];
        Ok(Self {
            settings: settings.clone(),
            steps: start.training(batches, chosen)?,
            judging: arguments.own.judging.clone(),
        })
    }

    fn training(&mut self) -> Option<&mut dyn Steps> {
        Some(&mut self.steps)
    }

    fn wording(&self) -> Wording {
        let mut wording = Wording::default();
        if self.settings.conditional {
            wording.releases += " and the class moments";
        }
        wording
    }

    fn scores(&mut self, session: &Session) -> Result<Scores, Failure> {
        let last = session.step == self.settings.steps;
        let tested = Tested {
            model: &self.steps.scored()?,
            test: &self.steps.records.data.test,
            device: &session.chosen.device,
        };
        let found = tested.scores(last)?;
        let (loss, distance) = (found.reconstruction, found.sliced);
        let (better, scores) = (Better::Lower, Scores::default());
        Ok(scores
            .with("test_reconstruction_bce", "Reconstruction", loss, better)
            .with(
                "test_sliced_w2_squared",
                "Sliced distance",
                distance,
                better,
            ))
    }

    fn evaluate(&mut self, session: &Session) -> Result<Evaluation, Failure> {
        let mut found = self.scores(session)?.evaluation();
        found.scores["training_loss_not_private"] =
            json!(self.steps.losses.as_ref().map(|losses| {
                json!({"reconstruction": losses.losses[0], "sliced": losses.penalties[0]})
            }));
        Ok(found)
    }

    fn release_last(&mut self, session: &mut Session) -> Result<(), Failure> {
        self.origin(session).map(drop)
    }

    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        let origin = self.origin(session)?;
        report::report(self, session, origin)
    }
}
