//! The training run: its records, its network, and how it is scored.

use dp_core::plan::ReleaseNoise;
use lab::backend::Chosen;
use lab::diagnostic::Failure;
use lab::session::{
    Arguments, Predictions, Report, Scores, Session, Start, Tables, TrainingRun, Wording,
};
use private_training::{Schedule, Training, TrainingConfig};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::network::FairNetwork;
use super::postprocess::HISTOGRAMS;
use super::repair::MARGINALS;
use super::settings::{Flags, Notion, Optimizer, Settings};
use super::table;
use super::tasks::Own;
use crate::objective::engine_of_small_layers;

/// A network under a penalty between groups.
pub(crate) struct Fair<T: Own> {
    pub(super) settings: Settings<T>,
    pub(super) tables: Tables,
    pub(super) training: Training<FairNetwork>,
    /// Of all private records, wherever they lie; public.
    pub(super) group_sizes: [usize; 2],
}

impl<T: Own> Fair<T> {
    fn predictions(&self) -> Result<Predictions, Failure> {
        let (network, device) = (self.scored()?, self.training.device());
        Ok(Predictions::of(&network, &self.tables.public, &device))
    }
}

impl<T: Own> TrainingRun for Fair<T> {
    const NAME: &'static str = "fair";
    const KIND: Option<(&'static str, &'static str)> = Some(("task", T::NAME));
    const ABOUT: &'static str = T::ABOUT;
    const STORED: &'static [&'static str] = &[HISTOGRAMS, MARGINALS];
    const EVALUATED_FRESH: bool = true;
    type Settings = Settings<T>;
    type Model = FairNetwork;
    type Records = Tables;

    lab::parts!(settings.shared, tables, training);

    fn load(
        settings: &Settings<T>,
        arguments: &Arguments<Flags<T>>,
        chosen: &Chosen,
    ) -> Result<Self, Failure> {
        let (shared, own) = (&settings.shared, &settings.own);
        if settings.repair().is_some() && arguments.running.ranks.is_some() {
            return Err(Failure::input(
                "--ranks: --repair takes one process",
                "leave --ranks out, and start it without mpirun",
            ));
        }
        let tables = own.tables(shared, arguments.running.data_dir.as_deref())?;
        let sampler = table::sampler(shared, own.notion(), &tables.private)?;
        let mut public = ChaCha20Rng::seed_from_u64(shared.seed);
        let width = tables.private.width();
        let network = FairNetwork::new(shared, width, &mut public, &chosen.device);
        let basics = lab::basics!(shared);
        let config = TrainingConfig::new(settings.objective()?)
            .optimizer(match shared.optimizer {
                Optimizer::Adam => private_training::Optimizer::adam(),
                Optimizer::Sgd => private_training::Optimizer::sgd(),
            })
            .learning_rate(Schedule::new(basics.falling_to(shared.final_rate)))
            .average(shared.ema)
            .engine(engine_of_small_layers(&chosen.device, 1000))
            .public(public);
        let mut start = Start::new(&basics, config, network, sampler);
        if let (Some(all), Some((_, share))) = (shared.epsilon, settings.post_process()) {
            let epsilon = all * share;
            start = start.and(HISTOGRAMS, ReleaseNoise::Laplace { epsilon });
        }
        if let (Some(all), Some(share)) = (shared.epsilon, settings.repair()) {
            let delta = start.plan.as_ref().map_or(0.0, |plan| share * plan.delta);
            let epsilon = share * all;
            start = start.and(MARGINALS, ReleaseNoise::GaussianWithin { epsilon, delta });
        }
        Ok(Self {
            settings: settings.clone(),
            group_sizes: tables.private.group_sizes(),
            tables,
            training: start.training(chosen)?,
        })
    }

    fn wording(&self) -> Wording {
        let mut wording = Wording {
            groups: match self.settings.own.notion() {
                Notion::Sp => "the sensitive attribute",
                Notion::Eo => "the sensitive attribute and the class",
            },
            ..Wording::default()
        };
        if self.settings.post_process().is_some() {
            wording.releases += " and the histograms of the post-processing";
        }
        if self.settings.repair().is_some() {
            wording.releases += " and the marginals of both groups";
        }
        wording
    }

    fn penalised(&self) -> Vec<usize> {
        vec![self.settings.shared.task.penalised()]
    }

    fn prepare(&mut self, session: &mut Session) -> Result<(), Failure> {
        match self.settings.repair() {
            Some(_) => self.repaired(session),
            None => Ok(()),
        }
    }

    fn scores(&mut self, _: &Session) -> Result<Scores, Failure> {
        self.scores_of(&self.predictions()?)
    }

    fn release_last(&mut self, session: &mut Session) -> Result<(), Failure> {
        if let Some((beta, _)) = self.settings.post_process() {
            let predicted = self.predictions()?;
            self.post_processed(session, &predicted, beta)?;
        }
        Ok(())
    }

    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        let mut predicted = self.predictions()?;
        if let Some((beta, _)) = self.settings.post_process() {
            predicted = self.post_processed(session, &predicted, beta)?;
        }
        self.report_of(session, &predicted)
    }
}
