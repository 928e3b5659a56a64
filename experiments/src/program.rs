//! The program `sliver` and its subcommands.

use std::process::ExitCode;

use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};
use lab::diagnostic::{self, Failure};
use lab::session::{self, Experiment};

use crate::{adapt, audit, circle, cost, devices, distance, export, fair, flow, generator, ldp};
use crate::{privatise, swae};

/// A subcommand: what it is given, and what it does with that.
struct Subcommand {
    command: Command,
    run: fn(&ArgMatches) -> Result<(), Failure>,
}

fn parsed<A: FromArgMatches>(matches: &ArgMatches) -> A {
    A::from_arg_matches(matches).unwrap_or_else(|e| e.exit())
}

fn experiment<E: Experiment>() -> Subcommand {
    Subcommand {
        command: session::command::<E>(),
        run: |matches| session::run::<E>(&parsed(matches)),
    }
}

fn tool<A: CommandFactory>(run: fn(&ArgMatches) -> Result<(), Failure>) -> Subcommand {
    let command = A::command();
    Subcommand { command, run }
}

/// What makes runs, and so the cells of a sweep.
fn experiments() -> Vec<Subcommand> {
    vec![
        experiment::<swae::Swae>(),
        experiment::<flow::Flow>(),
        experiment::<generator::Generate>(),
        experiment::<fair::Fair>(),
        experiment::<ldp::Ldp>(),
        experiment::<circle::Circle>(),
        experiment::<adapt::Adapt>(),
        experiment::<distance::Distance>(),
    ]
}

fn tools() -> Vec<Subcommand> {
    vec![
        tool::<privatise::Arguments>(|matches| privatise::run(&parsed(matches))),
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
    let program = std::env::current_exe().map_err(Failure::failed)?;
    let experiments = experiments();
    let names: Vec<&str> = experiments.iter().map(|e| e.command.get_name()).collect();
    tools::sweep::run(arguments, &program, &names)
}

fn all() -> impl Iterator<Item = Subcommand> {
    experiments().into_iter().chain(tools())
}

/// The command line of the program.
pub fn command() -> Command {
    Command::new("sliver")
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true)
        .about("Private learning with sliced Wasserstein distances")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(all().map(|subcommand| subcommand.command))
}

/// The main of the program.
pub fn main() -> ExitCode {
    lab::backend::quiet_drivers();
    diagnostic::main(|| {
        let matches = command().get_matches();
        let given = matches.subcommand().and_then(|(name, matches)| {
            let named = all().find(|subcommand| subcommand.command.get_name() == name);
            Some((named?, matches))
        });
        given.map_or(Ok(()), |(subcommand, matches)| (subcommand.run)(matches))
    })
}
