//! Scores of generated images against public test images, the same for all experiments.

use std::path::{Path, PathBuf};

use data::LabelledImages;
use lab::diagnostic::Failure;
use lab::evaluate::classifier::{Classifier, Settings};
use lab::evaluate::frechet::frechet_distance;
use lab::evaluate::inception::Inception;
use lab::evaluate::transport::sliced_w2_squared;
use lab::evaluate::{GeneratedImages, ImageOptions, ImageScores, RealImages, evaluate_images};
use lab::progress::Progress;
use lab::report::{Better, Metric};
use lab::session::Session;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::Slices;

/// How the names of scores begin that are outside of the guarantee.
pub const READS_PRIVATE: &str = "Reads private records";

/// Which features the Frechet distance compares, and on how many images.
#[derive(Debug, Clone, clap::Args)]
pub struct ScoreFlags {
    /// Features of the Frechet distance: of a small classifier that is trained on the public test
    /// images, or of Inception, whose weights you supply.
    #[arg(long, value_enum, default_value_t = Features::Lenet)]
    pub features: Features,
    /// Inception's weights: a PyTorch state dictionary (.pt, .pth) or a safetensors file.
    #[arg(long, value_name = "FILE", required_if_eq("features", "inception"))]
    pub weights: Option<PathBuf>,
    /// Samples that are scored, and test images that they are compared with, at most.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(100..))]
    pub scored: u64,
    /// Look for the nearest private training image of each sample: the answer is NOT covered by the
    /// guarantee, and the report says so.
    #[arg(long)]
    pub memorisation: bool,
    /// Let a convolutional network learn from the samples too, which takes minutes.
    #[arg(long)]
    pub convolutional: bool,
    /// Skip the scores that take long: features, classifiers, exact transport.
    #[arg(long)]
    pub quick_scores: bool,
}

/// The features of the Frechet distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Features {
    /// A small classifier's, trained here.
    Lenet,
    /// Inception's last pool.
    Inception,
}

/// What samples are worth.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Scored {
    /// Which features the Frechet distance compares.
    pub features: &'static str,
    /// The scores.
    #[serde(flatten)]
    pub images: ImageScores,
}

/// Scores `pixels`, `[n, side * side]`, against public test images. `private` records are read for
/// `--memorisation` alone.
///
/// # Errors
///
/// [`Failure::BadInput`] for weights that cannot be read; [`Failure::Failed`] for images that are no
/// images; [`Failure::Interrupted`].
pub fn score(
    test: &LabelledImages,
    pixels: &[f32],
    labels: Option<&[usize]>,
    private: &LabelledImages,
    flags: &ScoreFlags,
    session: &Session,
) -> Result<Scored, Failure> {
    let labels: Option<Vec<u8>> = labels.map(|l| l.iter().map(|&label| label as u8).collect());
    let generated = GeneratedImages {
        pixels,
        labels: labels.as_deref(),
    };
    let mut real = RealImages {
        test,
        classifier: None,
        private: flags.memorisation.then_some(private),
    };
    let options = ImageOptions {
        convolutional: flags.convolutional,
        ..ImageOptions::default()
    };
    if flags.features == Features::Inception {
        let most = test.len().min(flags.scored as usize);
        let first: Vec<usize> = (0..most).collect();
        let seen = test.gather(&first).unwrap_or_default();
        let frechet = inception([&seen, pixels], (1, test.width()), flags, session)?;
        let mut images = evaluate_images(&real, &generated, &options, &session.interrupt)?;
        images.frechet = Some(frechet);
        return Ok(Scored {
            features: "Inception",
            images,
        });
    }
    let settings = Settings::default();
    let folder = session.running.cache()?.join("classifiers");
    let mut say = |line: &str| println!("features  {line}");
    let classifier =
        Classifier::load_or_train(&folder, test, &settings, &mut say, &session.interrupt)?;
    real.classifier = Some(&classifier);
    Ok(Scored {
        features: "LeNet",
        images: evaluate_images(&real, &generated, &options, &session.interrupt)?,
    })
}

/// The Frechet distance in Inception's features, of images `[n, channels, side, side]` in rows.
fn inception(
    [real, made]: [&[f32]; 2],
    (channels, side): (usize, usize),
    flags: &ScoreFlags,
    session: &Session,
) -> Result<f64, Failure> {
    let path = flags.weights.as_deref().unwrap_or(Path::new(""));
    let network = Inception::load(path, None, &session.chosen.device).map_err(|e| {
        Failure::input(
            format!("--weights {}: {e}", path.display()),
            "give a state dictionary with torchvision's names",
        )
    })?;
    let size = channels * side * side;
    let progress = Progress::new(((real.len() + made.len()) / size) as u64);
    let mut both = [Vec::new(), Vec::new()];
    for (features, images) in both.iter_mut().zip([real, made]) {
        for part in images.chunks(20 * size) {
            session.interrupt.check("samples were scored")?;
            let found = network.features(part, channels, side);
            features.extend(found.map_err(Failure::failed)?);
            (0..part.len() / size).for_each(|_| progress.step());
        }
    }
    progress.finish();
    frechet_distance(&both[0], &both[1], Inception::FEATURES).map_err(Failure::failed)
}

/// Scores photographs, `[n, channels, side, side]` in rows, against public ones: they have no classes,
/// so no classifier learns from them, and features are Inception's or none.
///
/// # Errors
///
/// As [`score`].
pub fn score_photographs(
    [real, made]: [&[f32]; 2],
    (channels, side): (usize, usize),
    flags: &ScoreFlags,
    session: &Session,
) -> Result<Scored, Failure> {
    let size = channels * side * side;
    let options = ImageOptions::default();
    let mut rng = ChaCha20Rng::seed_from_u64(options.seed);
    let slices = Slices::iid(size, options.slices, &mut rng).map_err(Failure::failed)?;
    let frechet = (flags.features == Features::Inception)
        .then(|| inception([real, made], (channels, side), flags, session))
        .transpose()?;
    Ok(Scored {
        features: "Inception",
        images: ImageScores {
            generated_records: made.len() / size,
            test_records: real.len() / size,
            frechet,
            downstream_mlp: None,
            downstream_logistic: None,
            downstream_convolutional: None,
            sliced_w2_squared: sliced_w2_squared(made, real, &slices).map_err(Failure::failed)?,
            exact_w2_squared: None,
            exact_points: 0,
            memorisation: None,
        },
    })
}

/// The scores as lines of a report.
pub fn metrics(scored: &Scored) -> Vec<Metric> {
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
    for (what, accuracy) in [
        ("an MLP of width 100", scores.downstream_mlp),
        ("logistic regression", scores.downstream_logistic),
        ("a convolutional network", scores.downstream_convolutional),
    ] {
        if let Some(accuracy) = accuracy {
            let name = format!(
                "Accuracy on {} test images of {what} trained on {made} samples",
                accuracy.test_records
            );
            metrics.push(Metric::new(name, accuracy.accuracy).better(Better::Higher));
        }
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
        metrics.push(Metric::new(
            format!("{READS_PRIVATE}: share of samples nearer to a training image than 1 % of test images are"),
            memory.share_nearer,
        ));
        if let Some(ratio) = memory.ratio {
            metrics.push(Metric::new(
                format!("{READS_PRIVATE}: median distance to the nearest training image, samples over test images"),
                ratio,
            ));
        }
    }
    metrics
}

/// What a reader of scores must know.
pub fn warnings(flags: &ScoreFlags) -> Vec<String> {
    if flags.memorisation {
        vec![
            "Distances to training images read private records: they are outside of the guarantee."
                .to_string(),
        ]
    } else {
        Vec::new()
    }
}
