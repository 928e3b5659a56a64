//! What is shown of a run: pictures, and scores of samples.

use lab::evaluate::downstream::{Learner, Settings as Learning};
use lab::evaluate::labels_by_vote;
use lab::prelude::*;
use model::swae::Swae;
use serde_json::{Value, json};

use crate::export::ExportFlags;
use crate::random::stream;
use crate::scores::{self, READS_PRIVATE, ScoreFlags, Scored};

use super::evaluate::{Scores, Tested};
use super::latents::encode_at;
use super::samples::{self, Origin, Sampler};
use super::train::SwaeRun;

/// How a finished run is judged.
#[derive(Debug, Clone, clap::Args)]
pub struct Judging {
    /// The scores.
    #[command(flatten)]
    pub score: ScoreFlags,
    /// The samples to take away.
    #[command(flatten)]
    pub export: ExportFlags,
    /// Label unconditional samples by their nearest private images, as the paper does: NOT covered by the guarantee.
    #[arg(long)]
    pub paper_labels: bool,
    /// Judge a finished run again: new scores, pictures and page, from its weights.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["resume", "out", "run"])]
    pub rescore: Option<std::path::PathBuf>,
}

pub(crate) fn report(run: &SwaeRun, session: &Session, origin: Origin) -> Result<Report, Failure> {
    let device = &session.chosen.device;
    let sampler = Sampler {
        model: run.steps.scored()?,
        origin,
        device: device.clone(),
        variation: run.settings.variation(),
    };
    let tested = Tested {
        model: &sampler.model,
        test: &run.steps.records.data.test,
        device,
    };
    let source = samples::source(&run.settings, &run.steps.records.class_sizes);
    source.write(&session.folder)?;
    let stop = || session.interrupt.check("the run was judged");
    stop()?;
    let found = tested.scores(true)?;
    stop()?;
    let pictures = tested.pictures(&sampler, &mut stream(run.settings.seed, 2))?;
    let (images, rebuilt) = judge(run, session, &sampler, &tested)?;
    let labels_read_private = run.judging.paper_labels && matches!(sampler.origin, Origin::Prior);
    let mut warnings = scores::warnings(&run.judging.score);
    if labels_read_private {
        warnings.push(
            "Samples were labelled by their nearest private images, as Rodriguez-Vitores et al. (2025) do: the accuracies \
             here are outside of the guarantee."
                .to_string(),
        );
    }
    let images_in_json = images_in_json(images.as_ref(), labels_read_private);
    Ok(Report {
        title: None,
        pictures,
        metrics: metrics(&found, images.as_ref(), rebuilt, run, labels_read_private),
        test: json!(found).as_object().cloned().unwrap_or_default(),
        warnings,
        more: vec![
            ("images", images_in_json),
            ("public_knowledge", json!(source.public_knowledge)),
        ],
    })
}

/// The scores of samples; accuracies that rest on private records lie apart, under the name
/// `reads_private_records`, so that nobody takes them for covered.
fn images_in_json(images: Option<&Scored>, labels_read_private: bool) -> Value {
    let mut shown = json!(images);
    if let Some(scores) = shown.as_object_mut().filter(|_| labels_read_private) {
        let names = [
            "downstream_mlp",
            "downstream_logistic",
            "downstream_convolutional",
            "field",
        ];
        let apart = names.map(|name| Some((name.to_string(), scores.remove(name)?)));
        scores.insert(
            "reads_private_records".into(),
            Value::Object(apart.into_iter().flatten().collect()),
        );
    }
    shown
}

/// Scores of samples against public test images.
fn judge(
    run: &SwaeRun,
    session: &Session,
    sampler: &Sampler,
    tested: &Tested<'_>,
) -> Result<(Option<Scored>, Option<f64>), Failure> {
    let judging = &run.judging;
    if judging.score.quick_scores {
        return Ok((None, None));
    }
    let count = judging.score.count();
    let (samples, latents) = sampler.draw(count, &mut stream(run.settings.seed, 3))?;
    let unlabelled = samples.labels.is_none();
    let labels = match samples.labels {
        None if judging.paper_labels => Some(paper_labels(run, session, &sampler.model, &latents)?),
        labels => labels,
    };
    let (pixels, private) = (&samples.pixels, Some(&run.steps.records.data.train));
    let test = &run.steps.records.data.test;
    let scored = scores::score(
        test,
        pixels,
        labels.as_deref(),
        private,
        &judging.score,
        session,
    )?;
    // A conditional decoder is given the label of what it rebuilds, so only the other is asked.
    let Some(labels) = labels.filter(|_| unlabelled) else {
        return Ok((scored, None));
    };
    let labels: Vec<u8> = labels.iter().map(|&label| label as u8).collect();
    let (test, learning) = (tested.rebuilt_test()?, Learning::default());
    let rebuilt = Learner::Mlp.accuracy(pixels, &labels, &test, &learning, &session.interrupt)?;
    Ok((scored, Some(rebuilt.accuracy)))
}

/// Neighbours that vote on a label; the published text does not say how many.
const PAPER_NEIGHBOURS: usize = 5;

/// Labels as in Rodriguez-Vitores, Lalanne and Loubes 2025, table 1: each sample has that of most private records whose
/// latents are nearest. **Not private.**
fn paper_labels(
    run: &SwaeRun,
    session: &Session,
    model: &Swae,
    latents: &[f32],
) -> Result<Vec<usize>, Failure> {
    let (train, d) = (&run.steps.records.data.train, run.settings.latent);
    let all: Vec<usize> = (0..train.len()).collect();
    let private = encode_at(model, train, &all, session)?;
    let (labels, rows) = (train.labels(), (&private[..], d));
    let voted = labels_by_vote(latents, rows, labels, PAPER_NEIGHBOURS, &session.interrupt)?;
    Ok(voted.into_iter().map(usize::from).collect())
}

/// Results, beside published ones if they compare.
fn metrics(
    found: &Scores,
    images: Option<&Scored>,
    rebuilt: Option<f64>,
    run: &SwaeRun,
    labels_read_private: bool,
) -> Vec<Metric> {
    let shown = |metric: Metric, paper: Option<f64>| {
        let mut metric = match paper {
            Some(value) => metric.paper(value, TABLES),
            None => metric,
        };
        if labels_read_private && metric.name.starts_with("Accuracy") {
            metric.name = format!("{READS_PRIVATE}: {}", metric.name);
        }
        metric
    };
    let lower = |name: &str, value| Metric::new(name, value).better(Better::Lower);
    let distance = "Sliced squared distance of test latents to the prior";
    let mut metrics = vec![
        lower("Reconstruction of test images", found.reconstruction).unit("nats"),
        lower(distance, found.sliced),
    ];
    // Theirs are of unconditional samples with such labels.
    let paper = paper_accuracy(run).filter(|_| labels_read_private);
    for metric in images.into_iter().flat_map(scores::metrics) {
        let compared = metric.name.starts_with("Accuracy") && metric.name.contains("MLP");
        let compared = compared && !metric.name.ends_with("deviation");
        let paper = paper.filter(|_| compared);
        metrics.push(shown(metric, paper.map(|(value, _)| value)));
    }
    if let Some(rebuilt) = rebuilt {
        let name = "Accuracy of the same MLP on test images that the autoencoder rebuilt";
        let metric = Metric::new(name, rebuilt).better(Better::Higher);
        metrics.push(shown(metric, paper.map(|(_, value)| value)));
    }
    metrics
}

const TABLES: &str = "Rodriguez-Vitores, Lalanne and Loubes 2025, tables 1 and 2";

/// Accuracies of Rodriguez-Vitores et al. (2025), tables 1 and 2, on test images and on rebuilt ones: of all records, at delta
/// 1e-5.
fn paper_accuracy(run: &SwaeRun) -> Option<(f64, f64)> {
    let plan = run.steps.training.plan()?;
    if plan.delta() != 1e-5 || run.steps.records.data.train.len() != 60_000 {
        return None;
    }
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
                downstream_convolutional: accuracy,
                sliced_w2_squared: 1.0,
                exact_w2_squared: None,
                exact_points: 0,
                memorisation: None,
            },
            field: None,
            ceilings: None,
        };
        let shown = images_in_json(Some(&scored), true);
        let apart = &shown["reads_private_records"];
        let names = [
            "downstream_mlp",
            "downstream_logistic",
            "downstream_convolutional",
        ];
        for name in names {
            assert!(shown.get(name).is_none(), "{shown}");
            assert_eq!(apart[name]["accuracy"], 0.5);
        }
        assert_eq!(shown["frechet"], 1.0);
        let covered = images_in_json(Some(&scored), false);
        assert_eq!(covered["downstream_mlp"]["accuracy"], 0.5);
        assert!(covered.get("reads_private_records").is_none());
        assert!(images_in_json(None, true).is_null());
    }
}
