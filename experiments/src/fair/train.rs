//! The training run: its records, its network, one step, and its interim scores.

use lab::backend::Chosen;
use lab::diagnostic::Failure;
use lab::session::{
    Arguments, DataSummary, Evaluation, Experiment, Fingerprint, Report, RunState, Session,
    Wording, announcement, batches_of, save_weights, start, take_step,
};
use private_training::{Engine, Schedule, Training, TrainingConfig};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde_json::json;

use dp_core::plan::CheckedPlan;

use super::metrics::{Predictions, Scores, scores};
use super::network::Network;
use super::settings::{Flags, Notion, Optimizer, Settings};
use super::table::{Tables, batch, targets};
use super::{plan, postprocess, report};

/// A network under a penalty between groups.
pub struct Fair {
    pub(super) settings: Settings,
    pub(super) tables: Tables,
    pub(super) training: Training<Network>,
}

impl Fair {
    pub(super) fn predictions(&self) -> Result<Predictions, Failure> {
        let network = self.training.averaged().map_err(Failure::failed)?;
        let device = self.training.device();
        Ok(Predictions::of(&network, &self.tables.test, &device))
    }

    pub(super) fn scores(&self, predicted: &Predictions) -> Result<Scores, Failure> {
        scores(predicted, &self.tables, &self.settings)
    }
}

impl Experiment for Fair {
    const NAME: &'static str = "fair";
    const ABOUT: &'static str = "Train a model whose outputs or inner layer should not tell a \
                                 sensitive attribute, privately. Values come from the task's preset, \
                                 and a flag wins over the preset.";
    const STORED: &'static [&'static str] = &[plan::HISTOGRAMS];
    type Settings = Settings;

    fn load(
        settings: &Settings,
        arguments: &Arguments<Flags>,
        chosen: &Chosen,
    ) -> Result<Self, Failure> {
        let tables = Tables::load(settings, arguments.running.data_dir.as_deref())?;
        let sampler = plan::groups(settings, &tables.train)?;
        let plan = plan::plan(settings, tables.train.len(), &sampler)?;
        let mut public = ChaCha20Rng::seed_from_u64(settings.seed);
        let width = tables.train.width();
        let network = Network::new(settings, width, &mut public, &chosen.device);
        let engine = match Engine::for_device(&chosen.device) {
            // Small layers: a chunk has to be large to be worth its overhead.
            Engine::Host { .. } => Engine::Host { chunk: 64 },
            _ => Engine::Tensor { chunk: 1000 },
        };
        let rates = settings.clone();
        let config = TrainingConfig::new(settings.objective()?)
            .optimizer(match settings.optimizer {
                Optimizer::Adam => private_training::Optimizer::adam(),
                Optimizer::Sgd => private_training::Optimizer::sgd(),
            })
            .learning_rate(Schedule::new(move |step| rates.rate(step)))
            .average(settings.ema)
            .engine(engine)
            .public(public);
        let known = settings.insecure_noise_seed;
        let batches = batches_of(known.unwrap_or(settings.seed));
        Ok(Self {
            settings: settings.clone(),
            tables,
            training: start(config, network, sampler, plan, known, batches, chosen)?,
        })
    }

    fn data(&self) -> DataSummary {
        DataSummary {
            name: self.tables.name.clone(),
            private: self.tables.train.len(),
            test: self.tables.test.len(),
            used: self.tables.used.clone(),
        }
    }

    fn plan(&self) -> Option<&CheckedPlan> {
        self.training.plan()
    }

    fn wording(&self) -> Wording {
        let mut wording = Wording {
            groups: match self.settings.notion {
                Notion::Sp => "the sensitive attribute",
                Notion::Eo => "the sensitive attribute and the class",
            },
            ..Wording::default()
        };
        if self.settings.post_process.is_some() {
            wording.releases += " and the histograms of the post-processing";
        }
        wording
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        let dims = [self.settings.task.penalised()];
        announcement(&mut self.training, self.settings.steps, &dims)
    }

    fn fingerprint(&self) -> Result<Fingerprint, Failure> {
        let table = &self.tables.train;
        let all: Vec<usize> = (0..table.len()).collect();
        let (labels, _) = targets(table, self.settings.task, &all)?;
        let values = table.features().iter().chain(&labels);
        let mut records: Vec<u8> = values.flat_map(|value| value.to_le_bytes()).collect();
        records.extend(table.groups());
        Ok(Fingerprint::of(&records))
    }

    fn state(&mut self) -> Option<&mut dyn RunState> {
        Some(&mut self.training)
    }

    fn steps(&self) -> u64 {
        self.settings.steps
    }

    fn step(&mut self, session: &mut Session) -> Result<(), Failure> {
        let (table, task) = (&self.tables.train, self.settings.task);
        let device = &session.chosen.device;
        let gather = |_: &Network, sampled: &[Vec<usize>]| batch(table, task, sampled, device);
        take_step(&mut self.training, &mut session.ledger, gather).map(drop)
    }

    fn evaluates_after(&self, step: u64) -> bool {
        step.is_multiple_of((self.settings.steps / 25).max(1)) || step == self.settings.steps
    }

    fn evaluate(&mut self, _: &Session) -> Result<Evaluation, Failure> {
        let scores = self.scores(&self.predictions()?)?;
        Ok(Evaluation {
            scores: json!(scores),
            message: format!("objective {:.4}", scores.objective),
            accounted: true,
        })
    }

    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        save_weights(&self.training, &session.folder)?;
        let mut predicted = self.predictions()?;
        if let Some(beta) = self.settings.post_process {
            predicted = postprocess::fair(self, session, &predicted, beta)?;
        }
        report::report(self, session, &predicted)
    }
}
