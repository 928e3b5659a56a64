//! Scores of generated images against public test images, the same for all experiments.

use data::Records;
use lab::evaluate::classifier::{Classifier, Settings};
use lab::evaluate::downstream::Accuracy;
use lab::evaluate::field::{self, Accuracies};
use lab::evaluate::{GeneratedImages, ImageOptions, ImageScores, RealImages, evaluate_images};
use lab::prelude::*;

/// How the names of scores begin that are outside of the guarantee.
pub(crate) const READS_PRIVATE: &str = "Reads private records";

/// Which scores there are, and of how many images.
#[derive(Debug, Clone, clap::Args)]
pub struct ScoreFlags {
    /// How samples with classes are judged: in a minute, or as the field does it, in some more.
    #[arg(long, value_enum, default_value_t = Protocol::Quick)]
    pub protocol: Protocol,
    /// Samples that are scored, at most (default: 10000; 60000 by the field's protocol).
    #[arg(long, value_parser = clap::value_parser!(u64).range(100..))]
    pub scored: Option<u64>,
    /// Train the field's classifiers on the private images too, which shows the accuracy that samples cannot exceed by
    /// much: NOT covered by the guarantee.
    #[arg(long)]
    pub ceilings: bool,
    /// Test whether samples repeat private training images: NOT covered by the guarantee.
    #[arg(long)]
    pub memorisation: bool,
    /// Let a convolutional network learn from the samples too, which takes minutes.
    #[arg(long)]
    pub convolutional: bool,
    /// Skip the scores that take long: features, classifiers, exact transport.
    #[arg(long, conflicts_with = "ceilings")]
    pub quick_scores: bool,
}

impl ScoreFlags {
    /// Samples that are scored, at most.
    pub fn count(&self) -> usize {
        let scored = self.scored.map(|scored| scored as usize);
        scored.unwrap_or(match self.protocol {
            Protocol::Quick => 10_000,
            Protocol::Field => field::SAMPLES,
        })
    }

    /// The flag that reads private records, if one was given.
    pub fn reads_private(&self) -> Option<&'static str> {
        match (self.memorisation, self.ceilings) {
            (true, _) => Some("--memorisation"),
            (_, true) => Some("--ceilings"),
            _ => None,
        }
    }
}

/// How samples are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Protocol {
    /// 10 000 samples, an MLP and logistic regression, one seed.
    Quick,
    /// 60 000 samples, a convolutional classifier, an MLP, logistic regression and nearest neighbours, three seeds.
    Field,
}

/// What samples are worth.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct Scored {
    /// Which features the Frechet distance compares.
    pub features: &'static str,
    /// The scores.
    #[serde(flatten)]
    pub images: ImageScores,
    /// Accuracies by the field's protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<Accuracies>,
    /// The same of private training records, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceilings: Option<Ceilings>,
}

/// What real records teach the same classifiers.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct Ceilings {
    /// Always true: these numbers depend on private records and are covered by no ledger.
    pub reads_private_records: bool,
    /// The accuracies.
    #[serde(flatten)]
    pub accuracies: Accuracies,
}

/// Scores `pixels`, `[n, channels, side, side]`, against public test images; nothing with `--quick-scores`. `private` records are
/// read for `--memorisation` and `--ceilings` alone ([`ScoreFlags::reads_private`]).
pub(crate) fn score(
    test: &Records,
    pixels: &[f32],
    labels: Option<&[usize]>,
    private: Option<&Records>,
    flags: &ScoreFlags,
    session: &Session,
) -> Result<Option<Scored>, Failure> {
    if flags.quick_scores {
        return Ok(None);
    }
    let labels: Option<Vec<u8>> = labels.map(|l| l.iter().map(|&label| label as u8).collect());
    let (labels, interrupt) = (labels.as_deref(), &session.interrupt);
    let learn = |what: &str, pixels: &[f32], labels: &[u8]| {
        let mut say = |line: &str| println!("{what:<9} {line}");
        let protocol = field::Protocol::default();
        field::accuracies(pixels, labels, test, &protocol, &mut say, interrupt)
    };
    let by_field = flags.protocol == Protocol::Field;
    let field = labels.filter(|_| by_field);
    let field = field
        .map(|labels| learn("field", pixels, labels))
        .transpose()?;
    // They are trained each time: a cache would need a name for these records, and any that tells them from others
    // tells of them.
    let ceilings = private.filter(|_| flags.ceilings).map(|private| {
        let all: Vec<usize> = (0..private.len()).collect();
        learn("ceiling", &private.gather(&all)?, private.labels())
    });
    let ceilings = ceilings.transpose()?;
    // Images without classes teach no classifier.
    let classifier = labels.map(|_| {
        let folder = session.running.cache()?.join("classifiers");
        let (settings, say) = (Settings::default(), &mut |line: &str| {
            println!("features  {line}");
        });
        Ok::<_, Failure>(Classifier::load_or_train(
            &folder, test, &settings, say, interrupt,
        )?)
    });
    let classifier = classifier.transpose()?;
    let real = RealImages {
        test,
        classifier: classifier.as_ref(),
        private: private.filter(|_| flags.memorisation),
    };
    let default = ImageOptions::default();
    let options = ImageOptions {
        convolutional: flags.convolutional,
        downstream: default.downstream.filter(|_| !by_field),
        ..default
    };
    let generated = GeneratedImages { pixels, labels };
    let images = evaluate_images(&real, &generated, &options, interrupt)?;
    Ok(Some(Scored {
        features: "LeNet",
        images,
        field,
        ceilings: ceilings.map(|accuracies| Ceilings {
            reads_private_records: true,
            accuracies,
        }),
    }))
}

/// What is said of memorisation.
const OF_MEMORISATION: [&str; 6] = [
    "p-value of the hypothesis that samples know no more of training images than of test images",
    "share of samples whose nearest image is a training image",
    "the same share of samples without knowledge of training images",
    "share of the suspiciously near samples whose nearest image is a training image",
    "share of samples nearer to a training image than 1 % of test images are",
    "median distance to the nearest training image, samples over test images",
];

/// The scores as lines of a report.
pub(crate) fn metrics(scored: &Scored) -> Vec<Metric> {
    let scores = &scored.images;
    let (tests, made) = (scores.test_records, scores.generated_records);
    let lower = |name: String, value: Option<f64>| {
        let metric = value.map(|value| Metric::new(name, value));
        metric.map(|metric| metric.better(Better::Lower))
    };
    let name = format!(
        "Frechet distance in {} features, {made} samples, {tests} test images",
        scored.features
    );
    let mut metrics: Vec<Metric> = lower(name, scores.frechet).into_iter().collect();
    metrics.extend(taught(scores, scored.field.as_ref(), "samples", "Accuracy"));
    if let Some(ceilings) = &scored.ceilings {
        let begin = format!("{READS_PRIVATE}: accuracy");
        metrics.extend(accuracies(&ceilings.accuracies, "private records", &begin));
    }
    let name = "Sliced squared distance between pixels".to_string();
    metrics.extend(lower(name, Some(scores.sliced_w2_squared)));
    let points = scores.exact_points;
    let name = format!("Exact squared distance between pixels, {points} images a side");
    metrics.extend(lower(name, scores.exact_w2_squared));
    if let Some(memory) = &scores.memorisation {
        let values = [
            Some(memory.p_value),
            Some(memory.share_training),
            Some(memory.share_expected),
            Some(memory.share_training_suspicious),
            Some(memory.share_nearer),
            memory.ratio,
        ];
        let tell = |(what, value): (&str, Option<f64>)| {
            Some(Metric::new(format!("{READS_PRIVATE}: {what}"), value?))
        };
        metrics.extend(OF_MEMORISATION.into_iter().zip(values).filter_map(tell));
    }
    metrics
}

/// What classifiers learned `of` images as lines of a report that `begin` so: by the quick protocol, and by the field's.
pub(crate) fn taught(
    scores: &ImageScores,
    field: Option<&Accuracies>,
    of: &str,
    begin: &str,
) -> Vec<Metric> {
    let made = scores.generated_records;
    let quick = [
        ("an MLP of width 100", scores.downstream_mlp),
        ("logistic regression", scores.downstream_logistic),
        ("a convolutional network", scores.downstream_convolutional),
    ];
    let metric = |(what, accuracy): (&str, Option<Accuracy>)| {
        let accuracy = accuracy?;
        let tests = accuracy.test_records;
        let name = format!("{begin} on {tests} test images of {what} trained on {made} {of}");
        Some(Metric::new(name, accuracy.accuracy).better(Better::Higher))
    };
    let quick = quick.into_iter().filter_map(metric);
    let field = field
        .into_iter()
        .flat_map(|field| accuracies(field, of, begin));
    quick.chain(field).collect()
}

/// The accuracies of the field's protocol, of each classifier the mean and the deviation.
fn accuracies(found: &Accuracies, of: &str, begin: &str) -> Vec<Metric> {
    let (made, tests) = (found.training_records, found.test_records);
    let name =
        |what: &str| format!("{begin} on {tests} test images of {what} trained on {made} {of}");
    let mut metrics = Vec::new();
    for (what, spread) in [
        ("a convolutional classifier", &found.convolutional),
        ("an MLP of width 100", &found.mlp),
        ("logistic regression", &found.logistic),
    ] {
        let name = format!("{}, {} seeds", name(what), spread.values.len());
        let mean = Metric::new(format!("{name}: mean"), spread.mean);
        metrics.push(mean.better(Better::Higher));
        metrics.push(Metric::new(format!("{name}: deviation"), spread.deviation));
    }
    let what = format!("{} nearest neighbours", found.protocol.neighbours);
    metrics.push(Metric::new(name(&what), found.nearest_neighbours).better(Better::Higher));
    metrics
}

/// What a reader of scores must know.
pub(crate) fn warnings(flags: &ScoreFlags) -> Vec<String> {
    let mut warnings = Vec::new();
    if flags.memorisation {
        warnings.push(
            "Distances to training records read private ones: they are outside of the guarantee. Where there is a p-value, \
             at most 0.01 says that samples repeat training images; an honest generator has one with probability at most 0.01, if \
             test images are sampled from the law of the training images."
                .to_string(),
        );
    }
    if flags.ceilings {
        warnings.push(
            "Ceilings are accuracies of classifiers that were trained on private records: they are outside of the \
             guarantee."
                .to_string(),
        );
    }
    warnings
}
