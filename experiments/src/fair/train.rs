//! The training run: its records, its network, and how it is scored.

use dp_core::plan::ReleaseNoise;
use lab::prelude::*;
use private_training::{Schedule, TrainingConfig};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::network::FairNetwork;
use super::postprocess::HISTOGRAMS;
use super::repair::MARGINALS;
use super::settings::{Flags, Notion, Optimizer, Settings};
use super::table;
use crate::objective::engine_of_small_layers;

/// A network under a penalty between groups.
pub(crate) struct Fair {
    pub(super) settings: Settings,
    pub(super) steps: TrainingSteps<FairNetwork, Tables>,
    /// Of all private records, wherever they lie; public.
    pub(super) group_sizes: [usize; 2],
}

/// The learning rate after some steps, which falls along a line to a share of itself at the last one.
fn falling(rate: f64, steps: u64, last: f64) -> impl Fn(u64) -> f64 + Send + 'static {
    let steps = steps.saturating_sub(1).max(1) as f64;
    move |step| rate * (1.0 - (1.0 - last) * (step as f64 / steps))
}

impl Fair {
    fn predictions(&self) -> Result<Predictions, Failure> {
        let (network, device) = (self.steps.scored()?, self.steps.training.device());
        let public = &self.steps.records.public;
        Predictions::of(&network, public, &device)
    }
}

impl Experiment for Fair {
    const NAME: &'static str = "fair";
    const ABOUT: &'static str = "Train a model that should not tell a sensitive attribute, privately, `classification` if no task is named";
    const STORED: &'static [&'static str] = &[HISTOGRAMS, MARGINALS];
    const EVALUATED_FRESH: bool = true;
    type Settings = Settings;

    fn load(
        settings: &Settings,
        arguments: &Arguments<Flags>,
        chosen: &Chosen,
    ) -> Result<Self, Failure> {
        if settings.repair.is_some() && arguments.running.ranks.is_some() {
            return Err(Failure::input(
                "--ranks: --repair takes one process",
                "leave --ranks out, and start it without mpirun",
            ));
        }
        let tables = settings.tables(arguments.running.data_dir.as_deref())?;
        let sampler = table::sampler(settings, &tables.private)?;
        let mut public = ChaCha20Rng::seed_from_u64(settings.seed);
        let width = tables.private.width();
        let network = FairNetwork::new(settings, width, &mut public, &chosen.device);
        let (rate, last) = (settings.learning_rate, settings.final_rate);
        let config = TrainingConfig::new(settings.objective()?)
            .optimizer(match settings.optimizer {
                Optimizer::Adam => private_training::Optimizer::adam(),
                Optimizer::Sgd => private_training::Optimizer::sgd(),
            })
            .learning_rate(Schedule::new(falling(rate, settings.steps, last)))
            .average(settings.ema)
            .engine(engine_of_small_layers(&chosen.device, 1000))
            .public(public);
        let mut start = Start::new(lab::basics!(settings), config, network, sampler);
        if let (Some(all), Some((_, share))) = (settings.epsilon, settings.post_process()) {
            let epsilon = all * share;
            start = start.with_release(HISTOGRAMS, ReleaseNoise::Laplace { epsilon });
        }
        if let (Some(all), Some(share)) = (settings.epsilon, settings.repair) {
            let delta = start.plan.as_ref().map_or(0.0, |plan| share * plan.delta);
            let epsilon = share * all;
            start = start.with_release(MARGINALS, ReleaseNoise::GaussianWithin { epsilon, delta });
        }
        start.penalised = vec![settings.task.penalised()];
        Ok(Self {
            settings: settings.clone(),
            group_sizes: tables.private.group_sizes(),
            steps: start.training(tables, chosen)?,
        })
    }

    fn training(&mut self) -> Option<&mut dyn Steps> {
        Some(&mut self.steps)
    }

    fn wording(&self) -> Wording {
        let mut wording = Wording {
            groups: match self.settings.notion() {
                Notion::Sp => "the sensitive attribute",
                Notion::Eo => "the sensitive attribute and the class",
            },
            ..Wording::default()
        };
        if self.settings.post_process().is_some() {
            wording.releases += " and the histograms of the post-processing";
        }
        if self.settings.repair.is_some() {
            wording.releases += " and the marginals of both groups";
        }
        wording
    }

    fn prepare(&mut self, session: &mut Session) -> Result<(), Failure> {
        match self.settings.repair {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_falls_along_a_line() {
        assert_eq!([0, 1, 2].map(falling(2.0, 3, 0.5)), [2.0, 1.5, 1.0]);
        assert_eq!(falling(2.0, 1, 0.5)(0), 2.0);
    }
}
