//! All scores of a generator of images in one call.

use data::Records;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::Slices;

use super::classifier::Classifier;
use super::downstream::{self, Accuracy, Learner};
use super::error::{check_asked, check_count, check_labels, check_records};
use super::frechet::frechet_distance;
use super::memorisation::{Memorisation, memorisation};
use super::transport::{MOST_POINTS, exact_w2_squared, sliced_w2_squared};
use super::{EvaluateError, neighbours};
use reporting::interrupt::Interrupt;

/// The real images and the classifier that generated images are compared by.
#[derive(Debug, Clone, Copy)]
pub struct RealImages<'a> {
    /// Public records of the kind that the generator should generate.
    pub test: &'a Records,
    /// The classifier whose features the Frechet distance compares; without it that score is absent.
    pub classifier: Option<&'a Classifier>,
    /// The generator's private training records. **Only [`Memorisation`] reads them**; without them that score is absent.
    pub private: Option<&'a Records>,
}

/// Generated images and their labels.
#[derive(Clone, Copy)]
pub struct GeneratedImages<'a> {
    /// The values of the pixels, `[n, pixels]`, row by row, in `[0, 1]`.
    pub pixels: &'a [f32],
    /// A class for each image, `[n]`; without them the downstream accuracies are absent.
    pub labels: Option<&'a [u8]>,
}

impl std::fmt::Debug for GeneratedImages<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("GeneratedImages");
        shown.field("labelled", &self.labels.is_some());
        shown.finish_non_exhaustive()
    }
}

/// Settings of [`evaluate_images`].
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ImageOptions {
    /// The number of slices of the sliced distance.
    pub slices: usize,
    /// The number of images on each side of the exact distance, at most [`MOST_POINTS`]; 0 leaves the score out.
    pub exact_points: usize,
    /// The number of generated and of test images whose nearest training image is searched; 0 leaves the score out.
    pub memorisation_points: usize,
    /// Settings of the classifiers that train on the samples; `None` leaves the accuracies out.
    pub downstream: Option<downstream::Settings>,
    /// Whether a convolutional network also trains on the samples, which takes minutes.
    pub convolutional: bool,
    /// The seed of the slices and of the choice of images; scores are comparable at the same seed.
    pub seed: u64,
}

impl Default for ImageOptions {
    fn default() -> Self {
        Self {
            slices: 100,
            exact_points: 1000,
            memorisation_points: 2000,
            downstream: Some(downstream::Settings::default()),
            convolutional: false,
            seed: 0,
        }
    }
}

/// Scores of generated images. Distances are in squared units of their space; lower is better.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ImageScores {
    /// The number of generated images.
    pub generated_records: usize,
    /// The number of real test images that they were compared with.
    pub test_records: usize,
    /// The Frechet distance between features of the classifier.
    pub frechet: Option<f64>,
    /// The accuracy of a multilayer perceptron of width 100 trained on the samples.
    pub downstream_mlp: Option<Accuracy>,
    /// The accuracy of logistic regression trained on the samples.
    pub downstream_logistic: Option<Accuracy>,
    /// The accuracy of a convolutional network trained on the samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downstream_convolutional: Option<Accuracy>,
    /// The sliced squared 2-Wasserstein distance between pixels.
    pub sliced_w2_squared: f64,
    /// The exact squared 2-Wasserstein distance between the pixels of [`ImageScores::exact_points`] images on each side.
    /// It depends much on that number, so compare it only with distances at the same number.
    pub exact_w2_squared: Option<f64>,
    /// The number of images on each side of the exact distance.
    pub exact_points: usize,
    /// Distances to the nearest training images. They depend on private records: do not release them.
    pub memorisation: Option<Memorisation>,
}

/// Scores generated images against real ones.
///
/// The seeds of `options` determine the result. Every score but [`ImageScores::memorisation`] is a function of the
/// samples and of public records.
///
/// # Errors
///
/// Images or labels that do not fit `real.test`, values that are not finite, fewer than two images, or an option outside
/// its range; [`EvaluateError::Interrupted`].
pub fn evaluate_images(
    real: &RealImages<'_>,
    generated: &GeneratedImages<'_>,
    options: &ImageOptions,
    interrupt: &Interrupt,
) -> Result<ImageScores, EvaluateError> {
    let pixels = real.test.image_size();
    let records = check_records("generated images", generated.pixels, pixels)?;
    check_count("generated images", records, 2)?;
    check_count("test images", real.test.len(), 2)?;
    // Cheap checks come before any work.
    if let Some(labels) = generated.labels {
        check_labels(
            "labels of generated images",
            labels,
            records,
            real.test.classes(),
        )?;
    }
    if options.exact_points > MOST_POINTS {
        return Err(EvaluateError::Setting {
            name: "exact_points",
            value: options.exact_points as f64,
            bound: "at most 10000",
        });
    }
    if let Some(private) = real.private {
        check_size("private images", private.image_size(), pixels)?;
    }
    if let Some(classifier) = real.classifier {
        check_size("images of the classifier", classifier.image_size(), pixels)?;
    }
    let test = neighbours::Images::of(real.test)?.block(0..real.test.len());
    let frechet = real
        .classifier
        .map(|classifier| {
            let made = classifier.features(generated.pixels)?;
            let real = classifier.features(&test)?;
            frechet_distance(&made, &real, Classifier::FEATURES)
        })
        .transpose()?;
    check_asked(interrupt)?;
    let slices = Slices::iid(pixels, options.slices, &mut stream(options, 0))?;
    let sliced_w2_squared = sliced_w2_squared(generated.pixels, &test, &slices)?;
    let [
        downstream_mlp,
        downstream_logistic,
        downstream_convolutional,
    ] = downstream_accuracies(real, generated, options, interrupt)?;
    let chosen = Chosen {
        generated: generated.pixels,
        test: &test,
        pixels,
        options,
    };
    let (exact_points, exact_w2_squared) = chosen.exact()?;
    check_asked(interrupt)?;
    Ok(ImageScores {
        generated_records: records,
        test_records: real.test.len(),
        frechet,
        downstream_mlp,
        downstream_logistic,
        downstream_convolutional,
        sliced_w2_squared,
        exact_w2_squared,
        exact_points,
        memorisation: chosen.memorisation(real, interrupt)?,
    })
}

/// Returns public randomness, one stream for each score, so that leaving out one score changes no other.
fn stream(options: &ImageOptions, score: u64) -> ChaCha20Rng {
    let mut rng = ChaCha20Rng::seed_from_u64(options.seed);
    rng.set_stream(score);
    rng
}

fn check_size(what: &'static str, found: usize, expected: usize) -> Result<(), EvaluateError> {
    if found == expected {
        return Ok(());
    }
    Err(EvaluateError::Shape {
        what,
        expected: format!("{expected} pixels each"),
        found,
    })
}

/// Returns the accuracies of the MLP, of logistic regression and of the convolutional network.
fn downstream_accuracies(
    real: &RealImages<'_>,
    generated: &GeneratedImages<'_>,
    options: &ImageOptions,
    interrupt: &Interrupt,
) -> Result<[Option<Accuracy>; 3], EvaluateError> {
    let (Some(settings), Some(labels)) = (options.downstream, generated.labels) else {
        return Ok([None; 3]);
    };
    let accuracy = |learner: Learner| {
        learner.accuracy(generated.pixels, labels, real.test, &settings, interrupt)
    };
    let (mlp, logistic) = rayon::join(|| accuracy(Learner::Mlp), || accuracy(Learner::Logistic));
    let convolutional = options
        .convolutional
        .then(|| accuracy(Learner::Convolutional));
    Ok([Some(mlp?), Some(logistic?), convolutional.transpose()?])
}

/// The scores of a random choice of the images, because generated images may be sorted by class.
struct Chosen<'a> {
    generated: &'a [f32],
    test: &'a [f32],
    pixels: usize,
    options: &'a ImageOptions,
}

impl Chosen<'_> {
    fn exact(&self) -> Result<(usize, Option<f64>), EvaluateError> {
        let most = (self.generated.len() / self.pixels).min(self.test.len() / self.pixels);
        let points = self.options.exact_points.min(most);
        if points == 0 {
            return Ok((0, None));
        }
        let mut rng = stream(self.options, 1);
        let made = self.choose(self.generated, points, &mut rng);
        let real = self.choose(self.test, points, &mut rng);
        Ok((points, Some(exact_w2_squared(&made, &real, self.pixels)?)))
    }

    fn memorisation(
        &self,
        all: &RealImages<'_>,
        interrupt: &Interrupt,
    ) -> Result<Option<Memorisation>, EvaluateError> {
        let (Some(private), 1..) = (all.private, self.options.memorisation_points) else {
            return Ok(None);
        };
        let mut rng = stream(self.options, 2);
        let made = self.choose(self.generated, self.options.memorisation_points, &mut rng);
        let real = self.choose(self.test, self.options.memorisation_points, &mut rng);
        memorisation(&made, &real, all.test, private, &mut rng, interrupt).map(Some)
    }

    /// Returns at most `points` distinct images.
    fn choose(&self, images: &[f32], points: usize, rng: &mut ChaCha20Rng) -> Vec<f32> {
        let records = images.len() / self.pixels;
        rand::seq::index::sample(rng, records, points.min(records))
            .into_iter()
            .flat_map(|i| &images[i * self.pixels..(i + 1) * self.pixels])
            .copied()
            .collect()
    }
}
