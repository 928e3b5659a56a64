//! What a run leaves behind: weights, pictures, scores, `run.json` and one page.

use std::path::Path;

use burn::module::Module;
use dp_core::accounting::{read_ledger, replay};
use dp_core::ledger::Ledger;
use dp_core::plan::CheckedPlan;
use lab::diagnostic::Failure;
use lab::report::{Better, FigureFile, Metric, this_command, timestamp};
use lab::run_folder::RunFolder;
use model::swae::{ClassLatents, Swae};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde_json::{Value, json};

use super::evaluate::{Evaluator, Scores};
use super::plan::neighbours;
use super::run::Run;

/// Samples that are scored.
const SCORED: usize = 10_000;

/// How a finished run is judged.
pub struct Judging<'a> {
    /// Where the classifier is kept.
    pub cache: &'a Path,
    /// Leave out the scores that take long.
    pub quick: bool,
    /// Label samples by their nearest private images, as the paper does: **not private**.
    pub paper_labels: bool,
}

/// The epsilon of everything in the ledger: more than planned where a run was killed and steps were
/// made again.
fn spent(plan: &CheckedPlan, ledger: &Ledger) -> Result<f64, Failure> {
    let text = std::fs::read_to_string(ledger.path()).map_err(Failure::run)?;
    let replayed = read_ledger(&text).map_err(Failure::run)?;
    let planned = plan.steps() + plan.besides().len() as u64;
    let made: u64 = replayed.releases.iter().map(|r| r.count).sum();
    if made <= planned {
        return Ok(plan.epsilon_upper());
    }
    let event = replay(&replayed.releases).map_err(Failure::run)?;
    plan.epsilon_of(&event).map_err(Failure::run)
}

/// Writes the pictures, `run.json` and `report.html`, and says where.
///
/// # Errors
///
/// [`Failure::Failed`] names the file that could not be written.
pub fn write(folder: &RunFolder, outcome: &Outcome) -> Result<(), Failure> {
    let plan = outcome.plan.as_ref().map(|plan| {
        json!({
            "epsilon_upper": plan.epsilon_upper(),
            "delta": plan.delta(),
            "accountant": plan.accountant(),
            "neighbours": plan.neighbours(),
            "noise_multiplier": plan.noise_multiplier(),
            "steps": plan.steps(),
            "step": plan.step_event(),
            "besides": plan.besides(),
        })
    });
    let mut figures = Vec::new();
    for (name, caption, bytes) in &outcome.pictures {
        folder.write(name, bytes)?;
        figures.push(FigureFile::new(*name, *caption));
    }
    // Last of all: its presence says that the run finished.
    folder.write_json(
        "run.json",
        &json!({
            "experiment": "swae",
            "title": format!(
                "Private sliced-Wasserstein autoencoder on {}",
                outcome.settings.dataset
            ),
            "version": env!("CARGO_PKG_VERSION"),
            "commit": option_env!("SLIVER_COMMIT"),
            "device": outcome.device,
            "settings": outcome.settings,
            "records": outcome.records,
            "privacy": outcome.privacy(),
            "private": outcome.plan.is_some() && outcome.settings.insecure_noise_seed.is_none(),
            "plan": plan,
            "releases": outcome.releases,
            "training_seconds": outcome.seconds,
            "steps_per_second": outcome.settings.steps as f64 / outcome.seconds.max(1e-9),
            "test": outcome.scores,
            "command": this_command("cargo run --release --locked --bin swae --"),
            "figures": figures,
            "metrics": metrics(&outcome.scores),
            "finished": timestamp(std::time::SystemTime::now()),
        }),
    )?;
    let page = lab::report::write(folder.path())?;
    println!(
        "test      reconstruction {:.2} nats, sliced distance to prior {:.4} ({} records)",
        scores.reconstruction, scores.sliced, scores.records
    );
    if let Some(images) = &images {
        for metric in crate::scores::metrics(images) {
            println!("score     {}: {:.4}", metric.name, metric.value.unwrap_or(f64::NAN));
        }
    }
    println!(
        "time      {:.1} s, {:.2} steps/s",
        run.seconds,
        run.settings.steps as f64 / run.seconds.max(1e-9)
    );
    println!("privacy   {privacy}");
    for figure in &file.figures {
        println!("picture   {}", folder.file(&figure.file).display());
    }
    println!("report    {}", page.display());
    Ok(())
}

/// The scores as the page shows them.
fn metrics(scores: &Scores) -> [Metric; 2] {
    let on = format!("{} test records", scores.records);
    [
        Metric::new(
            format!("reconstruction, binary cross-entropy summed over pixels, {on}"),
            scores.reconstruction,
        )
        .unit("nats")
        .better(Better::Lower),
        Metric::new(
            format!("sliced squared distance of latents to the prior, {on}"),
            scores.sliced,
        )
        .better(Better::Lower),
    ]
}

/// Saves the weights whole or not at all.
///
/// # Errors
///
/// [`Failure::Failed`] names the file and the cause.
pub fn save_weights(folder: &RunFolder, model: &Swae) -> Result<(), Failure> {
    let (half, whole) = (folder.file("model.part.bpk"), folder.file("model.bpk"));
    model
        .clone()
        .save_file(&half)
        .map_err(|e| Failure::run(format!("{}: {e}", half.display())))?;
    std::fs::File::open(&half)
        .and_then(|file| file.sync_all())
        .and_then(|()| std::fs::rename(&half, &whole))
        .map_err(|e| Failure::run(format!("{}: {e}", whole.display())))
}
