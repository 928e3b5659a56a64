//! Pages about runs that are over: one run, or several with those that differ in their seeds alone in one row.

mod arguments;

use std::path::{Path, PathBuf};

pub use arguments::Arguments;
use reporting::diagnostic::Failure;
use reporting::report::{RunRecord, Sweep, find_runs, markdown, page};
use reporting::run_folder::write_file;

/// Runs one command of the tool.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(out) = &arguments.out
        && out.extension().is_none_or(|ending| ending != "html")
    {
        return Err(Failure::input(
            format!("--out {}: it must end in .html", out.display()),
            "pages are written as HTML; --csv and --markdown print a sweep",
        ));
    }
    if let Some(path) = &arguments.sweep {
        let mut folders = find_runs(path)?;
        folders.extend(arguments.runs.iter().cloned());
        return sweep(arguments, &records(&folders)?);
    }
    match &arguments.runs[..] {
        [folder] if arguments.markdown && arguments.columns.is_empty() => {
            let record = RunRecord::read(folder)?;
            print!("{}", markdown(&record));
            match &arguments.out {
                Some(out) => save_beside_print(out, &page(&record)?),
                None => Ok(()),
            }
        }
        [folder] if !arguments.markdown => {
            let record = RunRecord::read(folder)?;
            let own = folder.join(reporting::report::PAGE);
            save(arguments.out.clone().unwrap_or(own), &page(&record)?)
        }
        folders => sweep(arguments, &records(folders)?),
    }
}

fn sweep(arguments: &Arguments, records: &[RunRecord]) -> Result<(), Failure> {
    let sweep = Sweep::of(records);
    if arguments.csv {
        print!("{}", sweep.csv());
    }
    if arguments.markdown {
        print!("{}", sweep.markdown(&arguments.columns)?);
    }
    let printed = arguments.csv || arguments.markdown;
    match (&arguments.out, printed) {
        (None, true) => Ok(()),
        (Some(path), true) => save_beside_print(path, &sweep.page()?),
        (out, false) => {
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
fn save_beside_print(path: &Path, page: &str) -> Result<(), Failure> {
    write_file(path, page.as_bytes())?;
    eprintln!("report    {}", path.display());
    Ok(())
}
