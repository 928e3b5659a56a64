//! What a flow leaves behind.

use std::time::SystemTime;

use dp_core::accounting::{Event, Neighbours};
use dp_core::delta::loose_delta;
use dp_core::ledger::Ledger;
use dp_core::plan::CheckedPlan;
use lab::diagnostic::Failure;
use lab::report::{Better, FigureFile, Metric, Plan, RunFile, timestamp, upper};
use lab::run_folder::RunFolder;
use serde_json::json;

use crate::spent::spent;
use crate::uses::but;

use super::Settings;
use super::evaluate::Outcome;
use super::mechanisms::Generated;
use super::settings::Mechanism;
use super::sides::Sides;

/// Everything that is told of a run.
pub struct Told<'a> {
    /// Its folder.
    pub folder: &'a RunFolder,
    /// Its settings.
    pub settings: &'a Settings,
    /// Its records.
    pub sides: &'a Sides,
    /// Its device.
    pub device: &'a str,
    /// Its promise.
    pub plan: Option<&'a CheckedPlan>,
    /// Its ledger.
    pub ledger: &'a Ledger,
    /// What it made.
    pub generated: &'a Generated,
    /// What that is worth.
    pub outcome: &'a Outcome,
    /// Where other runs use the same records otherwise, in words.
    pub elsewhere: &'a [String],
    /// Warnings of the scores.
    pub warnings: Vec<String>,
    /// Seconds of the flow.
    pub seconds: f64,
    /// Seconds of the autoencoder.
    pub public_seconds: f64,
}

/// Writes pictures, latents, `metrics.jsonl`, `run.json` and the page, and says where.
///
/// # Errors
///
/// [`Failure::Failed`] names the file that could not be written.
pub fn write(told: &Told) -> Result<(), Failure> {
    let rows: Vec<u8> = told
        .generated
        .rows
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    told.folder.write("latents.f32", &rows)?;
    if let Some(labels) = &told.generated.labels {
        let bytes: Vec<u8> = labels.iter().map(|&l| l as u8).collect();
        told.folder.write("labels.u8", &bytes)?;
    }
    let lines: String = told
        .generated
        .distances
        .iter()
        .map(|(step, squared)| {
            json!({"step": step, "sliced_w2_squared_to_release": squared}).to_string() + "\n"
        })
        .collect();
    told.folder.write("metrics.jsonl", lines.as_bytes())?;
    for (name, _, bytes) in &told.outcome.pictures {
        told.folder.write(name, bytes)?;
    }
    let file = run_file(told)?;
    let metrics = file.metrics.clone();
    println!("privacy   {}", file.privacy);
    told.folder.write_json("run.json", &file)?;
    let page = lab::report::write_in(told.folder)?;
    for metric in &metrics {
        println!(
            "score     {}: {:.4}",
            metric.name,
            metric.value.unwrap_or(f64::NAN)
        );
    }
    println!(
        "time      {:.1} s of flow, {:.1} s of autoencoder",
        told.seconds, told.public_seconds
    );
    for (name, ..) in &told.outcome.pictures {
        println!("picture   {}", told.folder.file(name).display());
    }
    println!("report    {}", page.display());
    Ok(())
}

fn run_file(told: &Told) -> Result<RunFile, Failure> {
    let settings = serde_json::to_value(told.settings).map_err(Failure::run)?;
    let mut metrics = vec![
        Metric::new(
            "Squared sliced distance between generated and test latents",
            told.outcome.latent_sliced,
        )
        .better(Better::Lower),
    ];
    if let Some(scores) = &told.outcome.images {
        metrics.extend(crate::scores::metrics(scores));
    }
    let spent = Spent::of(told)?;
    let private = match told.plan.zip(spent.as_ref()) {
        Some((promise, spent)) => spent.not_private(told, promise).is_none(),
        None => told.settings.mechanism == Mechanism::Public,
    };
    Ok(RunFile {
        experiment: "flow".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        commit: option_env!("SLIVER_COMMIT").map(String::from),
        device: told.device.into(),
        settings: settings.as_object().cloned().unwrap_or_default(),
        records: Some(told.sides.private.len() as u64),
        privacy: privacy(told, spent.as_ref()),
        private,
        plan: told
            .plan
            .zip(spent.as_ref())
            .map(|(promise, spent)| plan(promise, spent)),
        releases: Some(told.ledger.releases()),
        training_seconds: Some(told.seconds),
        command: Some(
            told.folder
                .command("cargo run --release --locked --bin flow --"),
        ),
        figures: told
            .outcome
            .pictures
            .iter()
            .map(|(name, caption, _)| FigureFile::new(*name, caption))
            .collect(),
        metrics,
        warnings: warnings(told, spent.as_ref()),
        finished: Some(timestamp(SystemTime::now())),
        more: [
            (
                "epsilon_spent_upper".to_string(),
                json!(spent.as_ref().map(|spent| spent.epsilon_upper)),
            ),
            (
                "latent_sliced_w2_squared".to_string(),
                json!(told.outcome.latent_sliced),
            ),
            ("images".to_string(), json!(told.outcome.images)),
            (
                "autoencoder_seconds".to_string(),
                json!(told.public_seconds),
            ),
        ]
        .into_iter()
        .collect(),
        ..RunFile::default()
    })
}

/// What the ledger of a run has cost.
struct Spent {
    epsilon_upper: f64,
    /// Lines of the ledger.
    releases: u64,
    /// Releases that count: never fewer than planned.
    counted: u64,
}

impl Spent {
    fn of(told: &Told) -> Result<Option<Self>, Failure> {
        let Some((plan, epsilon_upper)) = told.plan.zip(spent(told.plan, told.ledger)?) else {
            return Ok(None);
        };
        let releases = told.ledger.releases();
        Ok(Some(Self {
            epsilon_upper,
            releases,
            counted: releases.max(plan.releases_in_all()),
        }))
    }

    fn not_private(&self, told: &Told, promise: &CheckedPlan) -> Option<String> {
        not_private(
            told.settings,
            promise,
            self.counted,
            told.sides.private.len(),
        )
    }
}

fn plan(promise: &CheckedPlan, spent: &Spent) -> Plan {
    let event = match promise.steps() {
        0 => Event::Gaussian {
            noise_multiplier: promise.noise_multiplier(),
        },
        _ => promise.step_event().clone(),
    };
    Plan {
        epsilon_upper: Some(promise.epsilon_upper()),
        delta: Some(promise.delta_in_all(spent.counted)),
        accountant: Some(promise.accountant().into()),
        neighbours: Some(neighbours(promise.neighbours()).into()),
        noise_multiplier: Some(promise.noise_multiplier()),
        steps: Some(promise.releases_in_all()),
        more: [("event".to_string(), json!(event))].into_iter().collect(),
    }
}

fn warnings(told: &Told, spent: Option<&Spent>) -> Vec<String> {
    let mut warnings = [told.elsewhere, &told.warnings].concat();
    let failure = told.plan.map_or(0.0, CheckedPlan::failure_probability);
    if failure >= 1.0 {
        warnings.push(UNPROVED.into());
    } else if failure > 0.0 {
        warnings.push(format!(
            "The sensitivity is a paper's high-probability value, no bound: each release adds {} to \
             delta.",
            upper(failure)
        ));
    }
    let records = told.sides.private.len();
    warnings.extend(
        told.plan
            .zip(spent)
            .and_then(|(promise, spent)| loose(promise, spent.counted, records)),
    );
    warnings
}

/// The promise, in a sentence.
fn privacy(told: &Told, spent: Option<&Spent>) -> String {
    let Some((promise, spent)) = told.plan.zip(spent) else {
        return no_privacy(told.settings).to_string();
    };
    let parts = if promise.failure_probability() > 0.0 {
        format!("; {}", delta(promise, spent.counted))
    } else {
        String::new()
    };
    format!(
        "{}({}, {})-differentially private{parts}; neighbours: {}; {}; accountant: {} (upper bound); \
         {} releases in the ledger. Public: {}, the test records, class sizes. Not covered: the \
         choice of hyperparameters.{}",
        spent.not_private(told, promise).unwrap_or_default(),
        upper(spent.epsilon_upper),
        upper(claimed(promise, spent.counted)),
        neighbours(promise.neighbours()),
        match promise.steps() {
            0 => "each release is of all private records",
            _ => "each batch of fixed size drawn afresh without replacement",
        },
        promise.accountant(),
        spent.releases,
        told.sides.public_name,
        but(told.elsewhere),
    )
}

const UNPROVED: &str = "The sensitivity is paper-clt: a limit for many slices, taken as if it were \
                        reached, and no bound. Nothing is promised.";

/// How a sentence starts that must not be taken for a promise; nothing where it is one.
pub fn not_private(
    settings: &Settings,
    promise: &CheckedPlan,
    releases: u64,
    records: usize,
) -> Option<String> {
    let total = promise.delta_in_all(releases);
    let other = if promise.is_unproved() {
        Some("the sensitivity is paper-clt, of which nothing is proved".to_string())
    } else if total * records as f64 >= 1.0 {
        // Refused at the start; a run that was killed may have made more releases than planned.
        Some(format!(
            "the failures of its sensitivity bring delta to {}, which is 1/n or more",
            upper(total)
        ))
    } else {
        None
    };
    crate::not_private::not_private(settings.insecure_noise_seed, other)
}

/// The delta that a promise claims over so many releases: for `paper-clt` that of the noise alone, as
/// Sebag et al. count it.
fn claimed(promise: &CheckedPlan, releases: u64) -> f64 {
    if promise.is_unproved() {
        promise.delta()
    } else {
        promise.delta_in_all(releases)
    }
}

/// What the delta that is claimed leaves open, where that is much.
pub fn loose(promise: &CheckedPlan, releases: u64, records: usize) -> Option<String> {
    loose_delta(claimed(promise, releases), records as f64)
}

/// Delta in words, with what it is made of where it is not the noise's alone.
pub fn delta(promise: &CheckedPlan, releases: u64) -> String {
    let failure = promise.failure_probability();
    let noise = upper(promise.delta());
    if failure == 0.0 {
        return format!("delta {noise}");
    }
    if promise.is_unproved() {
        return format!("delta {noise} of the noise alone");
    }
    format!(
        "delta {} in all ({noise} of the noise, {releases} times {} for the failure of the \
         sensitivity at a release)",
        upper(promise.delta_in_all(releases)),
        upper(failure)
    )
}

/// What is said where there is no noise.
pub fn no_privacy(settings: &Settings) -> &'static str {
    if settings.mechanism == Mechanism::Public {
        "Nothing private is read: public records through the public autoencoder."
    } else {
        "Not private: --no-privacy adds no noise."
    }
}

/// A neighbour relation in words.
pub fn neighbours(relation: Neighbours) -> &'static str {
    crate::swae::neighbours(relation)
}
