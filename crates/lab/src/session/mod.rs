//! What every experiment does alike: flags and settings, a run's beginning, its steps, its end.
//!
//! An [`Experiment`] says what a step is, how good its result is, and what is shown of it; [`run()`] does the rest:
//! it refuses bad input before anything is created, says what is promised, keeps one folder for one process,
//! takes the steps with a progress bar, checkpoints and interrupts, resumes from where a killed run was, and leaves
//! `run.json` and a page. `experiments/examples/own_experiment.rs` is a whole one.

mod finish;
mod flags;
mod promise;
mod stored;
mod training;
mod uses;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use dp_core::ledger::Ledger;
use dp_core::mechanism::Releaser;
use dp_core::plan::CheckedPlan;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use finish::Report;
pub use flags::{
    Arguments, Common, Ends, Running, bounded, budget_name, by_name, command, name_of, parse,
    positive, text_in, within,
};
pub use promise::{Promise, Wording, refused_plan, spent};
pub use stored::Released;
pub use training::{Training, floats_of_bytes, floats_to_bytes, releaser};
pub use uses::{Used, folder as splits_folder, name_of as name_of_path};

use crate::backend::Chosen;
use crate::checkpoint::{Checkpoint, Checkpoints, Identity};
use crate::diagnostic::Failure;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::resume::{begin, create, ledger, resumable};
use crate::run_folder::RunFolder;

const METRICS: &str = "metrics.jsonl";
/// What the session keeps in a checkpoint.
const STATE: &str = "session.json";
/// Interim evaluations of a run.
const EVALUATIONS: u64 = 25;

/// The settings of a run, as `config.toml` has them.
pub trait Settings: Serialize + DeserializeOwned + PartialEq {
    /// Refuses what cannot be, as far as that goes without the data.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names the flag, the value and the bound.
    fn check(&self) -> Result<(), Failure>;

    /// The name of the run's folder where none is given.
    fn name(&self) -> String;

    /// The seed of batches and noise, where it is known.
    fn insecure_noise_seed(&self) -> Option<u64>;
}

/// The records of a run.
pub struct DataSummary {
    /// What they are, in words.
    pub name: String,
    /// How many are private.
    pub private: usize,
    /// How many public ones it is judged by.
    pub test: usize,
    /// The data sets that they come from.
    pub used: Vec<Used>,
}

/// What decides a run, other than its settings.
pub struct Fingerprint {
    /// SHA-256 of the private records.
    pub records: String,
    /// Where records meet the noise as latents: the weights of their encoder, and the latents of each group.
    pub encoded: Option<(Vec<f32>, Vec<Vec<f32>>)>,
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
    /// The files of a checkpoint.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`].
    fn files(&mut self) -> Result<BTreeMap<String, Vec<u8>>, Failure>;

    /// Takes the place of what a checkpoint holds.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names a file that is missing or damaged.
    fn restore(&mut self, checkpoint: &Checkpoint) -> Result<(), Failure>;

    /// What draws and adds noise; none without privacy.
    fn releaser(&mut self) -> Option<&mut Releaser>;
}

/// What an evaluation found.
pub struct Evaluation {
    /// An object: a line of `metrics.jsonl`.
    pub scores: Value,
    /// The same in short, beside the progress bar.
    pub message: String,
    /// Whether the line tells the epsilon spent so far. Only where each step is a release; it takes the accountant
    /// a moment.
    pub accounted: bool,
}

/// An experiment: what is learned, and what is shown of it.
pub trait Experiment: Sized {
    /// Its name, and that of its binary.
    const NAME: &'static str;
    /// What it does, for `--help`.
    const ABOUT: &'static str;
    /// Groups of flags that are no settings: those that a resumed run may be given anew.
    const FLAGS_OF_A_PROCESS: &'static [&'static str] = &[];
    /// Releases outside of the steps, by the names under which [`Released`] keeps them.
    const STORED: &'static [&'static str] = &[];

    /// Its flags.
    type Flags: clap::Args + Serialize;
    /// Its settings.
    type Settings: Settings;

    /// Does what is asked for instead of a run; nothing where a run is asked for.
    fn instead(_arguments: &Arguments<Self::Flags>) -> Option<Result<(), Failure>> {
        None
    }

    /// The preset with the flags over it.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`] names the flag, the value and the bound.
    fn resolve(arguments: &Arguments<Self::Flags>) -> Result<Self::Settings, Failure>;

    /// The experiment before its first step, with its records loaded and its plan checked.
    ///
    /// # Errors
    ///
    /// [`Failure::BadInput`]: nothing has been created.
    fn load(
        settings: &Self::Settings,
        arguments: &Arguments<Self::Flags>,
        chosen: &Chosen,
    ) -> Result<Self, Failure>;

    /// Its records.
    fn data(&self) -> DataSummary;

    /// The plan; none without privacy.
    fn plan(&self) -> Option<&CheckedPlan>;

    /// Its words about privacy.
    fn wording(&self) -> Wording {
        Wording::default()
    }

    /// First lines that not every run has.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`].
    fn announcement(&mut self) -> Result<Vec<String>, Failure>;

    /// What takes long and comes before the first step, in a folder that exists.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] and [`Failure::Interrupted`].
    fn prepare(&mut self, _session: &mut Session) -> Result<(), Failure> {
        Ok(())
    }

    /// What its checkpoints must agree with.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] names a record that cannot be read.
    fn fingerprint(&self) -> Result<Fingerprint, Failure>;

    /// What its checkpoints keep; none where a run resumes from what it has released.
    fn state(&mut self) -> Option<&mut dyn RunState>;

    /// Steps of the run.
    fn steps(&self) -> u64;

    /// One step.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the ledger cannot be written; nothing has left then.
    fn step(&mut self, session: &mut Session) -> Result<(), Failure>;

    /// Whether there is an evaluation after `step` steps: 25 in a run, and one at its end.
    fn evaluates_after(&self, step: u64) -> bool {
        let steps = self.steps();
        step > 0 && (step.is_multiple_of((steps / EVALUATIONS).max(1)) || step == steps)
    }

    /// How good it is so far, on public records.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`].
    fn evaluate(&mut self, session: &Session) -> Result<Evaluation, Failure>;

    /// The results of a run whose steps are done, after what is released last.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] and [`Failure::Interrupted`].
    fn report(&mut self, session: &mut Session) -> Result<Report, Failure>;
}

/// A run at work in its folder.
pub struct Session {
    /// Its folder, locked.
    pub folder: RunFolder,
    /// Its ledger.
    pub ledger: Ledger,
    /// Where it computes.
    pub chosen: Chosen,
    /// How it is made.
    pub running: Running,
    /// Whether to stop.
    pub interrupt: Interrupt,
    /// Steps done.
    pub step: u64,
    /// Seconds of training so far.
    pub seconds: f64,
    /// Which of its records other runs use otherwise, and what else a reader must know.
    warnings: Vec<String>,
    elsewhere: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct State {
    seconds: f64,
}

/// The main of an experiment's binary.
pub fn main<E: Experiment>() -> std::process::ExitCode {
    crate::backend::quiet_drivers();
    match run::<E>(&parse::<E>()) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Runs an experiment from its command line, or resumes a run of it.
///
/// # Errors
///
/// [`Failure::BadInput`] before anything is created; [`Failure::Failed`] afterwards; [`Failure::Interrupted`] after
/// SIGINT or SIGTERM, with a checkpoint written.
pub fn run<E: Experiment>(arguments: &Arguments<E::Flags>) -> Result<(), Failure> {
    if let Some(done) = E::instead(arguments) {
        return done;
    }
    let running = &arguments.running;
    let (resumed, place) = (running.resume.as_deref(), running.run.as_deref());
    let begun = begin(resumed, place, read::<E::Settings>, || {
        E::resolve(arguments)
    })?;
    let Some((settings, folder)) = begun else {
        return Ok(());
    };
    let chosen = running.backend.choose()?;
    let place = place
        .or(running.out.as_deref())
        .map_or_else(|| default_place::<E>(&settings), Path::to_path_buf);
    if folder.is_none() {
        uses::untaken(&place)?;
    }
    let (mut experiment, elsewhere) = load::<E>(&settings, arguments, &chosen)?;
    let data = experiment.data();
    println!(
        "data      {}: {} private records, {} test records (public)",
        data.name, data.private, data.test
    );
    println!("device    {}", chosen.description);
    for line in experiment.announcement()? {
        println!("{line}");
    }
    let promise = promise(&experiment, &settings, &elsewhere);
    promise.announcement().iter().for_each(|l| println!("{l}"));
    let interrupt = Interrupt::listen()?;
    let (folder, ledger) = match folder {
        Some(folder) => {
            // What cannot be read must be known before any step is made.
            for name in E::STORED {
                Released::read(&folder, name)?;
            }
            let ledger = ledger(&folder, experiment.plan().is_some(), [])?;
            (folder, ledger)
        }
        None => create(&place, &settings, &program::<E>())?,
    };
    let mut session = Session {
        folder,
        ledger,
        chosen,
        running: running.clone(),
        interrupt,
        step: 0,
        seconds: 0.0,
        warnings: Vec::new(),
        elsewhere,
    };
    session
        .complete(&mut experiment, &settings)
        .map_err(|failure| resumable(failure, &session.folder))?;
    Checkpoints::of(session.folder.path()).remove()
}

/// A finished run that is judged again: nothing is released, and the ledger must hold what the plan had.
///
/// # Errors
///
/// [`Failure::BadInput`] for a folder whose run is not finished, or whose ledger lost releases.
pub fn judge_again<E: Experiment>(
    path: &Path,
    arguments: &Arguments<E::Flags>,
    finished: impl FnOnce(&RunFolder, &E::Settings) -> Result<bool, Failure>,
    weights: impl FnOnce(&RunFolder, &mut E) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let folder = RunFolder::open(path)?;
    crate::resume::done(&folder)?;
    let settings = read::<E::Settings>(&folder)?;
    if !finished(&folder, &settings)? {
        let run = folder.path().display();
        return Err(Failure::input(
            format!("the run in {run} is not finished"),
            format!("resume it with --resume {run}"),
        ));
    }
    let chosen = arguments.running.backend.choose()?;
    let (mut experiment, elsewhere) = load::<E>(&settings, arguments, &chosen)?;
    let planned = experiment.plan().map(|plan| {
        let planned = plan.releases_in_all();
        ("the plan of a finished run".to_string(), planned)
    });
    let ledger = ledger(&folder, planned.is_some(), planned)?;
    weights(&folder, &mut experiment)?;
    let mut session = Session {
        ledger,
        chosen,
        running: arguments.running.clone(),
        // Nobody listens: there is nothing to keep, and a signal ends it at once.
        interrupt: Interrupt::default(),
        step: experiment.steps(),
        seconds: finish::seconds_before(&folder),
        folder,
        warnings: Vec::new(),
        elsewhere,
    };
    session.finish(&mut experiment, &settings)?;
    Checkpoints::of(session.folder.path()).remove()
}

fn read<S: Settings>(folder: &RunFolder) -> Result<S, Failure> {
    let settings: S = folder.read_toml("config.toml")?;
    settings.check()?;
    Ok(settings)
}

/// The experiment with its records, and which of them other runs use otherwise.
fn load<E: Experiment>(
    settings: &E::Settings,
    arguments: &Arguments<E::Flags>,
    chosen: &Chosen,
) -> Result<(E, Vec<String>), Failure> {
    let experiment = E::load(settings, arguments, chosen)?;
    let promises = experiment.plan().is_some() && settings.insecure_noise_seed().is_none();
    let used = experiment.data().used;
    let elsewhere = uses::noted(|| arguments.running.cache(), &used, promises)?;
    Ok((experiment, elsewhere))
}

fn default_place<E: Experiment>(settings: &E::Settings) -> PathBuf {
    RunFolder::unused(&Path::new("runs").join(E::NAME).join(settings.name()))
}

/// The program as its user calls it.
fn program<E: Experiment>() -> String {
    format!("cargo run --release --locked --bin {} --", E::NAME)
}

fn promise<'a, E: Experiment>(
    experiment: &'a E,
    settings: &E::Settings,
    elsewhere: &'a [String],
) -> Promise<'a> {
    Promise {
        plan: experiment.plan(),
        records: experiment.data().private,
        insecure_noise_seed: settings.insecure_noise_seed(),
        wording: experiment.wording(),
        elsewhere,
    }
}

impl Session {
    /// All steps that are left, and the end.
    fn complete<E: Experiment>(
        &mut self,
        experiment: &mut E,
        settings: &E::Settings,
    ) -> Result<(), Failure> {
        let released_before = self.ledger.releases() > 0;
        experiment.prepare(self)?;
        let identity = self.identity(experiment, settings)?;
        self.restore(experiment, &identity, released_before)?;
        let reached = self.step;
        self.folder.keep_json_lines(METRICS, |line| {
            line["step"].as_u64().is_some_and(|step| step <= reached)
        })?;
        self.train(experiment, &identity)?;
        self.finish(experiment, settings)
    }

    /// What the run is.
    fn identity<E: Experiment>(
        &self,
        experiment: &E,
        settings: &E::Settings,
    ) -> Result<Identity, Failure> {
        let fingerprint = experiment.fingerprint()?;
        let settings = toml::to_string_pretty(settings).map_err(Failure::failed)?;
        let identity = Identity::of(E::NAME, &settings, fingerprint.records, self.chosen.backend)?;
        Ok(match fingerprint.encoded {
            Some((weights, latents)) => identity.encoded(&weights, &latents),
            None => identity,
        })
    }

    /// Takes the place of the last checkpoint; at the start where there is none.
    fn restore<E: Experiment>(
        &mut self,
        experiment: &mut E,
        identity: &Identity,
        released_before: bool,
    ) -> Result<(), Failure> {
        let Some(state) = experiment.state() else {
            return Ok(());
        };
        let checkpoints = Checkpoints::of(self.folder.path());
        let noise = state.releaser().map(Releaser::noise);
        let Some(checkpoint) = checkpoints.resume(identity, self.chosen.backend, noise)? else {
            if released_before {
                println!("resume    no checkpoint was reached: from the first step");
            }
            return Ok(());
        };
        state.restore(&checkpoint)?;
        if let Some(releaser) = state.releaser() {
            let before = releaser.at_step(checkpoint.step);
            before.map_err(|e| checkpoint.damaged(&e))?;
        }
        let own: State = checkpoint.json(STATE)?;
        (self.step, self.seconds) = (checkpoint.step, own.seconds);
        self.warnings.extend(checkpoint.warning);
        Ok(())
    }

    fn save<E: Experiment>(&self, experiment: &mut E, identity: &Identity) -> Result<(), Failure> {
        let Some(state) = experiment.state() else {
            return Ok(());
        };
        let own = State {
            seconds: self.seconds,
        };
        let mut files = state.files()?;
        let own = serde_json::to_vec_pretty(&own).map_err(Failure::failed)?;
        files.insert(STATE.to_string(), own);
        let noise = state.releaser().map(|releaser| releaser.noise().state());
        let releases = self.ledger.releases();
        Checkpoints::of(self.folder.path()).write(
            self.step,
            releases,
            identity,
            noise.as_ref(),
            &files,
        )
    }

    fn train<E: Experiment>(
        &mut self,
        experiment: &mut E,
        identity: &Identity,
    ) -> Result<(), Failure> {
        let steps = experiment.steps();
        let progress = Progress::from(self.step, steps);
        if self.step == 0 && experiment.evaluates_after(0) {
            self.evaluate(experiment, &progress)?;
        }
        while self.step < steps {
            let start = Instant::now();
            experiment.step(self)?;
            self.step += 1;
            progress.step();
            let step = self.step;
            if experiment.evaluates_after(step) {
                self.evaluate(experiment, &progress)?;
            }
            self.seconds += start.elapsed().as_secs_f64();
            let stop = self.interrupt.asked() || self.running.stop_after_step == Some(step);
            if stop || step.is_multiple_of(self.running.checkpoint_every) || step == steps {
                self.save(experiment, identity)?;
            }
            if stop && step < steps {
                progress.finish();
                return Err(Failure::Interrupted {
                    message: format!("stopped after step {step} of {steps}"),
                    help: None,
                });
            }
        }
        progress.finish();
        Ok(())
    }

    /// Scores on public records, to the progress bar and to `metrics.jsonl`.
    fn evaluate<E: Experiment>(
        &self,
        experiment: &mut E,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let found = experiment.evaluate(self)?;
        let mut line = found.scores;
        line["step"] = json!(self.step);
        let mut message = found.message;
        if found.accounted {
            let epsilon = match experiment.plan() {
                Some(plan) if self.step > 0 => {
                    let entries = self.ledger.entries().map_err(Failure::failed)?;
                    Some(plan.epsilon_so_far(&entries).map_err(Failure::failed)?)
                }
                _ => None,
            };
            line["epsilon_upper"] = json!(epsilon);
            let spent = epsilon.map(dp_core::decimal::upper);
            message += &spent.map_or(String::new(), |spent| format!(", epsilon {spent}"));
            progress.line(&format!("step {:>6}: {message}", self.step));
        }
        progress.message(message);
        self.folder.append_json(METRICS, &line)
    }
}
