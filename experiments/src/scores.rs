//! Scores of generated images against public test images, the same for all experiments.

use std::path::{Path, PathBuf};

use data::LabelledImages;
use lab::diagnostic::Failure;
use lab::evaluate::classifier::{Classifier, Settings};
use lab::evaluate::{GeneratedImages, ImageOptions, ImageScores, RealImages, evaluate_images};
use lab::report::{Better, Metric};

/// The folder for what can be computed again: `--cache-dir`, or the user's cache folder.
///
/// # Errors
///
/// [`Failure::BadInput`] where the system names no cache folder.
pub fn cache(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    asked
        .map(Path::to_path_buf)
        .or_else(data::fetch::cache_folder)
        .ok_or_else(|| {
            Failure::input(
                "there is no cache folder for this user",
                "name one with --cache-dir",
            )
        })
}

/// Trains (or finds) the classifier of the test images, then scores `pixels`, `[n, 784]`.
///
/// Nothing here reads a private record.
///
/// # Errors
///
/// [`Failure::Failed`] for a cache that cannot be used, or images that are no images.
pub fn score(
    test: &LabelledImages,
    pixels: &[f32],
    labels: Option<&[usize]>,
    cache: &Path,
) -> Result<ImageScores, Failure> {
    let settings = Settings::default();
    let folder = cache.join("classifiers");
    let mut say = |line: &str| println!("features  {line}");
    let classifier =
        Classifier::load_or_train(&folder, test, &settings, &mut say).map_err(Failure::run)?;
    let labels: Option<Vec<u8>> = labels.map(|l| l.iter().map(|&label| label as u8).collect());
    let real = RealImages {
        test,
        classifier: Some(&classifier),
        private: None,
    };
    let generated = GeneratedImages {
        pixels,
        labels: labels.as_deref(),
    };
    evaluate_images(&real, &generated, &ImageOptions::default()).map_err(Failure::run)
}

/// The scores as lines of a report.
pub fn metrics(scores: &ImageScores) -> Vec<Metric> {
    let tests = scores.test_records;
    let made = scores.generated_records;
    let mut metrics = Vec::new();
    if let Some(frechet) = scores.frechet {
        metrics.push(
            Metric::new(
                format!("Frechet distance in LeNet features, {made} samples, {tests} test images"),
                frechet,
            )
            .better(Better::Lower),
        );
    }
    for (what, accuracy) in [
        ("an MLP of width 100", scores.downstream_mlp),
        ("logistic regression", scores.downstream_logistic),
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
    metrics
}
