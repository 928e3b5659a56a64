//! What a run leaves behind: weights, `run.json`, pictures and one page.

use base64::Engine as _;
use burn::module::Module;
use dp_core::accounting::{read_ledger, replay};
use dp_core::ledger::Ledger;
use dp_core::plan::CheckedPlan;
use lab::diagnostic::Failure;
use lab::run_folder::RunFolder;
use model::swae::{ClassLatents, Swae};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde_json::json;

use super::Settings;
use super::evaluate::{Evaluator, Pictures, Scores};
use super::plan::neighbours;
use super::run::Run;

/// Everything that is reported of a run.
struct Outcome {
    /// The settings.
    pub settings: Settings,
    /// The device.
    pub device: String,
    /// Private records.
    pub records: usize,
    /// The plan, where there is privacy.
    pub plan: Option<CheckedPlan>,
    /// Lines of the ledger.
    pub releases: u64,
    /// The epsilon of everything in the ledger; none without privacy.
    pub spent_upper: Option<f64>,
    /// Seconds of training.
    pub seconds: f64,
    /// Scores on the test records.
    pub scores: Scores,
    /// Pictures.
    pub pictures: Pictures,
}

impl Outcome {
    /// The promise, in a sentence.
    fn privacy(&self) -> String {
        let Some(plan) = &self.plan else {
            return "Not private: trained with --no-privacy, without clipping and without noise."
                .to_string();
        };
        let known = if self.settings.insecure_noise_seed.is_some() {
            "NOT PRIVATE, because the noise came from a known seed. With secret noise it would be: "
        } else {
            ""
        };
        format!(
            "{known}({:.4}, {:e})-differentially private; neighbours: {}; each batch of fixed size \
             drawn afresh without replacement; accountant: {} (upper bound); {} releases in the \
             ledger, which cover the training gradients{}. Not covered: the choice of \
             hyperparameters, and the test records, which are public.",
            self.spent_upper.unwrap_or(plan.epsilon_upper()),
            plan.delta(),
            neighbours(plan.neighbours()),
            plan.accountant(),
            self.releases,
            if self.settings.conditional {
                " and the class moments"
            } else {
                ""
            },
        )
    }
}

impl Outcome {
    fn of(run: &Run, ledger: &Ledger, classes: Option<&ClassLatents>) -> Result<Self, Failure> {
        let model = run.evaluated()?;
        let evaluator = Evaluator::new(run.data.clone(), run.settings.latent, &run.chosen.device)?;
        let scores = evaluator.scores(&model, true)?;
        let mut generator = ChaCha20Rng::seed_from_u64(run.settings.seed);
        generator.set_stream(2);
        let pictures = evaluator.pictures(&model, classes, &mut generator)?;
        let spent_upper = run
            .plan
            .as_ref()
            .map(|plan| spent(plan, ledger))
            .transpose()?;
        Ok(Self {
            settings: run.settings.clone(),
            device: run.chosen.description.clone(),
            records: run.data.train.len(),
            plan: run.plan.clone(),
            releases: ledger.entries(),
            spent_upper,
            seconds: run.seconds,
            scores,
            pictures,
        })
    }
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

/// Writes `run.json`, the pictures and `report.html`, and says where.
///
/// # Errors
///
/// [`Failure::Failed`] names the file that could not be written.
pub fn write(
    folder: &RunFolder,
    run: &Run,
    ledger: &Ledger,
    classes: Option<&ClassLatents>,
) -> Result<(), Failure> {
    let outcome = &Outcome::of(run, ledger, classes)?;
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
    for (name, _, bytes) in &outcome.pictures {
        folder.write(name, bytes)?;
    }
    let page = folder.write("report.html", page(outcome)?.as_bytes())?;
    // Last: its presence says that the run is done.
    folder.write_json(
        "run.json",
        &json!({
            "experiment": "swae",
            "version": env!("CARGO_PKG_VERSION"),
            "commit": option_env!("SLIVER_COMMIT"),
            "device": outcome.device,
            "settings": outcome.settings,
            "records": outcome.records,
            "privacy": outcome.privacy(),
            "private": outcome.plan.is_some() && outcome.settings.insecure_noise_seed.is_none(),
            "plan": plan,
            "releases": outcome.releases,
            "epsilon_spent_upper": outcome.spent_upper,
            "training_seconds": outcome.seconds,
            "steps_per_second": outcome.settings.steps as f64 / outcome.seconds.max(1e-9),
            "test": outcome.scores,
        }),
    )?;
    println!(
        "test      reconstruction {:.2} nats, sliced distance to prior {:.4} ({} records)",
        outcome.scores.reconstruction, outcome.scores.sliced, outcome.scores.records
    );
    println!(
        "time      {:.1} s, {:.2} steps/s",
        outcome.seconds,
        outcome.settings.steps as f64 / outcome.seconds.max(1e-9)
    );
    println!("privacy   {}", outcome.privacy());
    for (name, _, _) in &outcome.pictures {
        println!("picture   {}", folder.file(name).display());
    }
    println!("report    {}", page.display());
    Ok(())
}

/// One self-contained page.
fn page(outcome: &Outcome) -> Result<String, Failure> {
    let settings = toml::to_string_pretty(&outcome.settings).map_err(Failure::run)?;
    let mut figures = String::new();
    for (_, caption, bytes) in &outcome.pictures {
        let data = base64::engine::general_purpose::STANDARD.encode(bytes);
        figures.push_str(&format!(
            "<figure><img alt=\"{caption}\" src=\"data:image/png;base64,{data}\">\
             <figcaption>{caption}</figcaption></figure>\n"
        ));
    }
    Ok(include_str!("../../../assets/swae/report.html")
        .replace("{{dataset}}", &escape(&outcome.settings.dataset))
        .replace("{{privacy}}", &escape(&outcome.privacy()))
        .replace(
            "{{reconstruction}}",
            &format!("{:.2}", outcome.scores.reconstruction),
        )
        .replace("{{sliced}}", &format!("{:.4}", outcome.scores.sliced))
        .replace("{{records}}", &outcome.scores.records.to_string())
        .replace("{{seconds}}", &format!("{:.1}", outcome.seconds))
        .replace("{{device}}", &escape(&outcome.device))
        .replace("{{settings}}", &escape(&settings))
        .replace("{{figures}}", &figures))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
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
