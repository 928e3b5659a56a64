//! The command line of an experiment as clap reads it, and what a run is asked for that its settings do not say.
//!
//! Settings are kept in `config.toml`, and a run that resumes has them from there. What else is asked for of a run, such as
//! further scores or an export ([`Experiment::FLAGS_OF_A_PROCESS`]), and where it finds its records, is kept in `asked.json` as
//! it was given: a run that resumes does it too, with what is given anew in its place. Of a run that is done nothing is asked
//! for that [`Experiment::afterwards`] does not do.

use std::ffi::OsString;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches, Id};

use super::{Arguments, Experiment, FlagsOf, Running};
use crate::diagnostic::Failure;
use crate::private;
use crate::run_folder::RunFolder;

/// Flags of [`Running`] that a run keeps too.
const KEPT: [&str; 5] = [
    "data_dir",
    "cache_dir",
    "backend",
    "checkpoint_every",
    "json",
];

/// The command of an experiment. Every flag is a setting of the run, which `--resume` takes from its folder, but
/// those of [`Running`] and those that the experiment names.
pub fn command<E: Experiment>() -> Command {
    let sentence = E::ABOUT.split(". ").next();
    let command = Arguments::<FlagsOf<E>>::command()
        .name(E::KIND.map_or(E::NAME, |(_, kind)| kind))
        .about(sentence.unwrap_or_default().trim_end_matches('.'))
        .long_about(E::ABOUT);
    let mut of_process = flags_of::<Running>();
    of_process.extend(all(E::FLAGS_OF_A_PROCESS));
    let settings: Vec<Id> = command
        .get_arguments()
        .map(|argument| argument.get_id().clone())
        .filter(|id| !of_process.contains(id))
        .collect();
    command.mut_arg("resume", |resume| resume.conflicts_with_all(settings))
}

/// The flags of a part of a command line, those of its own parts among them.
pub fn flags_of<A: clap::Args>() -> Vec<Id> {
    let command = A::augment_args(Command::new("part"));
    let flags = command.get_arguments();
    flags.map(|flag| flag.get_id().clone()).collect()
}

fn all(parts: &[fn() -> Vec<Id>]) -> Vec<Id> {
    parts.iter().flat_map(|flags| flags()).collect()
}

/// What was given of some arguments, as the words of a command line, in the order in which the command has them: `--flag`, or
/// `--flag=value` for each value. `long` names the flag of an argument.
pub fn words_of(
    command: &Command,
    matches: &ArgMatches,
    long: impl Fn(&Arg) -> Option<String>,
) -> Vec<OsString> {
    let mut words = Vec::new();
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        let known = matches.try_contains_id(id).is_ok();
        let given = known && matches.value_source(id) == Some(ValueSource::CommandLine);
        let (true, Some(long)) = (given, long(argument)) else {
            continue;
        };
        let most = argument.get_num_args().map(|range| range.max_values());
        if !argument.get_action().takes_values() || most == Some(0) {
            words.push(format!("--{long}").into());
            continue;
        }
        for value in matches.get_raw(id).into_iter().flatten() {
            let mut word = OsString::from(format!("--{long}="));
            word.push(value);
            words.push(word);
        }
    }
    words
}

fn long_of(argument: &Arg) -> Option<String> {
    argument.get_long().map(String::from)
}

fn flag(word: &str) -> &str {
    word.split_once('=').map_or(word, |(flag, _)| flag)
}

/// What a command line says, and what the run that it resumes was asked for. A command line that clap refuses ends the process.
pub fn arguments<E: Experiment>(matches: &ArgMatches) -> Result<Arguments<FlagsOf<E>>, Failure> {
    let mut command = command::<E>();
    command.build();
    let parsed = |matches: &ArgMatches| -> Arguments<FlagsOf<E>> {
        Arguments::from_arg_matches(matches).unwrap_or_else(|e| e.exit())
    };
    let mut arguments = parsed(matches);
    let of_process = all(E::FLAGS_OF_A_PROCESS);
    let kept = |argument: &Arg| {
        let id = argument.get_id();
        long_of(argument).filter(|_| of_process.contains(id) || KEPT.contains(&id.as_str()))
    };
    let asked = words_of(&command, matches, kept);
    let mut asked: Vec<String> = asked
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let running = &arguments.running;
    let place = running.resume.as_deref().or(running.run.as_deref());
    let unfinished =
        |run: &&Path| run.join("config.toml").exists() && !run.join("run.json").exists();
    let before = place.filter(unfinished).map(RunFolder::asked).transpose()?;
    let more: Vec<String> = before
        .flatten()
        .unwrap_or_default()
        .into_iter()
        .filter(|word| !asked.iter().any(|given| flag(given) == flag(word)))
        .collect();
    if !more.is_empty() {
        let line = std::iter::once(OsString::from(command.get_name()))
            .chain(words_of(&command, matches, long_of))
            .chain(more.iter().map(OsString::from));
        let matches = command.clone().try_get_matches_from(line);
        arguments = parsed(&matches.unwrap_or_else(|e| e.exit()));
        asked.extend(more);
    }
    arguments.running.asked = asked;
    Ok(arguments)
}

/// Refuses what a run that is done was not asked for, and what is not done afterwards either.
pub(super) fn check_done<E: Experiment>(
    asked: &[String],
    folder: &RunFolder,
) -> Result<(), Failure> {
    let Some(before) = RunFolder::asked(folder.path())? else {
        return Ok(());
    };
    let command = command::<E>();
    let (of_process, afterwards) = (all(E::FLAGS_OF_A_PROCESS), all(E::FLAGS_AFTERWARDS));
    let late = |word: &&String| {
        let long = flag(word).trim_start_matches('-');
        let mut arguments = command.get_arguments();
        let of_word = arguments.find(|argument| argument.get_long() == Some(long));
        let is_of = |ids: &[Id]| of_word.is_some_and(|argument| ids.contains(argument.get_id()));
        is_of(&of_process) && !is_of(&afterwards) && !before.contains(word)
    };
    match asked.iter().find(late) {
        None => Ok(()),
        Some(word) => Err(Failure::input(
            format!(
                "{word}: the run in {} is done, and was not asked for it",
                folder.path().display()
            ),
            E::when_done(folder.path(), word),
        )),
    }
}

/// The command line of this process; it ends the process if clap refuses it.
pub(super) fn parse<E: Experiment>() -> Result<Arguments<FlagsOf<E>>, Failure> {
    let command = command::<E>().version(env!("CARGO_PKG_VERSION"));
    let matches = command.arg(private::flag()).get_matches();
    private::show(&matches);
    arguments::<E>(&matches)
}
