//! What is shown of runs that are over: the page of one, a table of several, figures over many.

mod arguments;
mod figures;

use std::path::PathBuf;

pub use arguments::{Arguments, Figures, Printed};
use reporting::diagnostic::Failure;
use reporting::report::{RunRecord, Sweep, find_runs, markdown, page};
use reporting::run_folder::write_file;

/// Runs one command of the tool.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(experiment) = arguments.figures {
        return figures::draw(experiment, &arguments.runs, arguments.out.as_deref());
    }
    if let Some(out) = &arguments.out
        && out.extension().is_none_or(|ending| ending != "html")
    {
        return Err(Failure::input(
            format!("--out {}: it must end in .html", out.display()),
            "pages are written as HTML; --format prints",
        ));
    }
    if arguments.format == Some(Printed::Csv) && !arguments.columns.is_empty() {
        return Err(Failure::input(
            "--column: CSV has all columns",
            "leave it out, or say --format markdown",
        ));
    }
    if let Some(path) = &arguments.sweep {
        let mut folders = find_runs(path)?;
        folders.extend(arguments.runs.iter().cloned());
        return table(arguments, &records(&folders)?);
    }
    match &arguments.runs[..] {
        [folder] if arguments.format == Some(Printed::Markdown) && arguments.columns.is_empty() => {
            let record = RunRecord::read(folder)?;
            print!("{}", markdown(&record));
            Ok(())
        }
        [folder] if arguments.format.is_none() => {
            let record = RunRecord::read(folder)?;
            let own = folder.join(reporting::report::PAGE);
            let out = arguments.out.as_ref().unwrap_or(&own);
            write_file(out, page(&record)?.as_bytes())?;
            println!("report    {}", out.display());
            Ok(())
        }
        folders => table(arguments, &records(folders)?),
    }
}

/// Prints a row for the runs that differ in their seeds alone.
fn table(arguments: &Arguments, records: &[RunRecord]) -> Result<(), Failure> {
    if let Some(out) = &arguments.out {
        return Err(Failure::input(
            format!("--out {}: a table is printed, not written", out.display()),
            "leave it out, and redirect what is printed",
        ));
    }
    let sweep = Sweep::of(records);
    match arguments.format {
        Some(Printed::Csv) => print!("{}", sweep.csv()),
        _ => print!("{}", sweep.markdown(&arguments.columns)?),
    }
    Ok(())
}

fn records(folders: &[PathBuf]) -> Result<Vec<RunRecord>, Failure> {
    folders
        .iter()
        .map(|folder| RunRecord::read(folder))
        .collect()
}
