//! Pages about runs that are over: one run, or several with those that differ in their seeds alone in one row; figures over many.

mod arguments;
mod figures;

use std::path::{Path, PathBuf};

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
        return sweep(arguments, &records(&folders)?);
    }
    match &arguments.runs[..] {
        [folder] if arguments.format == Some(Printed::Markdown) && arguments.columns.is_empty() => {
            let record = RunRecord::read(folder)?;
            print!("{}", markdown(&record));
            match &arguments.out {
                Some(out) => save_quietly(out, &page(&record)?),
                None => Ok(()),
            }
        }
        [folder] if arguments.format.is_none() => {
            let record = RunRecord::read(folder)?;
            let own = folder.join(reporting::report::PAGE);
            save(arguments.out.clone().unwrap_or(own), &page(&record)?)
        }
        folders => sweep(arguments, &records(folders)?),
    }
}

fn sweep(arguments: &Arguments, records: &[RunRecord]) -> Result<(), Failure> {
    let sweep = Sweep::of(records);
    match arguments.format {
        Some(Printed::Csv) => print!("{}", sweep.csv()),
        Some(Printed::Markdown) => print!("{}", sweep.markdown(&arguments.columns)?),
        None => {}
    }
    match (&arguments.out, arguments.format) {
        (None, Some(_)) => Ok(()),
        (Some(path), Some(_)) => save_quietly(path, &sweep.page()?),
        (out, None) => {
            let out = out.clone().unwrap_or_else(|| "runs/sweep.html".into());
            save(out, &sweep.page()?)
        }
    }
}

fn records(folders: &[PathBuf]) -> Result<Vec<RunRecord>, Failure> {
    folders
        .iter()
        .map(|folder| RunRecord::read(folder))
        .collect()
}

fn save(path: PathBuf, page: &str) -> Result<(), Failure> {
    write_file(&path, page.as_bytes())?;
    println!("report    {}", path.display());
    Ok(())
}

/// As [`save`] where something was printed, which may be piped on: the page is named on standard error.
fn save_quietly(path: &Path, page: &str) -> Result<(), Failure> {
    write_file(path, page.as_bytes())?;
    eprintln!("report    {}", path.display());
    Ok(())
}
