//! The command line of an experiment as clap reads it.

use clap::{CommandFactory, FromArgMatches};

use super::{Arguments, Experiment, FlagsOf};
use crate::private;

/// The command of an experiment. Every flag is a setting of the run, which `--resume` takes from its folder, but
/// those of [`Running`](super::Running) and those that the experiment names.
pub fn command<E: Experiment>() -> clap::Command {
    let sentence = E::ABOUT.split(". ").next();
    let command = Arguments::<FlagsOf<E>>::command()
        .name(E::KIND.map_or(E::NAME, |(_, kind)| kind))
        .about(sentence.unwrap_or_default().trim_end_matches('.'))
        .long_about(E::ABOUT);
    let of_process: Vec<_> = command
        .get_groups()
        .filter(|group| {
            let name = group.get_id().as_str();
            name == "Running" || E::FLAGS_OF_A_PROCESS.contains(&name)
        })
        .flat_map(|group| group.get_args().cloned())
        .collect();
    let settings: Vec<_> = command
        .get_arguments()
        .map(|argument| argument.get_id().clone())
        .filter(|id| !of_process.contains(id))
        .collect();
    command.mut_arg("resume", |resume| resume.conflicts_with_all(settings))
}

/// The command line of this process; it ends the process where it is refused.
pub(super) fn parse<E: Experiment>() -> Arguments<FlagsOf<E>> {
    let command = command::<E>().version(env!("CARGO_PKG_VERSION"));
    let matches = command.arg(private::flag()).get_matches();
    private::show(&matches);
    Arguments::from_arg_matches(&matches).unwrap_or_else(|e| e.exit())
}
