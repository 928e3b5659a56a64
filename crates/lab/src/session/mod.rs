//! What every experiment does alike: flags and settings, a run's beginning, its steps, its end.
//!
//! An [`Experiment`] says what a step is, how good its result is, and what is shown of it. One that holds a training
//! ([`TrainingSteps`]) says less: its steps are those of the training. [`run()`] does the rest. It refuses bad input before
//! anything is created, says what is promised, keeps one folder for one process, takes the steps with a progress bar,
//! checkpoints and interrupts, resumes from where a killed run was, and leaves `run.json` and a page.
//! `experiments/examples/own_experiment.rs` is a whole one.

mod command;
mod experiment;
mod finish;
mod flags;
mod plan;
mod promise;
mod rows;
mod scores;
mod steps;
mod stored;
mod training;
mod uses;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use dp_core::ledger::Ledger;

pub use command::{arguments, command, flags_of, words_of};
pub use experiment::{
    DataSummary, Evaluation, Experiment, Fingerprint, FlagsOf, Picture, Report, RunState, Settings,
};
pub use flags::{
    Arguments, Declared, Running, at_least, between, bounded, budget_name, by_name, must_be,
    name_of, norm, positive, text_in, within,
};
pub use promise::{Promise, Wording, refused_plan, spent};
pub use rows::{Predictions, Tables, batch, table_targets};
pub use scores::{Scores, curve};
pub use stored::{Releases, SampledBatch, read as read_release, released};
pub use training::{
    Basics, RunRecords, Start, Steps, TrainingSteps, floats_of_bytes, floats_to_bytes,
    load_weights, noise_source, releaser,
};
pub use uses::{Used, folder as splits_folder, name_of as name_of_path};

use self::finish::Clock;
use crate::backend::Chosen;
use crate::checkpoint::Checkpoints;
use crate::command::this_program;
use crate::diagnostic::{Failure, OrFailed};
use crate::interrupt::Interrupt;
use crate::ranks::Crew;
use crate::resume::{begin, create, ledger, resumable};
use crate::run_folder::RunFolder;

/// A run at work in its folder.
pub struct Session {
    /// Its folder, locked.
    pub folder: RunFolder,
    pub ledger: Ledger,
    pub chosen: Chosen,
    pub running: Running,
    /// Whether to stop.
    pub interrupt: Interrupt,
    /// Whether the run has a plan: nothing is released without its noise then.
    promises: bool,
    /// The processes that take it together, if there are several.
    pub(crate) crew: Option<Crew>,
    /// Of the records of all of them.
    fingerprint: Option<Fingerprint>,
    /// Releases that other ranks took part in.
    shared: BTreeSet<String>,
    /// How many private records there are.
    records: usize,
    pub step: u64,
    /// Seconds of training so far.
    pub seconds: f64,
    clock: Clock,
    /// Which of its records other runs use otherwise, and what else a reader must know.
    warnings: Vec<String>,
    elsewhere: Vec<String>,
}

impl Session {
    /// Before the first step, of one process, with an interrupt that nobody listens to.
    fn new<E: Experiment>(
        folder: RunFolder,
        ledger: Ledger,
        chosen: Chosen,
        running: &Running,
        experiment: &mut E,
    ) -> Self {
        Self {
            folder,
            ledger,
            chosen,
            running: running.clone(),
            interrupt: Interrupt::default(),
            promises: experiment.plan().is_some(),
            crew: None,
            fingerprint: None,
            shared: BTreeSet::new(),
            records: experiment.data().private,
            step: 0,
            seconds: 0.0,
            clock: Clock::Known(None),
            warnings: Vec::new(),
            elsewhere: Vec::new(),
        }
    }
}

/// The main of a program that is one experiment.
pub fn main<E: Experiment>() -> std::process::ExitCode {
    crate::backend::quiet_drivers();
    crate::diagnostic::main(|| run::<E>(&command::parse::<E>()?))
}

/// Runs an experiment from its command line, or resumes a run of it.
///
/// [`Failure::BadInput`] comes before anything is created; [`Failure::Failed`] afterwards; [`Failure::Interrupted`] after
/// SIGINT or SIGTERM, with a checkpoint written.
pub fn run<E: Experiment>(arguments: &Arguments<FlagsOf<E>>) -> Result<(), Failure> {
    if let Some(done) = E::instead(arguments) {
        return done;
    }
    let running = &arguments.running;
    if running.plan {
        return plan::tell::<E>(arguments);
    }
    match Crew::of(running)? {
        None => in_this_process::<E>(arguments, None),
        Some(crew) if crew.rank() == 0 => {
            crew.end(in_this_process::<E>(arguments, Some(crew.clone())))
        }
        Some(crew) => {
            let mut arguments = arguments.clone();
            arguments.running.rank = crew.rank();
            crew.end(rank::<E>(&arguments, crew.clone()))
        }
    }
}

/// A rank other than the root: it has the root's settings and its part of the records, and writes nothing.
fn rank<E: Experiment>(arguments: &Arguments<FlagsOf<E>>, crew: Crew) -> Result<(), Failure> {
    let Some(settings) = crew.settings::<E::Settings>()? else {
        return Ok(());
    };
    let chosen = arguments.running.backend.choose()?;
    let mut experiment = E::load(&settings, arguments, &chosen)?;
    crew.greet(&experiment.fingerprint()?, &chosen)?;
    experiment.join(&crew)?;
    // Nothing is kept of a rank.
    let scratch = tempfile::tempdir().or_failed()?;
    let folder = RunFolder::create(&scratch.path().join("rank"))?;
    let ledger = Ledger::create(&folder.file("ledger.jsonl")).or_failed()?;
    let running = &arguments.running;
    let mut session = Session::new(folder, ledger, chosen, running, &mut experiment);
    session.crew = Some(crew);
    experiment.serve(&mut session)
}

fn in_this_process<E: Experiment>(
    arguments: &Arguments<FlagsOf<E>>,
    crew: Option<Crew>,
) -> Result<(), Failure> {
    let began = Instant::now();
    let running = &arguments.running;
    let (resumed, place) = (running.resume.as_deref(), running.run.as_deref());
    let begun = begin(resumed, place, read::<E>, || {
        E::Settings::resolve(arguments).and_then(checked)
    })?;
    let Some((settings, folder)) = begun else {
        if let Some(crew) = &crew {
            crew.nothing_to_do()?;
        }
        // Only --run finds a run that is done.
        let done = RunFolder::open(place.unwrap_or(Path::new("")))?;
        command::check_done::<E>(&running.asked, &done)?;
        E::afterwards(arguments, &done, &Interrupt::default())?;
        return finish::told(running, &done);
    };
    let chosen = running.backend.choose()?;
    let place = place
        .or(running.out.as_deref())
        .map_or_else(|| default_place::<E>(&settings), Path::to_path_buf);
    if folder.is_none() && place.exists() {
        // Refused, unless it holds nothing: a run that is refused must leave no note.
        RunFolder::create(&place)?;
    }
    if let Some(crew) = &crew {
        crew.tell(&settings)?;
    }
    let (mut experiment, elsewhere) = load::<E>(&settings, arguments, &chosen)?;
    let data = experiment.data();
    println!(
        "data      {}: {} private {}, {} test records (public)",
        data.name,
        data.private,
        experiment.wording().each(),
        data.test
    );
    if let Some(opened) = data.opened() {
        println!("public    {opened}");
    }
    println!("device    {}", chosen.description);
    let mut fingerprint = None;
    if let Some(crew) = &crew {
        let own = experiment.fingerprint()?;
        crew.greet(&own, &chosen)?;
        experiment.join(crew)?;
        fingerprint = Some(own);
        println!("ranks     {}", crew.size());
    }
    for line in experiment.announcement()? {
        println!("{line}");
    }
    let promise = promise(&mut experiment, data.private, &settings, &elsewhere);
    promise.announcement().iter().for_each(|l| println!("{l}"));
    let interrupt = match &crew {
        Some(crew) => crew.interrupt().clone(),
        None => Interrupt::listen()?,
    };
    let resumed = folder.is_some();
    let (folder, ledger) = match folder {
        Some(folder) => {
            // What cannot be read must be known before any step is made.
            for name in E::STORED {
                released(&folder, name)?;
            }
            let ledger = ledger(&folder, experiment.plan().is_some(), [])?;
            if !running.asked.is_empty() {
                println!("asked     {}", running.asked.join(" "));
            }
            (folder, ledger)
        }
        None => create(&place, &settings, &running.asked)?,
    };
    let mut session = Session {
        interrupt,
        crew,
        fingerprint,
        records: data.private,
        elsewhere,
        clock: Clock::Since { began, resumed },
        ..Session::new(folder, ledger, chosen, running, &mut experiment)
    };
    let run = session
        .complete(&mut experiment, &settings)
        .map_err(|failure| {
            let kind = E::KIND.map(|(_, kind)| kind);
            let (program, own) = (this_program(), Some(E::NAME));
            let own = own.filter(|own| *own != program);
            let name = [Some(&*program), own, kind].into_iter().flatten();
            let command = name.collect::<Vec<_>>().join(" ");
            resumable(failure, &command, &session.folder)
        })?;
    Checkpoints::of(session.folder.path()).remove()?;
    E::afterwards(arguments, &session.folder, &session.interrupt)?;
    session.took(run)?;
    finish::told(running, &session.folder)
}

/// A finished run that is judged again: nothing is released, and the ledger must hold what the plan had.
pub fn judge_again<E: Experiment>(
    path: &Path,
    arguments: &Arguments<FlagsOf<E>>,
    finished: impl FnOnce(&RunFolder, &E::Settings) -> Result<bool, Failure>,
    weights: impl FnOnce(&RunFolder, &mut E) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let folder = RunFolder::open(path)?;
    crate::resume::done(&folder)?;
    let settings = read::<E>(&folder)?;
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
    // Nobody listens: there is nothing to keep, and a signal ends it at once.
    let running = &arguments.running;
    let mut session = Session::new(folder, ledger, chosen, running, &mut experiment);
    session.step = experiment.steps();
    let before = finish::before(&session.folder);
    session.seconds = before.training_seconds.unwrap_or(0.0);
    session.clock = Clock::Known(before.took);
    session.elsewhere = elsewhere;
    session.finish(&mut experiment, &settings)?;
    Checkpoints::of(session.folder.path()).remove()?;
    E::afterwards(arguments, &session.folder, &session.interrupt)?;
    finish::told(running, &session.folder)
}

/// The settings of a run. One of another subcommand of this name is refused before: its settings have other fields.
fn read<E: Experiment>(folder: &RunFolder) -> Result<E::Settings, Failure> {
    const CONFIG: &str = "config.toml";
    if let Some((key, kind)) = E::KIND
        && let Some(toml::Value::String(found)) = folder.read_toml::<toml::Table>(CONFIG)?.get(key)
        && found != kind
    {
        let (name, run) = (E::NAME, folder.path().display());
        return Err(Failure::input(
            format!("{run} is a run of `sliver {name} {found}`, not of `{kind}`"),
            format!(
                "resume it with `sliver {name} {found} --resume {run}`, or name another folder"
            ),
        ));
    }
    folder.read_toml(CONFIG).and_then(checked)
}

/// Refuses settings of which one is beyond its bound, or that do not go together.
fn checked<S: Settings>(settings: S) -> Result<S, Failure> {
    settings.bounds()?;
    settings.check()?;
    Ok(settings)
}

/// The experiment with its records, and which of them other runs use otherwise.
fn load<E: Experiment>(
    settings: &E::Settings,
    arguments: &Arguments<FlagsOf<E>>,
    chosen: &Chosen,
) -> Result<(E, Vec<String>), Failure> {
    let mut experiment = E::load(settings, arguments, chosen)?;
    let promises = experiment.plan().is_some() && settings.insecure_noise_seed().is_none();
    let used = experiment.data().used;
    let elsewhere = uses::noted(|| arguments.running.cache(), &used, promises)?;
    Ok((experiment, elsewhere))
}

fn default_place<E: Experiment>(settings: &E::Settings) -> PathBuf {
    RunFolder::unused(&Path::new("runs").join(E::NAME).join(settings.name()))
}

fn promise<'a, E: Experiment>(
    experiment: &'a mut E,
    records: usize,
    settings: &E::Settings,
    elsewhere: &'a [String],
) -> Promise<'a> {
    let mut wording = experiment.wording();
    if let Some(opened) = experiment.data().opened() {
        wording.public += &format!(" ({opened})");
    }
    Promise {
        plan: experiment.plan(),
        records,
        insecure_noise_seed: settings.insecure_noise_seed(),
        wording,
        elsewhere,
    }
}
