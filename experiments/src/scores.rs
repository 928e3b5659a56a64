//! Scores of generated images against public test images, the same for all experiments.

use data::LabelledImages;
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

    /// The flag that reads private records, where one was given.
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
    /// The same of private training records, where they were asked for.
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

/// Scores `pixels`, `[n, side * side]`, against public test images. `private` records are read for
/// `--memorisation` and `--ceilings` alone ([`ScoreFlags::reads_private`]).
pub(crate) fn score(
    test: &LabelledImages,
    pixels: &[f32],
    labels: Option<&[usize]>,
    private: Option<&LabelledImages>,
    flags: &ScoreFlags,
    session: &Session,
) -> Result<Scored, Failure> {
    let labels: Option<Vec<u8>> = labels.map(|l| l.iter().map(|&label| label as u8).collect());
    let judged = judged(test, pixels, labels.as_deref(), private, flags, session)?;
    let generated = GeneratedImages {
        pixels,
        labels: labels.as_deref(),
    };
    let mut real = RealImages {
        test,
        classifier: None,
        private: private.filter(|_| flags.memorisation),
    };
    let mut options = ImageOptions {
        convolutional: flags.convolutional,
        ..ImageOptions::default()
    };
    if flags.protocol == Protocol::Field {
        options.downstream = None;
    }
    // Images without classes teach no classifier.
    let trained = match labels {
        Some(_) => {
            let (folder, settings) = (
                session.running.cache()?.join("classifiers"),
                Settings::default(),
            );
            let mut say = |line: &str| println!("features  {line}");
            let interrupt = &session.interrupt;
            Some(Classifier::load_or_train(
                &folder, test, &settings, &mut say, interrupt,
            )?)
        }
        None => None,
    };
    real.classifier = trained.as_ref();
    let images = evaluate_images(&real, &generated, &options, &session.interrupt)?;
    let (field, ceilings) = judged;
    Ok(Scored {
        features: "LeNet",
        images,
        field,
        ceilings,
    })
}

/// Accuracies by the field's protocol, of samples and of private records, each where it was asked for.
fn judged(
    test: &LabelledImages,
    pixels: &[f32],
    labels: Option<&[u8]>,
    private: Option<&LabelledImages>,
    flags: &ScoreFlags,
    session: &Session,
) -> Result<(Option<Accuracies>, Option<Ceilings>), Failure> {
    let protocol = field::Protocol::default();
    let learn = |what: &str, pixels: &[f32], labels: &[u8]| {
        let mut say = |line: &str| println!("{what:<9} {line}");
        field::accuracies(
            pixels,
            labels,
            test,
            &protocol,
            &mut say,
            &session.interrupt,
        )
    };
    let labels = labels.filter(|_| flags.protocol == Protocol::Field);
    let field = labels
        .map(|labels| learn("field", pixels, labels))
        .transpose()?;
    let Some(private) = private.filter(|_| flags.ceilings) else {
        return Ok((field, None));
    };
    // They are trained each time: a cache would need a name for these records, and any that tells them from others
    // tells of them.
    let all: Vec<usize> = (0..private.len()).collect();
    let real = private.gather(&all).unwrap_or_default();
    let ceilings = Ceilings {
        reads_private_records: true,
        accuracies: learn("ceiling", &real, private.labels())?,
    };
    Ok((field, Some(ceilings)))
}

/// The scores as lines of a report.
pub(crate) fn metrics(scored: &Scored) -> Vec<Metric> {
    let scores = &scored.images;
    let tests = scores.test_records;
    let made = scores.generated_records;
    let mut metrics = Vec::new();
    if let Some(frechet) = scores.frechet {
        metrics.push(
            Metric::new(
                format!(
                    "Frechet distance in {} features, {made} samples, {tests} test images",
                    scored.features
                ),
                frechet,
            )
            .better(Better::Lower),
        );
    }
    metrics.extend(quick_accuracies(scores, "samples", "Accuracy"));
    if let Some(field) = &scored.field {
        metrics.extend(accuracies(field, "samples", "Accuracy"));
    }
    if let Some(ceilings) = &scored.ceilings {
        let begin = format!("{READS_PRIVATE}: accuracy");
        metrics.extend(accuracies(&ceilings.accuracies, "private records", &begin));
    }
    metrics.push(
        Metric::new(
            "Sliced squared distance between pixels",
            scores.sliced_w2_squared,
        )
        .better(Better::Lower),
    );
    if let Some(exact) = scores.exact_w2_squared {
        let name = format!(
            "Exact squared distance between pixels, {} images a side",
            scores.exact_points
        );
        metrics.push(Metric::new(name, exact).better(Better::Lower));
    }
    if let Some(memory) = &scores.memorisation {
        let mut tell = |what: &str, value| {
            metrics.push(Metric::new(format!("{READS_PRIVATE}: {what}"), value))
        };
        tell(
            "p-value of the hypothesis that samples know no more of training images than of test images",
            memory.p_value,
        );
        tell(
            "share of samples whose nearest image is a training image",
            memory.share_training,
        );
        tell(
            "the same share of samples without knowledge of training images",
            memory.share_expected,
        );
        tell(
            "share of the suspiciously near samples whose nearest image is a training image",
            memory.share_training_suspicious,
        );
        tell(
            "share of samples nearer to a training image than 1 % of test images are",
            memory.share_nearer,
        );
        if let Some(ratio) = memory.ratio {
            tell(
                "median distance to the nearest training image, samples over test images",
                ratio,
            );
        }
    }
    metrics
}

/// The accuracies of the baseline of a copy as lines of a report: of what public records teach by themselves.
pub(crate) fn baseline_metrics(images: &ImageScores, field: Option<&Accuracies>) -> Vec<Metric> {
    let of = "public records alone, varied as the samples are";
    let begin = "Baseline: accuracy";
    let mut metrics = quick_accuracies(images, of, begin);
    metrics.extend(field.iter().flat_map(|field| accuracies(field, of, begin)));
    metrics
}

/// The accuracies of the quick protocol.
fn quick_accuracies(scores: &ImageScores, of: &str, begin: &str) -> Vec<Metric> {
    let made = scores.generated_records;
    let taught = [
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
    taught.into_iter().filter_map(metric).collect()
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
