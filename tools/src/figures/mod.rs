//! Figures over many finished runs: those of Rodriguez-Vitores et al. 2025, arXiv 2502.01701, section 7 and
//! appendix C; those of Reshetova, Chen and Ozgur 2023, arXiv 2306.09547, sections 5.6 and 5.7
//! ([`Arguments::experiment`] `ldp`).
//!
//! From the runs of the sweeps `fair`, `fair-line` and `fair-adult`: histograms and scatter plots by
//! group over epsilon and alpha (figures 4, 12, 14, 17, 19), loss curves over epsilon with what privacy
//! adds to them (13, 15, 18, 20, 21), and trade-off curves with their spread over seeds (5, 16). Curves
//! are of the objective on test records, where the published ones are of the training loss, which is private.
//!
//! `docs` draws the charts of the pages of results from the tables beside them.

mod charts;
mod docs;
mod ldp;
mod page;
mod runs;

use std::path::{Path, PathBuf};

use clap::Parser;
use reporting::diagnostic::Failure;
use reporting::run_folder::write_file;

/// Draw the figures of an experiment from its finished runs.
#[derive(Debug, Parser)]
#[command(name = "figures")]
pub struct Arguments {
    /// The experiment.
    #[arg(value_parser = ["fair", "ldp", "docs"])]
    pub experiment: String,
    /// Folders of runs; every run below them is read (default: those of the experiment's sweeps, such as
    /// `runs/sweeps/ldp`); of `docs`, that of the tables (default: `docs/results`).
    #[arg(long, num_args = 1..)]
    pub runs: Vec<PathBuf>,
    /// Where the figures and `figures.html` go (default: `runs/figures/EXPERIMENT`; of `docs`, `assets/pictures`).
    #[arg(long)]
    pub out: Option<PathBuf>,
}

impl Arguments {
    /// The folders that are read.
    fn folders(&self) -> Vec<PathBuf> {
        if !self.runs.is_empty() {
            return self.runs.clone();
        }
        if self.experiment == "docs" {
            return vec!["docs/results".into()];
        }
        let endings: &[&str] = match self.experiment.as_str() {
            "fair" => &["", "-line", "-adult"],
            "ldp" => &["", "-records"],
            _ => &[""],
        };
        let folder =
            |ending: &&str| PathBuf::from(format!("runs/sweeps/{}{ending}", self.experiment));
        endings.iter().map(folder).collect()
    }

    fn out(&self) -> PathBuf {
        let place = || match self.experiment.as_str() {
            "docs" => "assets/pictures".into(),
            experiment => Path::new("runs/figures").join(experiment),
        };
        self.out.clone().unwrap_or_else(place)
    }
}

/// Draws everything that the runs allow, and says where.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (folders, out) = (arguments.folders(), arguments.out());
    if arguments.experiment == "docs" {
        for folder in &folders {
            for chart in docs::charts(folder)? {
                save(&out, &chart.file, &chart.bytes)?;
            }
        }
        return Ok(());
    }
    let (title, sections) = match arguments.experiment.as_str() {
        "ldp" => {
            let drawn = ldp::charts(&folders)?;
            ("Learning from privatised records", one(&out, &drawn)?)
        }
        _ => ("Fair learning under privacy", fair(&folders, &out)?),
    };
    let path = out.join("figures.html");
    write_file(&path, page::page(title, &sections).as_bytes())?;
    println!("figures   {}", path.display());
    Ok(())
}

/// Saves some charts, and makes one section of them.
fn one(out: &Path, drawn: &[charts::Chart]) -> Result<Vec<String>, Failure> {
    for chart in drawn {
        save(out, &chart.file, &chart.bytes)?;
    }
    Ok(vec![page::charts(drawn)])
}

/// The sections of the fair experiment's page.
fn fair(folders: &[PathBuf], out: &Path) -> Result<Vec<String>, Failure> {
    let found = runs::read(folders)?;
    if found.is_empty() {
        let names: Vec<String> = folders.iter().map(|p| p.display().to_string()).collect();
        return Err(Failure::input(
            format!("--runs {}: no finished run of fair there", names.join(" ")),
            "run `just sweep assets/sweeps/fair.toml` first",
        ));
    }
    let mut sections = Vec::new();
    for kind in runs::kinds(&found) {
        let chosen: Vec<&runs::FairRun> = found.iter().filter(|run| run.kind == kind).collect();
        let drawn = charts::of(&kind, &chosen)?;
        for chart in &drawn {
            save(out, &chart.file, &chart.bytes)?;
        }
        sections.push(page::section(&kind, &chosen, &drawn)?);
    }
    Ok(sections)
}

fn save(out: &Path, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    let path = out.join(name);
    write_file(&path, bytes)?;
    println!("picture   {}", path.display());
    Ok(())
}
