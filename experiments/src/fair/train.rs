//! The training run: its records, its network, and how it is scored.

use lab::backend::Chosen;
use lab::diagnostic::Failure;
use lab::session::{Arguments, Report, Scores, Session, Start, TrainingRun, Wording};
use private_training::{Schedule, Training, TrainingConfig};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use dp_core::plan::ReleaseNoise;

use super::metrics::{Predictions, scores};
use super::network::Network;
use super::settings::{Flags, Notion, Optimizer, Settings};
use super::table::Tables;
use super::{plan, postprocess, report};
use crate::objective::engine_of_small_layers;

/// A network under a penalty between groups.
pub(crate) struct Fair {
    pub(super) settings: Settings,
    pub(super) tables: Tables,
    pub(super) training: Training<Network>,
}

impl Fair {
    fn predictions(&self) -> Result<Predictions, Failure> {
        let (network, device) = (self.scored()?, self.training.device());
        Ok(Predictions::of(&network, &self.tables.test, &device))
    }
}

impl TrainingRun for Fair {
    const NAME: &'static str = "fair";
    const ABOUT: &'static str = "Train a model whose outputs or inner layer should not tell a \
                                 sensitive attribute, privately. Values come from the task's preset, \
                                 and a flag wins over the preset.";
    const STORED: &'static [&'static str] = &[plan::HISTOGRAMS];
    const EVALUATED_FRESH: bool = true;
    type Settings = Settings;
    type Network = Network;
    type Records = Tables;

    lab::parts!(settings, tables, training);

    fn load(
        settings: &Settings,
        arguments: &Arguments<Flags>,
        chosen: &Chosen,
    ) -> Result<Self, Failure> {
        let tables = Tables::load(settings, arguments.running.data_dir.as_deref())?;
        let sampler = plan::groups(settings, &tables.train)?;
        let mut public = ChaCha20Rng::seed_from_u64(settings.seed);
        let width = tables.train.width();
        let network = Network::new(settings, width, &mut public, &chosen.device);
        let basics = lab::basics!(settings);
        let config = TrainingConfig::new(settings.objective()?)
            .optimizer(match settings.optimizer {
                Optimizer::Adam => private_training::Optimizer::adam(),
                Optimizer::Sgd => private_training::Optimizer::sgd(),
            })
            .learning_rate(Schedule::new(basics.falling_to(settings.final_rate)))
            .average(settings.ema)
            .engine(engine_of_small_layers(&chosen.device, 1000))
            .public(public);
        let mut start = Start::new(&basics, config, network, sampler);
        if let Some(epsilon) = settings.histograms() {
            start = start.and(plan::HISTOGRAMS, ReleaseNoise::Laplace { epsilon });
        }
        Ok(Self {
            settings: settings.clone(),
            tables,
            training: start.training(chosen)?,
        })
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

    fn penalised(&self) -> Vec<usize> {
        vec![self.settings.task.penalised()]
    }

    fn scores(&mut self, _: &Session) -> Result<Scores, Failure> {
        scores(&self.predictions()?, &self.tables, &self.settings)
    }

    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        let mut predicted = self.predictions()?;
        if let Some(beta) = self.settings.post_process {
            predicted = postprocess::fair(self, session, &predicted, beta)?;
        }
        report::report(self, session, &predicted)
    }
}
