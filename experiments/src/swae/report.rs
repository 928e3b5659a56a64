//! What a run leaves behind: weights, `run.json`, pictures and one page.

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use dp_core::plan::CheckedPlan;
use lab::diagnostic::Failure;
use lab::report::{Better, FigureFile, Metric, this_command, timestamp};
use lab::run_folder::RunFolder;
use model::swae::Swae;
use serde_json::json;

use super::Settings;
use super::evaluate::{Pictures, Scores};
use super::train::neighbours;

/// Everything that is reported of a run.
pub struct Outcome {
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
            plan.epsilon_upper(),
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

/// Writes `run.json`, the pictures and `report.html`, and says where.
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

/// Latents of images: `[n, 784] -> [n, latent]`, on the host.
pub fn encode(model: &Swae, pixels: Vec<f32>, device: &Device) -> Vec<f32> {
    let features = model::swae::SwaeConfig::PIXELS;
    let rows = pixels.len() / features;
    let images = Tensor::from_data(TensorData::new(pixels, [rows, features]), device);
    model.encode(images).into_data().iter::<f32>().collect()
}
