//! A classifier of public images that learns to read private ones of another source, without their labels (Rakotomamonjy and
//! Ralaivola 2021, arXiv 2107.01848, algorithm 2 and section 6.2): `just run-adapt`, `just run-adapt usps mnist --epsilon 1`,
//! `cargo run --release -p private-training --example adapt -- --help`.
//!
//! Source records and their labels are public; target records are private. What is read of them is released with noise, once
//! it is in the ledger: once, histograms of their projected pixels (`warped`); or in each step, a gradient of the sliced distance
//! (`sliced`). The target's test records are public, and judge the run.

mod domains;
mod fit;
mod images;
mod network;
mod run;
mod sliced;
mod source;
mod warped;

use std::path::{Path, PathBuf};

use clap::Parser;
use private_training::prelude::*;
use reporting::figures::mean_and_deviation;

use domains::Domains;
use run::{Method, Run, Settings};

type Failed = Box<dyn std::error::Error>;

/// Carry a classifier over to private records without labels.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    settings: Settings,
    /// Seeds of everything public, a run each: 0 unless given, 0, 1 and 2 with --figures.
    #[arg(long, num_args = 1..)]
    seed: Vec<u64>,
    /// The runs of docs/results/adapt.md that are not in --out yet, and its tables: other settings than seeds are those of there.
    #[arg(long)]
    figures: bool,
    /// Where runs go.
    #[arg(long, default_value = "runs/adapt")]
    out: PathBuf,
}

impl Arguments {
    /// The runs that are asked for.
    fn runs(&self) -> Vec<Settings> {
        let seeded = |of: Settings, usual: &[u64]| -> Vec<Settings> {
            let given = Some(&self.seed[..]).filter(|seeds| !seeds.is_empty());
            let seeds = given.unwrap_or(usual).iter();
            let with = |&seed| Settings { seed, ..of.clone() };
            seeds.map(with).collect()
        };
        if !self.figures {
            return seeded(self.settings.clone(), &[0]);
        }
        use Method::{Sliced, Source, Warp};
        let budgets = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];
        let mut cases = vec![(Source, None, false, 3.0), (Source, None, true, 1.0)];
        cases.extend(budgets.map(|epsilon| (Warp, Some(epsilon), false, 1.0)));
        cases.push((Warp, None, false, 1.0));
        cases.extend([Some(10.0), None].map(|epsilon| (Sliced, epsilon, false, 1.0)));
        let mut runs = Vec::new();
        for [source, target] in [["mnist", "usps"], ["usps", "mnist"]] {
            for &(method, epsilon, upright, augment) in &cases {
                let of = Settings {
                    source: source.into(),
                    target: target.into(),
                    method,
                    epsilon: epsilon.unwrap_or(1.0),
                    no_privacy: epsilon.is_none(),
                    delta: Some(1e-5),
                    upright,
                    augment,
                    ..self.settings.clone()
                };
                let once = method == Sliced;
                runs.extend(seeded(of, if once { &[0] } else { &[0, 1, 2] }));
            }
        }
        runs
    }
}

/// Makes a run in its folder, or reads it there.
fn made(settings: &Settings, out: &Path) -> Result<Run, Failed> {
    let folder = out.join(settings.name());
    let file = folder.join("run.json");
    if file.exists() {
        let run: Run = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
        if run.settings != *settings {
            let at = folder.display();
            return Err(format!("{at}: a run of other settings, give another --out").into());
        }
        return Ok(run);
    }
    let ledger = folder.join("ledger.jsonl");
    if ledger.exists() {
        if Ledger::read(&ledger)?.releases() > 0 {
            let at = ledger.display();
            return Err(format!(
                "{at}: a run that was cut off has spent this, give another --out and count both"
            )
            .into());
        }
        std::fs::remove_file(&ledger)?;
    }
    eprintln!("run       {}", folder.display());
    let domains = Domains::load(settings)?;
    std::fs::create_dir_all(&folder)?;
    let mut ledger = Ledger::create(&ledger)?;
    let run = settings.run(&domains, settings.noise()?, &mut ledger)?;
    files::atomic::create_new(&file, &serde_json::to_vec(&run)?)?;
    Ok(run)
}

/// Prints a row for runs that differ in their seeds alone.
fn table(runs: &[Run]) {
    println!("| source to target | method | budget | accuracy, % | of the source's classifier |");
    println!("|---|---|---|---|---|");
    for runs in runs.chunk_by(|a, b| a.settings.row() == b.settings.row()) {
        let percent = |values: Vec<f64>| {
            let (mean, deviation) = mean_and_deviation(&values);
            let deviation = deviation.map_or(String::new(), |d| format!(" +- {:.1}", 100.0 * d));
            format!("{:.1}{deviation}", 100.0 * mean)
        };
        let accuracy = percent(runs.iter().map(|run| run.accuracy).collect());
        let before: Option<Vec<f64>> = runs.iter().map(|run| run.accuracy_before).collect();
        let before = before.map_or(String::new(), percent);
        println!("| {} | {accuracy} | {before} |", runs[0].settings.row());
    }
}

fn main() -> Result<(), Failed> {
    let arguments = Arguments::parse();
    let runs = arguments.runs();
    let runs = runs.iter().map(|settings| made(settings, &arguments.out));
    table(&runs.collect::<Result<Vec<_>, _>>()?);
    Ok(())
}

#[cfg(test)]
mod tests;
