//! A small classifier of square grey images, whose penultimate layer gives the features of the Frechet distance.
//!
//! It trains on public records in about a minute, is kept on disk, and is the same for all runs that are compared
//! (as in Sebag et al. 2023, arXiv 2312.08227).

mod cache;
mod lenet;

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use data::Records;
use dp_core::per_sample::HostStack;
use private_training::{TrainingError, weights};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::EvaluateError;
use super::error::{check_count, check_labels, check_records};
use super::shift::Shift;
use super::supervised::{Examples, Schedule, largest, outputs, share_correct, train};
pub(crate) use lenet::{LeNet, shape_of};
use reporting::interrupt::Interrupt;

/// Settings of the training of a [`Classifier`].
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Settings {
    /// The number of passes over the training records.
    pub epochs: usize,
    /// The number of records in a step.
    pub batch: usize,
    /// Adam's learning rate at the start; it falls to 0 along a cosine.
    pub rate: f64,
    /// The largest number of pixels by which each image is moved at random in both directions.
    pub shift: usize,
    /// The seed of the initial weights, of the order of the records and of the moves.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            epochs: 20,
            batch: 32,
            rate: 2e-3,
            shift: 1,
            seed: 0,
        }
    }
}

/// A trained classifier, ready for use from any thread.
pub struct Classifier {
    image_size: usize,
    classes: usize,
    trunk: HostStack,
    head: HostStack,
}

impl std::fmt::Debug for Classifier {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Classifier")
            .field("image_size", &self.image_size)
            .field("classes", &self.classes)
            .finish_non_exhaustive()
    }
}

impl Classifier {
    /// The number of features of an image.
    pub const FEATURES: usize = lenet::FEATURES;

    /// Trains a classifier on `data`, which must be public: the weights are not private.
    ///
    /// The same data and settings give the same weights, whatever the number of threads.
    ///
    /// # Errors
    ///
    /// [`EvaluateError::Shape`] for images that are not square with a side that is a multiple of
    /// 4, [`EvaluateError::Setting`] for a setting outside its range.
    pub fn train(data: &Records, settings: &Settings) -> Result<Self, EvaluateError> {
        Self::new(&trained(data, settings, &Interrupt::default())?, data)
    }

    /// Reads the classifier from `folder`, or trains it and writes it there.
    ///
    /// The file's name contains the SHA-256 of the training records, the architecture and the settings. A checksum
    /// protects the weights. `note` receives a line to show when training begins, when a file is damaged (the classifier
    /// is then trained again and the file replaced), and when the file cannot be written (the classifier is still used).
    ///
    /// # Errors
    ///
    /// As [`Classifier::train`]; [`EvaluateError::Interrupted`], after which nothing is kept.
    pub fn load_or_train(
        folder: &Path,
        data: &Records,
        settings: &Settings,
        note: &mut dyn FnMut(&str),
        interrupt: &Interrupt,
    ) -> Result<Self, EvaluateError> {
        let path = Self::path(folder, data, settings)?;
        let mut network = initial(data, settings)?;
        match cache::read(&path, weights::to_host(&network).len()) {
            Ok(Some(flat)) => {
                network = weights::from_host(network, &flat)?;
                return Self::new(&network, data);
            }
            Ok(None) => {}
            Err(error) => note(&format!("{error}; the classifier is trained again")),
        }
        note(&format!(
            "training the classifier of the Frechet distance on {} public images, {} epochs",
            data.len(),
            settings.epochs
        ));
        let network = trained(data, settings, interrupt)?;
        if let Err(error) = cache::write(&path, &weights::to_host(&network)) {
            note(&format!("the classifier could not be kept: {error}"));
        }
        Self::new(&network, data)
    }

    /// Returns the file that [`Classifier::load_or_train`] reads and writes.
    pub fn path(
        folder: &Path,
        data: &Records,
        settings: &Settings,
    ) -> Result<PathBuf, EvaluateError> {
        cache::path(folder, data, settings)
    }

    fn new(network: &LeNet, data: &Records) -> Result<Self, EvaluateError> {
        Ok(Self {
            image_size: data.image_size(),
            classes: data.classes(),
            trunk: network
                .trunk()
                .and_then(|stack| stack.host())
                .map_err(TrainingError::from)?,
            head: network
                .head()
                .and_then(|stack| stack.host())
                .map_err(TrainingError::from)?,
        })
    }

    /// Returns the number of values of an image, `channels * side * side`.
    pub fn image_size(&self) -> usize {
        self.image_size
    }

    /// Returns the number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Returns the activations of the penultimate layer, `[n, 84]`, of images `[n, channels * side * side]` in `[0, 1]`.
    ///
    /// # Errors
    ///
    /// [`EvaluateError::Shape`] or [`EvaluateError::NotFinite`].
    pub fn features(&self, images: &[f32]) -> Result<Vec<f32>, EvaluateError> {
        check_records("images", images, self.image_size())?;
        Ok(outputs(&self.trunk, images))
    }

    /// Returns the most likely class of each image.
    ///
    /// # Errors
    ///
    /// As [`Classifier::features`].
    pub fn predict(&self, images: &[f32]) -> Result<Vec<u8>, EvaluateError> {
        let features = self.features(images)?;
        Ok(largest(&outputs(&self.head, &features), self.classes))
    }

    /// Returns the share of images whose most likely class is their label.
    ///
    /// # Errors
    ///
    /// As [`Classifier::features`]; labels that do not fit the images, or no image.
    pub fn accuracy(&self, images: &[f32], labels: &[u8]) -> Result<f64, EvaluateError> {
        let predicted = self.predict(images)?;
        check_count("images", predicted.len(), 1)?;
        check_labels("labels of images", labels, predicted.len(), self.classes)?;
        Ok(share_correct(&predicted, labels))
    }
}

/// Returns the network before training.
fn initial(data: &Records, settings: &Settings) -> Result<LeNet, EvaluateError> {
    let side = data.width();
    if settings.shift >= side {
        return Err(EvaluateError::Setting {
            name: "shift",
            value: settings.shift as f64,
            bound: "below the side of the images",
        });
    }
    let mut rng = ChaCha20Rng::seed_from_u64(settings.seed);
    rng.set_stream(0);
    LeNet::for_images(data, &mut rng, &Device::flex())
}

fn trained(
    data: &Records,
    settings: &Settings,
    interrupt: &Interrupt,
) -> Result<LeNet, EvaluateError> {
    let schedule = Schedule {
        epochs: settings.epochs,
        batch: settings.batch,
        chunk: 16,
        rate: settings.rate,
        shift: (settings.shift > 0).then_some(Shift {
            side: data.width(),
            pixels: settings.shift,
        }),
    };
    schedule.check()?;
    let network = initial(data, settings)?;
    let mut rng = ChaCha20Rng::seed_from_u64(settings.seed);
    rng.set_stream(1);
    let all: Vec<usize> = (0..data.len()).collect();
    let inputs = data.gather(&all)?;
    let examples = Examples {
        inputs: &inputs,
        labels: data.labels(),
        features: data.image_size(),
        classes: data.classes(),
    };
    train(network, &examples, &schedule, &mut rng, interrupt)
}
