//! Sweeps: a grid of runs from one file.

mod arguments;
mod array;
mod grid;
mod private;
mod runner;

pub use arguments::Arguments;
pub use grid::{GridCell, Sweep};

use std::num::NonZeroUsize;
use std::path::Path;

use arguments::On;
use array::Array;
use reporting::diagnostic::{Failure, OrFailed};
use runner::{Executor, Runner};

/// Prints or runs the cells of a sweep, by the subcommands of `program` for `experiments`. The value of the flag beside the
/// name of an experiment is a subcommand of its own: `kind = "table"` is `synth table`.
///
/// # Errors
///
/// [`Failure::BadInput`] for a file that is no sweep; [`Failure::Failed`] names the cells that
/// failed, after all others have run.
pub fn run(
    arguments: &Arguments,
    program: &Path,
    experiments: &[(&str, Option<&str>)],
) -> Result<(), Failure> {
    let text = std::fs::read_to_string(&arguments.file).map_err(|e| {
        Failure::input(
            format!("{}: {e}", arguments.file.display()),
            "name a sweep in TOML, such as assets/sweeps/smoke.toml",
        )
    })?;
    let sweep = Sweep::parse(&text).map_err(|why| {
        Failure::input(format!("{}: {why}", arguments.file.display()), grid::HELP)
    })?;
    let folder = std::path::absolute(arguments.folder(&sweep)).or_failed()?;
    let known = experiments
        .iter()
        .find(|(name, _)| *name == sweep.experiment);
    let Some((_, key)) = known else {
        let names: Vec<&str> = experiments.iter().map(|(name, _)| *name).collect();
        return Err(Failure::input(
            format!(
                "experiment = {:?}: there is none of that name",
                sweep.experiment
            ),
            format!("name one of {}", names.join(", ")),
        ));
    };
    let runner = Runner::new(program, &sweep.experiment, *key);
    if arguments.private {
        return private::run(arguments, &sweep, &runner, &folder);
    }
    let cells = sweep.cells();
    let (done, open): (Vec<GridCell>, Vec<GridCell>) = cells
        .into_iter()
        .partition(|cell| folder.join(&cell.name).join("run.json").exists());
    eprintln!(
        "sweep     {}: {} cells, {} done, {} to run, in {}",
        sweep.name,
        done.len() + open.len(),
        done.len(),
        open.len(),
        folder.display()
    );
    if sweep.coupled {
        eprintln!(
            "WARNING   coupled: the cells share their noise, which is known; no run is private"
        );
    }
    if arguments.plan {
        for cell in &open {
            let place = folder.join(&cell.name);
            let more = ["--run", &place.to_string_lossy()];
            println!("{}", runner.line(cell, &more));
        }
        return Ok(());
    }
    let flags: Vec<&str> = arguments
        .submit
        .iter()
        .flat_map(|flags| flags.split_whitespace())
        .collect();
    let place = match arguments.on {
        None => Executor::Here {
            workers: arguments.workers.map_or(1, NonZeroUsize::get),
        },
        Some(On::Slurm) => Executor::Array(Array {
            workers: arguments.workers.map(NonZeroUsize::get),
            flags: &flags,
        }),
    };
    runner.run(&open, &folder, &place)
}
