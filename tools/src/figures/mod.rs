//! Figures over many finished runs: those of Rodriguez-Vitores et al. 2025, arXiv 2502.01701, section 7 and
//! appendix C.
//!
//! From the runs of the sweeps `fair`, `fair-line` and `fair-adult`: histograms and scatter plots by
//! group over epsilon and alpha (figures 4, 12, 14, 17, 19), loss curves over epsilon with what privacy
//! adds to them (13, 15, 18, 20, 21), and trade-off curves with their spread over seeds (5, 16). Curves
//! are of the objective on test records, where the published ones are of the training loss, which is private.

mod charts;
mod page;
mod runs;

use std::path::{Path, PathBuf};

use clap::Parser;
use reporting::diagnostic::Failure;
use reporting::run_folder::write_file;

/// Draw the figures of an experiment from its finished runs.
#[derive(Debug, Parser)]
#[command(name = "figures", version)]
pub struct Arguments {
    /// The experiment.
    #[arg(value_parser = ["fair"])]
    pub experiment: String,
    /// Folders of runs, such as `runs/sweeps/fair`; every run below them is read.
    #[arg(long, num_args = 1.., default_values = ["runs/sweeps/fair", "runs/sweeps/fair-line", "runs/sweeps/fair-adult"])]
    pub runs: Vec<PathBuf>,
    /// Where the figures and `figures.html` go.
    #[arg(long, default_value = "runs/figures/fair")]
    pub out: PathBuf,
}

/// Draws everything that the runs allow, and says where.
///
/// # Errors
///
/// [`Failure::BadInput`] where there is no finished run or one cannot be read; [`Failure::Failed`]
/// where a figure cannot be written.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut found = Vec::new();
    for folder in arguments.runs.iter().filter(|folder| folder.is_dir()) {
        found.extend(runs::read(folder)?);
    }
    if found.is_empty() {
        let names: Vec<String> = arguments
            .runs
            .iter()
            .map(|p| p.display().to_string())
            .collect();
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
            save(&arguments.out, &chart.file, &chart.bytes)?;
        }
        sections.push(page::section(&kind, &chosen, &drawn)?);
    }
    let path = arguments.out.join("figures.html");
    write_file(&path, page::page(&sections).as_bytes())?;
    println!("figures   {}", path.display());
    Ok(())
}

fn save(out: &Path, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    let path = out.join(name);
    write_file(&path, bytes)?;
    println!("picture   {}", path.display());
    Ok(())
}
