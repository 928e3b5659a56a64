//! Figures over many finished runs: those of Rodriguez-Vitores et al. 2025, arXiv 2502.01701, section 7 and
//! appendix C; those of Reshetova, Chen and Ozgur 2023, arXiv 2306.09547, sections 5.6 and 5.7
//! ([`Figures::Ldp`]).
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

use reporting::diagnostic::Failure;
use reporting::run_folder::write_file;

use super::Figures;

/// Draws everything that the runs in some folders allow, and says where.
pub(super) fn draw(
    experiment: Figures,
    runs: &[PathBuf],
    out: Option<&Path>,
) -> Result<(), Failure> {
    let (read, written, title): (&[&str], _, _) = match experiment {
        Figures::Fair => (
            &[
                "runs/sweeps/fair",
                "runs/sweeps/fair-line",
                "runs/sweeps/fair-adult",
            ],
            "runs/figures/fair",
            "Fair learning under privacy",
        ),
        Figures::Ldp => (
            &["runs/sweeps/ldp", "runs/sweeps/ldp-records"],
            "runs/figures/ldp",
            "Learning from privatised records",
        ),
        Figures::Docs => (&["docs/results"], "assets/pictures", ""),
    };
    let folders = match runs {
        [] => read.iter().map(PathBuf::from).collect(),
        named => named.to_vec(),
    };
    let out = out.unwrap_or(Path::new(written));
    let sections = match experiment {
        Figures::Docs => {
            for folder in &folders {
                save(out, &docs::charts(folder)?)?;
            }
            return Ok(());
        }
        Figures::Ldp => {
            let drawn = ldp::charts(&folders)?;
            save(out, &drawn)?;
            page::charts(&drawn)
        }
        Figures::Fair => fair(&folders, out)?,
    };
    let path = out.join("figures.html");
    write_file(&path, page::page(title, &sections).as_bytes())?;
    println!("figures   {}", path.display());
    Ok(())
}

/// The sections of the fair experiment's page.
fn fair(folders: &[PathBuf], out: &Path) -> Result<String, Failure> {
    let found = runs::read(folders)?;
    if found.is_empty() {
        let names: Vec<String> = folders.iter().map(|p| p.display().to_string()).collect();
        return Err(Failure::input(
            format!(
                "--figures fair {}: no finished run of fair there",
                names.join(" ")
            ),
            "run `just sweep assets/sweeps/fair.toml` first",
        ));
    }
    let mut sections = String::new();
    for kind in runs::kinds(&found) {
        let chosen: Vec<&runs::FairRun> = found.iter().filter(|run| run.kind == kind).collect();
        let drawn = charts::of(&kind, &chosen)?;
        save(out, &drawn)?;
        sections += &page::section(&kind, &chosen, &drawn)?;
    }
    Ok(sections)
}

fn save(out: &Path, drawn: &[charts::Drawing]) -> Result<(), Failure> {
    for chart in drawn {
        let path = out.join(&chart.file);
        write_file(&path, &chart.bytes)?;
        println!("picture   {}", path.display());
    }
    Ok(())
}
