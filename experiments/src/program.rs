//! The program `sliver` and its subcommands.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory, FromArgMatches};
use lab::diagnostic::{self, Failure, OrFailed};
use lab::private;
use lab::session::{self, Experiment};

use crate::{classify, distance, export, fair, ldp, privatise, schema, swae, synth, tables};

/// A flag whose value may stand without it, and the argument that this value is.
type Bare = (&'static str, &'static str);

const DATASET: Bare = ("dataset", "DATASET");
const INPUT: Bare = ("input", "INPUT");
const OUT: Bare = ("out", "OUT");
const SOURCE: Bare = ("source", "SOURCE");
const TARGET: Bare = ("target", "TARGET");
const TASK: Bare = ("task", "TASK");

/// A subcommand: what it is given, and what it does with that.
struct Subcommand {
    command: Command,
    /// Flags whose values may stand without them, in this order: `swae mnist` is `swae --dataset mnist`.
    bare: &'static [Bare],
    /// Whether there is no default of those.
    needed: bool,
    /// What it is one of: the name of the choice, as sweeps have it, and subcommands; if none is named, the one that takes the
    /// first value, or the first one.
    kinds: Option<(&'static str, Vec<Subcommand>)>,
    /// Whether it is the kind that takes this value of the first of those flags.
    claims: fn(&str) -> bool,
    run: fn(&ArgMatches) -> Result<(), Failure>,
}

/// Flags of an experiment that `--help` shows, beside those whose values may stand without them; `sliver help` shows all.
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

fn experiment<E: Experiment>(bare: &'static [Bare]) -> Subcommand {
    let command = session::command::<E>().mut_args(|arg| {
        let name = arg.get_id().as_str();
        let hidden = !SHORT.contains(&name) && bare.iter().all(|(flag, _)| *flag != name);
        arg.hide_short_help(hidden)
    });
    Subcommand {
        bare,
        ..Subcommand::new(command, |matches| {
            session::run::<E>(&session::arguments::<E>(matches)?)
        })
    }
}

fn tool<A: CommandFactory>(run: fn(&ArgMatches) -> Result<(), Failure>) -> Subcommand {
    Subcommand::new(A::command(), run)
}

/// Subcommands of one name.
fn group(
    name: &'static str,
    about: &'static str,
    key: &'static str,
    kinds: Vec<Subcommand>,
) -> Subcommand {
    let command = Command::new(name)
        .about(about)
        .subcommand_required(true)
        .override_usage(format!("sliver {name} [{}] [OPTIONS]", key.to_uppercase()));
    Subcommand {
        kinds: Some((key, kinds)),
        ..Subcommand::new(command, |_| Ok(()))
    }
}

impl Subcommand {
    fn new(command: Command, run: fn(&ArgMatches) -> Result<(), Failure>) -> Self {
        Self {
            command,
            bare: &[],
            needed: false,
            kinds: None,
            claims: |_| false,
            run,
        }
    }

    fn bare(self, bare: &'static [Bare]) -> Self {
        Self { bare, ..self }
    }

    fn needed(self) -> Self {
        Self {
            needed: true,
            ..self
        }
    }

    fn claiming(self, claims: fn(&str) -> bool) -> Self {
        Self { claims, ..self }
    }

    /// Its own command, with the arguments of values that stand without their flags.
    fn own(&self) -> Command {
        let mut command = self.command.clone();
        for (place, &(flag, value)) in (1..).zip(self.bare) {
            let of_flag = command.get_arguments().find(|arg| arg.get_id() == flag);
            let Some(parser) = of_flag.map(|arg| arg.get_value_parser().clone()) else {
                continue;
            };
            let argument = Arg::new(value).index(place).value_parser(parser);
            command = command
                .mut_arg(flag, |arg| match self.needed {
                    true => arg.required(false).required_unless_present(value),
                    false => arg,
                })
                .arg(argument.conflicts_with(flag).hide(true));
        }
        command
    }

    /// Its command, and those of what it is one of, behind the words of `before`.
    fn command(&self, before: &str) -> Command {
        let name = format!("{before} {}", self.command.get_name());
        let command = self.own().display_name(&name);
        if let Some((_, kinds)) = &self.kinds {
            return command.subcommands(kinds.iter().map(|kind| kind.command(&name)));
        }
        let bare = self.bare.iter().map(|(_, value)| format!(" [{value}]"));
        match self.bare {
            [] => command,
            _ => command.override_usage(format!("{name}{} [OPTIONS]", bare.collect::<String>())),
        }
    }

    /// Whether it makes a run that can be resumed.
    fn makes_runs(&self) -> bool {
        let mut arguments = self.command.get_arguments();
        arguments.any(|argument| argument.get_id() == "resume")
    }
}

/// Which of some kinds is meant if none is named: that of the run which is resumed, by what its settings have for `key`, the
/// one that takes the first value, or the first. A run of a kind that is gone, or of none, is refused.
fn meant(key: &str, kinds: &[Subcommand], words: &[OsString]) -> Result<usize, String> {
    let named = |name: &str| {
        kinds
            .iter()
            .position(|kind| kind.command.get_name() == name)
    };
    // All flags of all kinds, as texts: which of them go together is for the kind to say.
    let mut all = Command::new("all")
        .no_binary_name(true)
        .disable_help_flag(true)
        .allow_negative_numbers(true)
        .ignore_errors(true);
    for kind in kinds.iter().filter(|kind| kind.makes_runs()) {
        for argument in kind.own().get_arguments() {
            let id = argument.get_id();
            if all.get_arguments().any(|known| known.get_id() == id) {
                continue;
            }
            let mut plain = argument.clone().required(false);
            if plain.get_action().takes_values() {
                plain = plain.value_parser(clap::value_parser!(OsString));
            }
            all = all.arg(plain);
        }
    }
    let found = all.try_get_matches_from(words).unwrap_or_default();
    let value = |id: &str| {
        let mut values = found.try_get_raw(id).ok()??;
        Some(values.next()?.to_string_lossy().into_owned())
    };
    let first = kinds.first().and_then(|kind| kind.bare.first());
    let (flag, bare) = first.copied().unwrap_or_default();
    let bare = value(bare);
    if let Some(word) = bare.as_deref().filter(|word| named(word).is_some()) {
        return Err(format!("'{word}' must stand before all flags"));
    }
    let of_run = ["resume", "run"].into_iter().find_map(|flag| {
        let settings = Path::new(&value(flag)?).join("config.toml");
        let settings = std::fs::read_to_string(settings).ok()?;
        Some(session::text_in(&settings, key).unwrap_or_else(|| "another subcommand".into()))
    });
    if let Some(gone) = of_run.as_deref().filter(|kind| named(kind).is_none()) {
        return Err(format!(
            "the run is of {gone}, which is not among these: resume it with the program that started it"
        ));
    }
    let input = value(flag).or(bare).unwrap_or_default();
    let claiming = || kinds.iter().position(|kind| (kind.claims)(&input));
    let resumed = of_run.and_then(|kind| named(&kind));
    Ok(resumed.or_else(claiming).unwrap_or(0))
}

/// What makes runs, and so the cells of a sweep.
fn experiments() -> Vec<Subcommand> {
    vec![
        group(
            "synth",
            "Make a private copy of images or of a table, by what the input is",
            "kind",
            vec![
                experiment::<synth::Synth>(&[INPUT]),
                experiment::<synth::TableCopy>(&[INPUT]).claiming(tables::names_table),
            ],
        ),
        group(
            "classify",
            "Learn a private model of images, of embeddings or of a table, by what the input is",
            "kind",
            vec![
                experiment::<classify::Classify>(&[INPUT]),
                experiment::<classify::ClassifyTable>(&[INPUT]).claiming(tables::names_table),
            ],
        ),
        experiment::<swae::SwaeRun>(&[DATASET]),
        experiment::<fair::Fair>(&[TASK]),
        experiment::<ldp::Ldp>(&[INPUT]).needed(),
        experiment::<distance::Distance>(&[SOURCE, TARGET]).needed(),
    ]
}

fn tools() -> Vec<Subcommand> {
    vec![
        tool::<privatise::Arguments>(|matches| privatise::run(&parsed(matches)))
            .bare(&[INPUT, OUT])
            .needed(),
        tool::<schema::Arguments>(|matches| schema::run(&parsed(matches)))
            .bare(&[INPUT])
            .needed(),
        tool::<classify::Predict>(|matches| classify::predict(&parsed(matches))),
        tool::<export::Arguments>(|matches| export::run(&parsed(matches))),
        tool::<tools::sweep::Arguments>(|matches| sweep(&parsed(matches))),
        tool::<tools::report::Arguments>(|matches| tools::report::run(&parsed(matches))),
        tool::<tools::account::Arguments>(|matches| tools::account::run(&parsed(matches))),
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

/// What a command line says, with all values by their flags: the same whatever the order of its words.
///
/// # Errors
///
/// What is wrong with it, or the help that it asks for.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<ArgMatches, clap::Error> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let is = |s: &Subcommand, word: Option<&OsString>| {
        word.is_some_and(|word| word == s.command.get_name())
    };
    let mut command = command();
    let Some(mut named) = all().find(|subcommand| is(subcommand, words.get(1))) else {
        return command.try_get_matches_from(words);
    };
    let mut depth = 2;
    if let Some((key, mut kinds)) = named.kinds.take() {
        let asks = ["-h", "--help", "-V", "--version", "help"];
        let word = words.get(depth);
        if word.is_some_and(|word| asks.iter().any(|asks| word == asks)) {
            return command.try_get_matches_from(words);
        }
        let place = match kinds.iter().position(|kind| is(kind, word)) {
            Some(place) => place,
            None => {
                let place = meant(key, &kinds, &words[depth..]);
                let place =
                    place.map_err(|why| command.error(ErrorKind::InvalidSubcommand, why))?;
                words.insert(depth, kinds[place].command.get_name().into());
                place
            }
        };
        named = kinds.swap_remove(place);
        depth += 1;
    }
    let matches = command.clone().try_get_matches_from(&words)?;
    if named.bare.is_empty() {
        return Ok(matches);
    }
    let mut own = &matches;
    while let Some((_, inner)) = own.subcommand() {
        own = inner;
    }
    let long = |arg: &Arg| match arg.get_long() {
        Some(long) => Some(long.to_string()),
        None => {
            let id = arg.get_id().as_str();
            let bare = named.bare.iter().find(|(_, value)| *value == id);
            bare.map(|(flag, _)| flag.to_string())
        }
    };
    let mut built = named.own();
    built.build();
    let mut given = session::words_of(&built, own, long);
    given.extend(private::word(&matches));
    command.try_get_matches_from(words.into_iter().take(depth).chain(given))
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
