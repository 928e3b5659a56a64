//! A run whose steps are those of a training: a network, an objective, and the batch of each step.

use std::path::Path;

use burn::tensor::Device;
use clap::Id;
use dp_core::mechanism::Releaser;
use dp_core::plan::{CheckedPlan, ReleaseNoise, TrainingPlan};
use dp_core::sampling::BatchSampler;
use private_training::{Batch, Network, RankError, StepLosses, Training, TrainingConfig};
use rand_chacha::ChaCha20Rng;

use super::basics::Basics;
use super::experiment::{
    DataSummary, EVALUATIONS, Evaluation, Experiment, Fingerprint, Report, RunState, Settings,
    WHEN_DONE,
};
use super::promise::Wording;
use super::scores::Scores;
use super::stored::Releases;
use super::training::{announcement, batches_of, releaser, save_weights, take_step};
use super::{Arguments, Session};
use crate::backend::Chosen;
use crate::diagnostic::Failure;
use crate::interrupt::Interrupt;
use crate::ranks::{Crew, one_process};
use crate::run_folder::RunFolder;

/// A training before its first step.
pub struct Start<M> {
    config: TrainingConfig,
    network: M,
    sampler: BatchSampler,
    /// What is promised; none without privacy.
    pub plan: Option<TrainingPlan>,
    /// What samples the batches of a run without privacy.
    pub batches: ChaCha20Rng,
    known: Option<u64>,
}

impl<M: burn::module::Module> Start<M> {
    /// By what decides any training: the whole budget is that of its steps.
    pub fn new(
        basics: &Basics,
        config: TrainingConfig,
        network: M,
        sampler: impl Into<BatchSampler>,
    ) -> Self {
        let (sampler, known) = (sampler.into(), basics.insecure_noise_seed);
        Self {
            config,
            network,
            plan: basics.plan(&sampler),
            sampler,
            batches: batches_of(known.unwrap_or(basics.seed)),
            known,
        }
    }

    /// With one more release of the same records within the budget.
    #[must_use]
    pub fn and(mut self, name: &str, noise: ReleaseNoise) -> Self {
        self.plan = self.plan.map(|plan| plan.and(name, noise));
        self
    }

    /// With noise that is correlated over so many steps, on the fixed batches of a `CyclicSampler`.
    #[must_use]
    pub fn correlated(mut self, bandwidth: u64) -> Self {
        self.plan = self.plan.map(|plan| plan.correlated(bandwidth));
        self
    }

    /// What releases for its plan, apart from the training: for steps that are post-processing.
    ///
    /// # Errors
    ///
    /// As [`Start::training`].
    pub fn releaser(&mut self) -> Result<Option<Releaser>, Failure> {
        releaser(self.plan.take(), self.known)
    }

    /// Checks the plan, and starts: with secret noise unless its seed is known.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] for a plan that cannot be had, and on a device that does not support private steps;
    /// [`Failure::Failed`] if the operating system gives no randomness, and for settings that are refused.
    pub fn training(mut self, chosen: &Chosen) -> Result<Training<M>, Failure> {
        if self.plan.is_some() {
            chosen.supports_private_steps()?;
        }
        let releaser = self.releaser()?;
        let (config, network) = (self.config, self.network);
        match releaser {
            Some(releaser) => config.start_with_noise(network, releaser),
            None => config.start_without_privacy(network, self.sampler, self.batches),
        }
        .map_err(Failure::failed)
    }
}

/// The records of a run that trains an `N`: private ones, and public ones that it is judged by.
pub trait RunRecords<N> {
    /// What they are, and how many.
    fn summary(&self) -> DataSummary;

    /// All that a step sees of private ones: noise is never used again for others.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] names a record that cannot be read.
    fn bytes(&self) -> Result<Vec<u8>, Failure>;

    /// Keeps the records of one of several ranks alone: those with the numbers `rank`, `rank + ranks`, ....
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] for records that lie in one process.
    fn keep(&mut self, _rank: usize, _ranks: usize) -> Result<(), Failure> {
        Err(one_process("this training"))
    }

    /// Those that were sampled, group after group.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] for an index outside of them.
    fn batch(
        &self,
        network: &N,
        sampled: &[Vec<usize>],
        device: &Device,
    ) -> Result<Batch<2>, Failure>;
}

/// The parts of a [`TrainingRun`] by the names of its fields: settings, records, training.
#[macro_export]
macro_rules! parts {
    ($($settings:ident).+, $records:ident, $training:ident) => {
        fn basics(&self) -> $crate::session::Basics {
            $crate::basics!(self.$($settings).+)
        }

        fn parts(&self) -> (&Self::Records, &::private_training::Training<Self::Model>) {
            (&self.$records, &self.$training)
        }

        fn parts_mut(
            &mut self,
        ) -> (
            &mut Self::Records,
            &mut ::private_training::Training<Self::Model>,
        ) {
            (&mut self.$records, &mut self.$training)
        }
    };
}

/// A run whose steps are those of a [`Training`]. It is an [`Experiment`]: what it does not say follows from these.
pub trait TrainingRun: Sized {
    const NAME: &'static str;
    const ABOUT: &'static str;
    const FLAGS_OF_A_PROCESS: &'static [fn() -> Vec<Id>] = &[];
    const FLAGS_AFTERWARDS: &'static [fn() -> Vec<Id>] = &[];
    const STORED: &'static [&'static str] = &[];
    /// Evaluations of a run.
    const EVALUATIONS: u64 = EVALUATIONS;
    /// Whether there is one before the first step too.
    const EVALUATED_FRESH: bool = false;

    /// Its settings, with the flags that they come from.
    type Settings: Settings;
    type Model: Network<2>;
    type Records: RunRecords<Self::Model>;

    fn instead(
        _arguments: &Arguments<<Self::Settings as Settings>::Flags>,
    ) -> Option<Result<(), Failure>> {
        None
    }

    /// The run before its first step, with its records loaded; [`Start`] makes its training.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`]: nothing has been created.
    fn load(
        settings: &Self::Settings,
        arguments: &Arguments<<Self::Settings as Settings>::Flags>,
        chosen: &Chosen,
    ) -> Result<Self, Failure>;

    /// Budget, steps, seeds.
    fn basics(&self) -> Basics;

    fn parts(&self) -> (&Self::Records, &Training<Self::Model>);

    /// The same, for a step.
    fn parts_mut(&mut self) -> (&mut Self::Records, &mut Training<Self::Model>);

    /// The plan; none without privacy.
    fn plan(&self) -> Option<&CheckedPlan> {
        self.parts().1.plan()
    }

    fn wording(&self) -> Wording {
        Wording::default()
    }

    /// Dimensions of the activations that are penalised.
    fn penalised(&self) -> Vec<usize> {
        Vec::new()
    }

    /// First lines: the steps, and their sensitivity.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] if the sensitivity is refused.
    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        let (steps, dims) = (self.basics().steps, self.penalised());
        announcement(self.parts_mut().1, steps, &dims)
    }

    ///
    /// # Errors
    ///
    /// As there.
    fn prepare(&mut self, _session: &mut Session) -> Result<(), Failure> {
        Ok(())
    }

    /// What its checkpoints must agree with: all that a step sees of private records.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] names a record that cannot be read.
    fn fingerprint(&self) -> Result<Vec<u8>, Failure> {
        self.parts().0.bytes()
    }

    /// Sampling, gradient, release, update.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] if the ledger cannot be written; nothing has left then.
    fn step(&mut self, session: &mut Session) -> Result<(), Failure> {
        self.gradient_step(session).map(drop)
    }

    /// The same, with the losses of a run without privacy.
    ///
    /// # Errors
    ///
    /// As [`TrainingRun::step`].
    fn gradient_step(&mut self, session: &mut Session) -> Result<Option<StepLosses>, Failure> {
        let (records, training) = self.parts_mut();
        let device = &session.chosen.device;
        take_step(training, &mut session.ledger, |network, sampled| {
            records.batch(network, sampled, device)
        })
    }

    /// The network that is scored: the average of its weights if there is one, as it is saved.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`].
    fn scored(&self) -> Result<Self::Model, Failure> {
        self.parts().1.averaged().map_err(Failure::failed)
    }

    /// How good it is, on public records.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`].
    fn scores(&mut self, session: &Session) -> Result<Scores, Failure>;

    /// How good it is so far.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`].
    fn evaluate(&mut self, session: &Session) -> Result<Evaluation, Failure> {
        Ok(self.scores(session)?.evaluation())
    }

    /// What is shown of a run whose steps are done; its weights are saved.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] and [`Failure::Interrupted`].
    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        Ok(self.scores(session)?.report())
    }

    /// What it releases after its steps, before the report: ranks other than the root take part in it too. Over ranks nothing
    /// is released elsewhere but by the steps.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`].
    fn release_last(&mut self, _session: &mut Session) -> Result<(), Failure> {
        Ok(())
    }

    fn when_done(_run: &Path, _word: &str) -> String {
        WHEN_DONE.into()
    }

    ///
    /// # Errors
    ///
    /// As there.
    fn afterwards(
        _arguments: &Arguments<<Self::Settings as Settings>::Flags>,
        _folder: &RunFolder,
        _interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        Ok(())
    }
}

impl<R: TrainingRun> Releases for R {
    fn releaser(&mut self) -> Option<&mut Releaser> {
        self.parts_mut().1.releaser()
    }
}

impl<R: TrainingRun> Experiment for R {
    const NAME: &'static str = R::NAME;
    const ABOUT: &'static str = R::ABOUT;
    const FLAGS_OF_A_PROCESS: &'static [fn() -> Vec<Id>] = R::FLAGS_OF_A_PROCESS;
    const FLAGS_AFTERWARDS: &'static [fn() -> Vec<Id>] = R::FLAGS_AFTERWARDS;
    const STORED: &'static [&'static str] = R::STORED;
    type Settings = R::Settings;

    fn instead(
        arguments: &Arguments<<R::Settings as Settings>::Flags>,
    ) -> Option<Result<(), Failure>> {
        R::instead(arguments)
    }

    fn load(
        settings: &R::Settings,
        arguments: &Arguments<<R::Settings as Settings>::Flags>,
        chosen: &Chosen,
    ) -> Result<Self, Failure> {
        R::load(settings, arguments, chosen)
    }

    fn data(&self) -> DataSummary {
        self.parts().0.summary()
    }

    fn plan(&self) -> Option<&CheckedPlan> {
        TrainingRun::plan(self)
    }

    fn wording(&self) -> Wording {
        TrainingRun::wording(self)
    }

    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        TrainingRun::announcement(self)
    }

    fn prepare(&mut self, session: &mut Session) -> Result<(), Failure> {
        TrainingRun::prepare(self, session)
    }

    fn fingerprint(&self) -> Result<Fingerprint, Failure> {
        Ok(Fingerprint::of(&TrainingRun::fingerprint(self)?))
    }

    fn state(&mut self) -> Option<&mut dyn RunState> {
        Some(self.parts_mut().1)
    }

    fn join(&mut self, crew: &Crew) -> Result<(), Failure> {
        let (records, training) = self.parts_mut();
        let (rank, ranks) = (crew.rank(), crew.size());
        crew.holds_records(records.summary().private)?;
        records.keep(rank, ranks)?;
        match rank {
            0 => training.over(crew.ranks(), crew.ordered()),
            _ => Ok(()),
        }
        .map_err(|e| Failure::input(e.to_string(), "leave --ordered out"))
    }

    fn serve(&mut self, session: &mut Session) -> Result<(), Failure> {
        let Some(crew) = session.crew.clone() else {
            return Ok(());
        };
        let (records, training) = self.parts_mut();
        let (records, device) = (&*records, &session.chosen.device);
        let served = training.serve(crew.ranks(), crew.ordered(), |network, own| {
            let batch = records.batch(network, own, device);
            batch.map_err(|e| RankError::Carrier(e.to_string()).into())
        });
        served.map_err(Failure::failed)?;
        self.release_last(session)
    }

    fn end_steps(&mut self) -> Result<(), Failure> {
        self.parts().1.end().map_err(Failure::failed)
    }

    fn steps(&self) -> u64 {
        self.basics().steps
    }

    fn step(&mut self, session: &mut Session) -> Result<(), Failure> {
        TrainingRun::step(self, session)
    }

    fn evaluates_after(&self, step: u64) -> bool {
        let steps = self.basics().steps;
        let due = step.is_multiple_of((steps / R::EVALUATIONS).max(1)) || step == steps;
        due && (step > 0 || R::EVALUATED_FRESH)
    }

    fn evaluate(&mut self, session: &Session) -> Result<Evaluation, Failure> {
        TrainingRun::evaluate(self, session)
    }

    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        save_weights(self.parts().1, &session.folder)?;
        self.release_last(session)?;
        TrainingRun::report(self, session)
    }

    fn afterwards(
        arguments: &Arguments<<R::Settings as Settings>::Flags>,
        folder: &RunFolder,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        R::afterwards(arguments, folder, interrupt)
    }

    fn when_done(run: &Path, word: &str) -> String {
        R::when_done(run, word)
    }
}
