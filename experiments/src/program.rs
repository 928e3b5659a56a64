//! The program `sliver` and its subcommands.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory, FromArgMatches};
use lab::diagnostic::{self, Failure, OrFailed};
use lab::private;
use lab::session::{self, Experiment};

use crate::{adapt, audit, circle, cost, devices, distance, export, fair, flow, generator, ldp};
use crate::{privatise, schema, swae, synth};

/// A subcommand: what it is given, and what it does with that.
struct Subcommand {
    command: Command,
    /// Flags whose values may come first and without them: `swae mnist` is `swae --dataset mnist`.
    first: &'static [&'static str],
    /// What it is one of: the name of the choice, as sweeps have it, and subcommands; where none is named, the one that takes the
    /// first value, or the first one.
    kinds: Option<(&'static str, Vec<Subcommand>)>,
    /// Whether it is the kind that takes this first value.
    claims: fn(&str) -> bool,
    run: fn(&ArgMatches) -> Result<(), Failure>,
}

/// Flags of an experiment that `--help` shows, beside those whose values come first; `sliver help` shows all.
const SHORT: [&str; 12] = [
    "preset",
    "records",
    "epsilon",
    "delta",
    "no_privacy",
    "steps",
    "seed",
    "backend",
    "out",
    "run",
    "resume",
    "export",
];

fn parsed<A: FromArgMatches>(matches: &ArgMatches) -> A {
    A::from_arg_matches(matches).unwrap_or_else(|e| e.exit())
}

fn experiment<E: Experiment>(first: &'static [&'static str]) -> Subcommand {
    Subcommand {
        command: session::command::<E>().mut_args(|arg| {
            let name = arg.get_id().as_str();
            let hidden = !SHORT.contains(&name) && !first.contains(&name);
            arg.hide_short_help(hidden)
        }),
        first,
        kinds: None,
        claims: |_| false,
        run: |matches| session::run::<E>(&parsed(matches)),
    }
}

fn tool<A: CommandFactory>(run: fn(&ArgMatches) -> Result<(), Failure>) -> Subcommand {
    Subcommand {
        command: A::command(),
        first: &[],
        kinds: None,
        claims: |_| false,
        run,
    }
}

/// Subcommands of one name.
fn group(
    name: &'static str,
    about: &'static str,
    key: &'static str,
    kinds: Vec<Subcommand>,
) -> Subcommand {
    Subcommand {
        command: Command::new(name)
            .about(about)
            .subcommand_required(true)
            .override_usage(format!("sliver {name} [{}] [OPTIONS]", key.to_uppercase())),
        first: &[],
        kinds: Some((key, kinds)),
        claims: |_| false,
        run: |_| Ok(()),
    }
}

impl Subcommand {
    fn first(self, first: &'static [&'static str]) -> Self {
        Self { first, ..self }
    }

    fn claiming(self, claims: fn(&str) -> bool) -> Self {
        Self { claims, ..self }
    }

    /// Whether a flag of it may have this value, as far as its possible values tell.
    fn takes(&self, flag: &str, value: &str) -> bool {
        let mut flags = self.command.get_arguments();
        let known = flags.find(|arg| arg.get_id() == flag);
        let possible = known.map_or_else(Vec::new, |arg| arg.get_possible_values());
        possible.is_empty() || possible.iter().any(|one| one.matches(value, false))
    }

    /// Its command, and those of what it is one of, behind the words of `before`.
    fn command(self, before: &str) -> Command {
        let name = format!("{before} {}", self.command.get_name());
        if let Some((_, kinds)) = self.kinds {
            let kinds = kinds.into_iter().map(|kind| kind.command(&name));
            return self.command.display_name(&name).subcommands(kinds);
        }
        let first = self
            .first
            .iter()
            .map(|flag| format!(" [{}]", flag.to_uppercase()));
        let command = self.command.display_name(&name);
        match self.first {
            [] => command,
            _ => command.override_usage(format!("{name}{} [OPTIONS]", first.collect::<String>())),
        }
    }
}

/// What makes runs, and so the cells of a sweep.
fn experiments() -> Vec<Subcommand> {
    vec![
        group(
            "synth",
            "Make a private copy of images or of a table, by what the input is",
            "kind",
            vec![
                experiment::<synth::Synth>(&["input"]),
                experiment::<synth::TableCopy>(&["input"]).claiming(synth::names_table),
            ],
        ),
        experiment::<swae::SwaeRun>(&["dataset"]),
        group(
            "flow",
            "Generate images by a private release in a latent space, `mixture` where no mechanism is named",
            "mechanism",
            vec![
                experiment::<flow::Run<flow::Mixture>>(&["dataset"]),
                experiment::<flow::Run<flow::Marginals>>(&["dataset"]),
                experiment::<flow::Run<flow::Fixed>>(&["dataset"]),
                experiment::<flow::Run<flow::Resampled>>(&["dataset"]),
                experiment::<flow::Run<flow::Generator>>(&["dataset"]),
                experiment::<flow::Run<flow::Gaussian>>(&["dataset"]),
                experiment::<flow::Run<flow::Public>>(&["dataset"]),
                tool::<flow::toy::Arguments>(|matches| flow::toy::run(&parsed(matches))),
            ],
        ),
        group(
            "generator",
            "Train a generator of images by a private release, `marginals` where none is named",
            "release",
            vec![
                experiment::<generator::Generate<generator::Marginals>>(&["dataset"]),
                experiment::<generator::Generate<generator::Projections>>(&["dataset"]),
            ],
        ),
        group(
            "fair",
            "Train a model that should not tell a sensitive attribute, privately, `classification` where no task is named",
            "task",
            vec![
                experiment::<fair::Fair<fair::Classification>>(&[]),
                experiment::<fair::Fair<fair::Regression2d>>(&[]),
                experiment::<fair::Fair<fair::Regression1d>>(&[]),
                experiment::<fair::Fair<fair::Representation>>(&[]),
                experiment::<fair::Fair<fair::Adult>>(&[]),
            ],
        ),
        group(
            "ldp",
            "Privatise records one by one and learn how they were before, `images` where nothing is named",
            "kind",
            vec![
                experiment::<ldp::Ldp<ldp::Images>>(&["dataset"]),
                experiment::<ldp::Ldp<ldp::Points>>(&["dataset"]),
            ],
        ),
        group(
            "circle",
            "Generate points of a circle privately, by `gradients` where no method is named",
            "method",
            vec![
                experiment::<circle::Circle<circle::Gradients>>(&[]),
                experiment::<circle::Circle<circle::Smoothed>>(&[]),
            ],
        ),
        group(
            "adapt",
            "Carry a classifier over to private records without labels, `warp` where no method is named",
            "method",
            vec![
                experiment::<adapt::Adapt<adapt::Warped>>(&["source", "target"]),
                experiment::<adapt::Adapt<adapt::Sliced>>(&["source", "target"]),
                experiment::<adapt::Adapt<adapt::Dann>>(&["source", "target"]),
                experiment::<adapt::Adapt<adapt::Source>>(&["source", "target"]),
            ],
        ),
        group(
            "distance",
            "The private sliced distance between two files, a test on it, and figures; `measure` where nothing is named",
            "action",
            vec![
                experiment::<distance::Distance>(&["source", "target"]),
                tool::<distance::figure::Arguments>(|matches| {
                    distance::figure::draw(&parsed(matches))
                }),
                tool::<distance::power::Arguments>(|matches| {
                    distance::power::draw(&parsed(matches))
                }),
                tool::<distance::barycentre::Arguments>(|matches| {
                    distance::barycentre::draw(&parsed(matches))
                }),
            ],
        ),
    ]
}

fn tools() -> Vec<Subcommand> {
    vec![
        tool::<privatise::Arguments>(|matches| privatise::run(&parsed(matches)))
            .first(&["input", "out"]),
        tool::<schema::Arguments>(|matches| schema::run(&parsed(matches))).first(&["input"]),
        tool::<export::Arguments>(|matches| export::run(&parsed(matches))),
        tool::<tools::sweep::Arguments>(|matches| sweep(&parsed(matches))),
        tool::<tools::report::Arguments>(|matches| tools::report::run(&parsed(matches))),
        tool::<tools::figures::Arguments>(|matches| tools::figures::run(&parsed(matches))),
        tool::<tools::account::Arguments>(|matches| tools::account::run(&parsed(matches))),
        tool::<audit::Arguments>(|matches| audit::run(&parsed(matches))),
        tool::<cost::Arguments>(|matches| cost::run(&parsed(matches))),
        tool::<devices::Arguments>(|_| {
            devices::list();
            Ok(())
        }),
    ]
}

/// The cells are run by this very program.
fn sweep(arguments: &tools::sweep::Arguments) -> Result<(), Failure> {
    let program = std::env::current_exe().or_failed()?;
    let experiments = experiments();
    let key = |e: &Subcommand| e.kinds.as_ref().map(|(key, _)| *key);
    let names: Vec<_> = experiments
        .iter()
        .map(|e| (e.command.get_name(), key(e)))
        .collect();
    tools::sweep::run(arguments, &program, &names)
}

fn all() -> impl Iterator<Item = Subcommand> {
    experiments().into_iter().chain(tools())
}

/// The same with help that fits a screen at `--help` too: the command that is `all` prints all flags.
fn with_short_help(command: Command, all: &str) -> Command {
    let help = Arg::new("help").short('h').long("help");
    let says = format!("Print this; `{all}` prints all flags");
    command
        .disable_help_flag(true)
        .arg(help.action(ArgAction::HelpShort).help(says))
        .mut_subcommands(|sub| {
            let all = format!("{all} {}", sub.get_name());
            with_short_help(sub, &all)
        })
}

/// The command line of the program.
pub fn command() -> Command {
    let command = Command::new("sliver")
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true)
        .about("Private learning with sliced Wasserstein distances")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .arg(private::flag())
        .override_usage("sliver <COMMAND>")
        .subcommands(all().map(|subcommand| subcommand.command("sliver")));
    with_short_help(command, "sliver help")
}

/// What the settings of a run that is to be resumed have for `key`.
fn of_run(words: &[OsString], key: &str) -> Option<String> {
    let flags = ["--resume", "--run"];
    let next = words
        .windows(2)
        .filter(|pair| flags.iter().any(|flag| pair[0] == *flag));
    let joined = words.iter().filter_map(|word| {
        let (flag, run) = word.to_str()?.split_once('=')?;
        flags.contains(&flag).then(|| Path::new(run))
    });
    let mut runs = next.map(|pair| Path::new(&pair[1])).chain(joined);
    runs.find_map(|run| {
        let settings = std::fs::read_to_string(run.join("config.toml"));
        session::text_in(&settings.ok()?, key)
    })
}

/// The words of a command line, with the flags of values that come first.
fn with_flags(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let named = |s: &Subcommand| {
        words
            .get(1)
            .is_some_and(|name| name == s.command.get_name())
    };
    let Some(mut subcommand) = all().find(named) else {
        return words;
    };
    let mut at = 2;
    if let Some((key, mut kinds)) = subcommand.kinds.take() {
        let word = words.get(at).map(|word| word.to_string_lossy());
        let word = word.as_deref().unwrap_or_default();
        if ["-h", "--help", "-V", "--version", "help"].contains(&word) {
            return words;
        }
        let at_name = |name: &str| {
            kinds
                .iter()
                .position(|kind| kind.command.get_name() == name)
        };
        let place = at_name(word);
        let resumed = of_run(&words, key).and_then(|kind| at_name(&kind));
        // The input of a copy, by its flag too.
        let input = words.windows(2).find(|pair| pair[0] == *"--input");
        let input = input.map_or(word.into(), |pair| pair[1].to_string_lossy());
        let claimed = kinds.iter().position(|kind| (kind.claims)(&input));
        subcommand = kinds.swap_remove(place.or(resumed).or(claimed).unwrap_or(0));
        if place.is_none() {
            words.insert(at, subcommand.command.get_name().into());
        }
        at += 1;
    }
    let mut flags = subcommand.first.to_vec();
    while let Some(word) = words.get(at).map(|word| word.to_string_lossy()) {
        let place = flags.iter().position(|flag| subcommand.takes(flag, &word));
        let (false, Some(place)) = (word.starts_with('-'), place) else {
            break;
        };
        words.insert(at, format!("--{}", flags.remove(place)).into());
        at += 2;
    }
    words
}

/// What a command line says.
///
/// # Errors
///
/// What is wrong with it, or the help that it asks for.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<ArgMatches, clap::Error> {
    command().try_get_matches_from(with_flags(words))
}

/// The main of the program.
pub fn main() -> ExitCode {
    lab::backend::quiet_drivers();
    diagnostic::main(|| {
        let matches = parse(std::env::args_os()).unwrap_or_else(|e| e.exit());
        private::show(&matches);
        dispatch(all().collect(), &matches)
    })
}

/// Runs the one of some subcommands that was named.
fn dispatch(subcommands: Vec<Subcommand>, matches: &ArgMatches) -> Result<(), Failure> {
    let Some((name, matches)) = matches.subcommand() else {
        return Ok(());
    };
    let named = |subcommand: &Subcommand| subcommand.command.get_name() == name;
    match subcommands.into_iter().find(named) {
        Some(Subcommand {
            kinds: Some((_, kinds)),
            ..
        }) => dispatch(kinds, matches),
        Some(subcommand) => (subcommand.run)(matches),
        None => Ok(()),
    }
}
