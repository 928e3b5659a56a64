//! What an experiment gives.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Id;
use data::split::Use;
use dp_core::ledger::Ledger;
use dp_core::mechanism::Releaser;
use dp_core::plan::CheckedPlan;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Arguments, Declared, Scores, Session, Steps, Used, Wording};
use crate::backend::Chosen;
use crate::checkpoint::RestoredCheckpoint;
use crate::diagnostic::Failure;
use crate::interrupt::Interrupt;
use crate::ranks::{Crew, one_process};
use crate::report::Metric;
use crate::run_folder::RunFolder;

/// The settings of a run, as `config.toml` has them.
pub trait Settings: Declared + Serialize + DeserializeOwned + PartialEq {
    /// The preset with the flags over it. Their bounds and [`Settings::check`] follow.
    fn resolve(arguments: &Arguments<Self::Flags>) -> Result<Self, Failure>;

    /// Refuses settings that do not go together, as far as that goes without the data. Each is within its own bounds.
    fn check(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// The name of the run's folder if none is given.
    fn name(&self) -> String;
}

#[derive(Default)]
pub struct DataSummary {
    /// What they are, in words.
    pub name: String,
    pub private: usize,
    /// How many public ones it is judged by.
    pub test: usize,
    /// The data sets that they come from.
    pub used: Vec<Used>,
}

impl DataSummary {
    /// Which of somebody's own rows became public, in words; nothing if none did.
    pub fn opened(&self) -> Option<String> {
        let (rows, mut used) = (self.test, self.used.iter());
        used.find_map(|Used { what, used, .. }| match used {
            Use::TestShare(share) => Some(format!(
                "{rows} rows of {what}, which --test-share {share} makes public"
            )),
            _ => None,
        })
    }
}

/// What decides a run, other than its settings.
#[derive(Clone)]
pub struct Fingerprint {
    pub records: String,
    /// If records meet the noise as latents: the weights of their encoder, and the SHA-256 of the latents of each group.
    pub encoded: Option<(Vec<f32>, Vec<String>)>,
}

impl Fingerprint {
    /// That of records that meet the noise as they are.
    pub fn of(records: &[u8]) -> Self {
        Self {
            records: crate::checkpoint::hex(records),
            encoded: None,
        }
    }
}

/// What the steps of a run change and the next step depends on.
pub trait RunState {
    /// The files of a checkpoint, beside the run's ledger.
    fn files(&mut self, ledger: &Ledger) -> Result<BTreeMap<String, Vec<u8>>, Failure>;

    /// Takes the place of what a checkpoint holds: [`Failure::BadInput`] names a file that is missing or damaged.
    fn restore(&mut self, checkpoint: &RestoredCheckpoint, ledger: &Ledger) -> Result<(), Failure>;
}

#[derive(Default)]
pub struct Evaluation {
    /// An object: a line of `metrics.jsonl`.
    pub scores: Value,
    /// The same in short, beside the progress bar.
    pub message: String,
    /// Whether the line tells the epsilon spent so far. Only if each step is a release; it takes the accountant
    /// a moment.
    pub accounted: bool,
}

/// A picture: its file's name, its caption, its bytes.
pub type Picture = (&'static str, String, Vec<u8>);

/// What an experiment shows of a finished run.
#[derive(Debug, Default)]
pub struct Report {
    /// The heading of its page, but for what is promised; made from the experiment and the data set where absent.
    pub title: Option<String>,
    pub pictures: Vec<Picture>,
    /// Results, beside published ones.
    pub metrics: Vec<Metric>,
    pub test: Map<String, Value>,
    /// What a reader must know before believing them.
    pub warnings: Vec<String>,
    /// Fields of `run.json` of the experiment's own.
    pub more: Vec<(&'static str, Value)>,
}

pub type FlagsOf<E> = <<E as Experiment>::Settings as Declared>::Flags;

/// An experiment: what is learned, and what is shown of it. One that trains gives its [`Experiment::training`], from which
/// data, noise, fingerprint, state, steps and ranks follow.
pub trait Experiment: Sized {
    /// Its name, and that of its subcommand.
    const NAME: &'static str;
    /// If its subcommand has several, `NAME KIND`: the setting that says which one a run is of, and its value.
    const KIND: Option<(&'static str, &'static str)> = None;
    /// What it does, for `--help`.
    const ABOUT: &'static str;
    /// Flags that are no settings ([`flags_of`](super::flags_of)): a resumed run has those of its first process, and may be given others.
    const FLAGS_OF_A_PROCESS: &'static [fn() -> Vec<Id>] = &[];
    /// Those of them that ask for what [`Experiment::afterwards`] does, of a run that is done too.
    const FLAGS_AFTERWARDS: &'static [fn() -> Vec<Id>] = &[];
    /// Releases outside of the steps, by the names under which [`Session::release`] keeps them.
    const STORED: &'static [&'static str] = &[];
    /// Evaluations of a run; there is always one at its end.
    const EVALUATIONS: u64 = 25;
    /// Whether there is one before the first step too.
    const EVALUATED_FRESH: bool = false;

    /// Its settings, with the flags that they come from.
    type Settings: Settings;

    /// Does what is asked for instead of a run; nothing if a run is asked for.
    fn instead(_arguments: &Arguments<FlagsOf<Self>>) -> Option<Result<(), Failure>> {
        None
    }

    /// The experiment before its first step, with its records loaded and its plan checked. If it fails, nothing has been created.
    fn load(
        settings: &Self::Settings,
        arguments: &Arguments<FlagsOf<Self>>,
        chosen: &Chosen,
    ) -> Result<Self, Failure>;

    /// The training whose steps these are, if it trains.
    fn training(&mut self) -> Option<&mut dyn Steps> {
        None
    }

    fn data(&mut self) -> DataSummary {
        self.training()
            .map(|training| training.data())
            .unwrap_or_default()
    }

    /// What samples and adds noise; none without privacy.
    fn releaser(&mut self) -> Option<&mut Releaser> {
        self.training()?.releaser()
    }

    /// The plan; none without privacy.
    fn plan(&mut self) -> Option<&CheckedPlan> {
        self.releaser().map(|releaser| releaser.plan())
    }

    fn wording(&self) -> Wording {
        Wording::default()
    }

    /// First lines that not every run has; of a training its steps, and their sensitivity.
    fn announcement(&mut self) -> Result<Vec<String>, Failure> {
        self.training()
            .map_or(Ok(Vec::new()), |training| training.announcement())
    }

    /// What takes long and comes before the first step, in a folder that exists.
    fn prepare(&mut self, _session: &mut Session) -> Result<(), Failure> {
        Ok(())
    }

    /// What its checkpoints must agree with beside the settings: all that a step of a training sees of private records, or the data
    /// sets that records come from.
    fn fingerprint(&mut self) -> Result<Fingerprint, Failure> {
        if let Some(training) = self.training() {
            return Ok(Fingerprint::of(&training.bytes()?));
        }
        let sums = self.data().used.into_iter().map(|used| used.sha256);
        Ok(Fingerprint::of(sums.collect::<String>().as_bytes()))
    }

    /// What its checkpoints keep; none if a run resumes from what it has released.
    fn state(&mut self) -> Option<&mut dyn RunState> {
        Some(self.training()?)
    }

    /// Becomes one of several ranks: keeps the private records of this one, and forgets those of others.
    fn join(&mut self, crew: &Crew) -> Result<(), Failure> {
        if let Some(training) = self.training() {
            return training.join(crew);
        }
        let name = Self::KIND.map_or(String::new(), |(_, kind)| format!(" {kind}"));
        Err(one_process(&format!("`sliver {}{name}`", Self::NAME)))
    }

    /// What a rank other than the root does: its part of each step and of each release.
    fn serve(&mut self, session: &mut Session) -> Result<(), Failure> {
        if let Some(training) = self.training() {
            training.serve(session)?;
        }
        self.release_last(session)
    }

    fn steps(&mut self) -> u64 {
        self.training().map_or(0, |training| training.steps())
    }

    /// One step. If the ledger cannot be written, it fails, and nothing has left then.
    fn step(&mut self, session: &mut Session) -> Result<(), Failure> {
        self.training()
            .map_or(Ok(()), |training| training.step(session))
    }

    /// How good it is, on public records.
    fn scores(&mut self, _session: &Session) -> Result<Scores, Failure> {
        Ok(Scores::default())
    }

    /// How good it is so far.
    fn evaluate(&mut self, session: &Session) -> Result<Evaluation, Failure> {
        Ok(self.scores(session)?.evaluation())
    }

    /// What it releases after its steps, before the report: ranks other than the root take part in it too. Over ranks nothing
    /// is released elsewhere but by the steps.
    fn release_last(&mut self, _session: &mut Session) -> Result<(), Failure> {
        Ok(())
    }

    /// The results of a run whose steps are done, after what is released last; the weights of a training are saved.
    fn report(&mut self, session: &mut Session) -> Result<Report, Failure> {
        Ok(self.scores(session)?.report())
    }

    /// What is asked for of a run that is done, such as samples to take away: it reads the run's folder alone. If it fails, the run
    /// stays done.
    fn afterwards(
        _arguments: &Arguments<FlagsOf<Self>>,
        _folder: &RunFolder,
        _interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        Ok(())
    }

    /// What to do instead if a run that is done is asked for something else, by the word that asks for it.
    fn when_done(_run: &Path, _word: &str) -> String {
        "leave it out, or name another folder to start the run anew".into()
    }
}
