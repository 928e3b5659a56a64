//! What a run leaves behind: weights, pictures, scores, `run.json` and one page.

use std::time::SystemTime;

use dp_core::ledger::Ledger;
use dp_core::plan::CheckedPlan;
use lab::diagnostic::Failure;
use lab::evaluate::downstream::{Learner, Settings as Learning};
use lab::interrupt::Interrupt;
use lab::report::{Better, FigureFile, Metric, Plan, RunFile, timestamp, upper};
use lab::run_folder::RunFolder;
use model::swae::{ClassLatents, Swae};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::not_private::not_private;
use crate::scores::{ScoreFlags, Scored};
use crate::spent::{besides, spent};
use crate::uses::but;

use super::evaluate::{Evaluator, Scores};
use super::latents::encode;
use super::plan::neighbours;
use super::run::Run;

/// How a finished run is judged.
pub struct Judging {
    /// The scores.
    pub score: ScoreFlags,
    /// Label samples by their nearest private images, as Rodriguez-Vitores et al. do: **not private**.
    pub paper_labels: bool,
    /// Whether to stop.
    pub interrupt: Interrupt,
}

/// The training time that an earlier `run.json` tells, 0 without one.
pub fn seconds_before(folder: &RunFolder) -> f64 {
    std::fs::read_to_string(folder.file("run.json"))
        .ok()
        .and_then(|text| serde_json::from_str::<Value>(&text).ok())
        .and_then(|run| run["training_seconds"].as_f64())
        .unwrap_or(0.0)
}

/// Writes the pictures, `run.json` and `report.html`, and says where.
///
/// # Errors
///
/// [`Failure::Failed`] names the file that could not be written; [`Failure::Interrupted`].
pub fn write(
    folder: &RunFolder,
    run: &Run,
    ledger: &Ledger,
    classes: Option<&ClassLatents>,
    judging: &Judging,
) -> Result<(), Failure> {
    let model = run.evaluated()?;
    let evaluator = Evaluator::new(run.data.clone(), run.settings.latent, &run.chosen.device)?;
    let stop = || judging.interrupt.check("the run was judged");
    stop()?;
    let scores = evaluator.scores(&model, true)?;
    stop()?;
    let mut generator = ChaCha20Rng::seed_from_u64(run.settings.seed);
    generator.set_stream(2);
    let mut figures = Vec::new();
    for (name, caption, bytes) in evaluator.pictures(&model, classes, &mut generator)? {
        folder.write(name, &bytes)?;
        figures.push(FigureFile::new(name, caption));
    }
    let (images, rebuilt) = if judging.score.quick_scores {
        (None, None)
    } else {
        let (images, rebuilt) = judge(run, &model, &evaluator, classes, judging)?;
        (Some(images), rebuilt)
    };
    let labels_read_private = judging.paper_labels && classes.is_none();
    let spent = spent(run.plan(), ledger)?;
    let privacy = privacy(run, ledger.releases(), spent);
    let file = RunFile {
        privacy: privacy.clone(),
        releases: Some(ledger.releases()),
        figures,
        metrics: metrics(&scores, images.as_ref(), rebuilt, run, labels_read_private),
        test: match serde_json::to_value(scores).map_err(Failure::run)? {
            Value::Object(map) => map,
            _ => serde_json::Map::new(),
        },
        warnings: warnings(run, judging, labels_read_private),
        more: [
            ("epsilon_spent_upper".to_string(), json!(spent)),
            (
                "images".to_string(),
                images_in_json(images.as_ref(), labels_read_private),
            ),
        ]
        .into_iter()
        .collect(),
        ..run_file(run, folder)?
    };
    // Last of what the run computes: its presence says that the run is done.
    folder.write_json("run.json", &file)?;
    let page = lab::report::write_in(folder)?;
    println!(
        "test      reconstruction {:.2} nats, sliced distance to prior {:.4} ({} records)",
        scores.reconstruction, scores.sliced, scores.records
    );
    // The first two are those of the line above.
    for metric in file.metrics.iter().skip(2) {
        println!(
            "score     {}: {:.4}",
            metric.name,
            metric.value.unwrap_or(f64::NAN)
        );
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

/// The scores of samples; accuracies that rest on private records lie apart, under the name
/// `reads_private_records`, so that nobody takes them for covered.
fn images_in_json(images: Option<&Scored>, labels_read_private: bool) -> Value {
    let mut told = json!(images);
    if let Some(scores) = told.as_object_mut().filter(|_| labels_read_private) {
        let names = ["downstream_mlp", "downstream_logistic"];
        let apart = names.map(|name| (name.to_string(), scores.remove(name).unwrap_or_default()));
        scores.insert(
            "reads_private_records".into(),
            Value::Object(apart.into_iter().collect()),
        );
    }
    told
}

/// What a reader must know before believing the scores.
fn warnings(run: &Run, judging: &Judging, labels_read_private: bool) -> Vec<String> {
    let mut warnings = run.elsewhere.clone();
    warnings.extend(crate::scores::warnings(&judging.score));
    warnings.extend(run.note());
    if labels_read_private {
        warnings.push(
            "Samples were labelled by their nearest private images, as in the paper: the accuracies \
             here are outside of the guarantee."
                .to_string(),
        );
    }
    warnings
}

/// Scores of samples against public test images.
fn judge(
    run: &Run,
    model: &Swae,
    evaluator: &Evaluator,
    classes: Option<&ClassLatents>,
    judging: &Judging,
) -> Result<(Scored, Option<f64>), Failure> {
    let mut generator = ChaCha20Rng::seed_from_u64(run.settings.seed);
    generator.set_stream(3);
    let count = judging.score.scored as usize;
    let samples = evaluator.scored(model, classes, count, &mut generator)?;
    let unlabelled = samples.labels.is_none();
    let labels = match samples.labels {
        None if judging.paper_labels => Some(paper_labels(
            run,
            model,
            &samples.latents,
            &judging.interrupt,
        )?),
        labels => labels,
    };
    let scored = crate::scores::score(
        &run.data.test,
        &samples.pixels,
        labels.as_deref(),
        &run.data.train,
        &judging.score,
        &run.chosen.device,
        &judging.interrupt,
    )?;
    // A conditional decoder is told the label of what it rebuilds, so only the other is asked.
    let rebuilt = match labels.filter(|_| unlabelled) {
        Some(labels) => {
            let labels: Vec<u8> = labels.iter().map(|&label| label as u8).collect();
            let test = evaluator.rebuilt_test(model)?;
            let accuracy = Learner::Mlp.accuracy(
                &samples.pixels,
                &labels,
                &test,
                &Learning::default(),
                &judging.interrupt,
            )?;
            Some(accuracy.accuracy)
        }
        None => None,
    };
    Ok((scored, rebuilt))
}

/// Labels as in Rodriguez-Vitores et al. 2025, arXiv 2502.01701, table 1: each sample has that of the private
/// record whose latent is nearest. **Not private.**
fn paper_labels(
    run: &Run,
    model: &Swae,
    latents: &[f32],
    interrupt: &Interrupt,
) -> Result<Vec<usize>, Failure> {
    let (train, d) = (&run.data.train, run.settings.latent);
    let all: Vec<usize> = (0..train.len()).collect();
    let mut private = Vec::with_capacity(train.len() * d);
    for part in all.chunks(500) {
        interrupt.check("samples were labelled")?;
        let images = train.gather(part).unwrap_or_default();
        private.extend(encode(model, images, &run.chosen.device));
    }
    latents
        .par_chunks_exact(d)
        .map(|row| {
            interrupt.check("samples were labelled")?;
            let distance = |other: &[f32]| -> f32 {
                row.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum()
            };
            let nearest = private
                .chunks_exact(d)
                .map(distance)
                .enumerate()
                .min_by(|(_, a), (_, b)| a.total_cmp(b));
            Ok(nearest
                .and_then(|(index, _)| train.label(index))
                .unwrap_or(0))
        })
        .collect()
}

fn run_file(run: &Run, folder: &RunFolder) -> Result<RunFile, Failure> {
    let settings = serde_json::to_value(&run.settings).map_err(Failure::run)?;
    Ok(RunFile {
        experiment: "swae".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        commit: option_env!("SLIVER_COMMIT").map(String::from),
        device: run.chosen.description.clone(),
        settings: settings.as_object().cloned().unwrap_or_default(),
        records: Some(run.data.train.len() as u64),
        private: run.settings.promises(),
        plan: run.plan().map(plan),
        training_seconds: Some(run.seconds),
        command: Some(folder.command("cargo run --release --locked --bin swae --")),
        finished: Some(timestamp(SystemTime::now())),
        ..RunFile::default()
    })
}

fn plan(plan: &CheckedPlan) -> Plan {
    Plan {
        epsilon_upper: Some(plan.epsilon_upper()),
        delta: Some(plan.delta()),
        accountant: Some(plan.accountant().to_string()),
        neighbours: Some(neighbours(plan.neighbours()).to_string()),
        noise_multiplier: Some(plan.noise_multiplier()),
        steps: Some(plan.steps()),
        more: [
            ("step".to_string(), json!(plan.step_event())),
            ("besides".to_string(), besides(plan)),
        ]
        .into_iter()
        .collect(),
    }
}

/// The promise, in a sentence.
fn privacy(run: &Run, releases: u64, spent: Option<f64>) -> String {
    let Some(plan) = run.plan() else {
        return "Not private: trained with --no-privacy, without clipping and without noise."
            .to_string();
    };
    format!(
        "{}({}, {})-differentially private; neighbours: {}; each batch of fixed size \
         drawn afresh without replacement; accountant: {} (upper bound); {releases} releases in the \
         ledger, which cover the training gradients{}. Not covered: the choice of \
         hyperparameters, and the test records, which are public.{}",
        not_private(run.settings.insecure_noise_seed, None).unwrap_or_default(),
        upper(spent.unwrap_or(plan.epsilon_upper())),
        upper(plan.delta()),
        neighbours(plan.neighbours()),
        plan.accountant(),
        if run.settings.conditional && run.settings.class_moments {
            " and the class moments"
        } else {
            ""
        },
        but(&run.elsewhere),
    )
}

/// Results, beside those of Rodriguez-Vitores et al. (2025, arXiv 2502.01701) where they compare.
fn metrics(
    scores: &Scores,
    images: Option<&Scored>,
    rebuilt: Option<f64>,
    run: &Run,
    labels_read_private: bool,
) -> Vec<Metric> {
    let shown = |mut metric: Metric| {
        if labels_read_private && metric.name.starts_with("Accuracy") {
            metric.name = format!("Reads private records: {}", metric.name);
        }
        metric
    };
    let mut metrics = vec![
        Metric::new("Reconstruction of test images", scores.reconstruction)
            .unit("nats")
            .better(Better::Lower),
        Metric::new(
            "Sliced squared distance of test latents to the prior",
            scores.sliced,
        )
        .better(Better::Lower),
    ];
    for metric in images.map(crate::scores::metrics).unwrap_or_default() {
        let paper = paper_accuracy(run).filter(|_| metric.name.contains("MLP"));
        metrics.push(shown(match paper {
            Some((value, _)) => metric.paper(value, TABLES),
            None => metric,
        }));
    }
    if let Some(rebuilt) = rebuilt {
        let metric = Metric::new(
            "Accuracy of the same MLP on test images that the autoencoder rebuilt",
            rebuilt,
        )
        .better(Better::Higher);
        metrics.push(shown(match paper_accuracy(run) {
            Some((_, value)) => metric.paper(value, TABLES),
            None => metric,
        }));
    }
    metrics
}

const TABLES: &str = "paper 004, tables 1 and 2";

/// Accuracies of Rodriguez-Vitores et al. 2025, arXiv 2502.01701, tables 1 and 2: on test images, and on rebuilt
/// ones.
fn paper_accuracy(run: &Run) -> Option<(f64, f64)> {
    match (run.settings.dataset.as_str(), run.settings.epsilon?) {
        ("mnist", 10.0) => Some((0.755, 0.848)),
        ("mnist", 1.0) => Some((0.556, 0.772)),
        ("fashion-mnist", 10.0) => Some((0.692, 0.733)),
        ("fashion-mnist", 1.0) => Some((0.567, 0.709)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use lab::evaluate::ImageScores;
    use lab::evaluate::downstream::Accuracy;

    use super::*;

    #[test]
    fn accuracies_by_private_labels_lie_apart() {
        let accuracy = Some(Accuracy {
            accuracy: 0.5,
            test_records: 10,
            training_records: 10,
        });
        let scored = Scored {
            features: "LeNet",
            images: ImageScores {
                generated_records: 10,
                test_records: 10,
                frechet: Some(1.0),
                downstream_mlp: accuracy,
                downstream_logistic: accuracy,
                sliced_w2_squared: 1.0,
                exact_w2_squared: None,
                exact_points: 0,
                memorisation: None,
            },
        };
        let told = images_in_json(Some(&scored), true);
        let apart = &told["reads_private_records"];
        for name in ["downstream_mlp", "downstream_logistic"] {
            assert!(told.get(name).is_none(), "{told}");
            assert_eq!(apart[name]["accuracy"], 0.5);
        }
        assert_eq!(told["frechet"], 1.0);
        let covered = images_in_json(Some(&scored), false);
        assert_eq!(covered["downstream_mlp"]["accuracy"], 0.5);
        assert!(covered.get("reads_private_records").is_none());
        assert!(images_in_json(None, true).is_null());
    }
}
