//! What generated samples teach: the accuracy, on real test records, of a classifier trained on
//! samples and their labels (Rodriguez-Vitores et al. 2025, arXiv 2502.01701, table 1).

use burn::module::Module;
use burn::nn::Linear;
use burn::nn::conv::Conv2d;
use burn::nn::pool::{MaxPool2d, MaxPool2dConfig};
use burn::tensor::Device;
use data::Records;
use dp_core::per_sample::LayerError;
use dp_core::per_sample::Stack;
use dp_core::per_sample::nn::Chain;
use model::layers::{Window, conv2d, linear};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::EvaluateError;
use super::classifier::{LeNet, shape_of};
use super::error::{check_count, check_labels, check_records};
use super::neighbours::Images;
use super::supervised::{
    Examples, LayeredClassifier, Schedule, host, largest, outputs, share_correct, train,
};
use reporting::interrupt::Interrupt;

/// What learns from the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Learner {
    /// One hidden layer of 100 rectified units, as Rodriguez-Vitores et al. have it.
    Mlp,
    /// Logistic regression: no hidden layer.
    Logistic,
    /// Two convolutions and three linear layers, after LeNet-5: the network of the classifier that gives features.
    Convolutional,
    /// Two 3x3 convolutions of 32 and 64 channels, each with the largest value of 2x2 blocks behind it, and a hidden
    /// layer of 128 units: the convolutional classifier of the field's protocol.
    Wide,
}

/// How it learns.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Settings {
    /// Passes over the samples.
    pub epochs: usize,
    /// Samples in a step.
    pub batch: usize,
    /// Adam's rate at the start; it falls to 0 along a cosine.
    pub rate: f64,
    /// The seed of the initial weights and of the order of the samples.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            epochs: 20,
            batch: 200,
            rate: 1e-3,
            seed: 0,
        }
    }
}

/// An accuracy and what it was measured on.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Accuracy {
    /// The share of test records whose class is found.
    pub accuracy: f64,
    /// Test records looked at.
    pub test_records: usize,
    /// Samples learned from.
    pub training_records: usize,
}

impl Learner {
    /// Trains on `samples`, `[n, d]`, with `labels`, `[n]`, and tests on `test`, whose images have
    /// `d` pixels.
    ///
    /// The same arguments give the same accuracy, whatever the number of threads.
    ///
    /// # Errors
    ///
    /// Samples or labels that do not fit, are not finite or are no class; a setting outside its
    /// range; [`EvaluateError::Interrupted`].
    pub fn accuracy(
        self,
        samples: &[f32],
        labels: &[u8],
        test: &Records,
        settings: &Settings,
        interrupt: &Interrupt,
    ) -> Result<Accuracy, EvaluateError> {
        let predicted = self.learned(samples, labels, test, settings, interrupt)?(test)?;
        Ok(Accuracy {
            accuracy: share_correct(&predicted, test.labels()),
            test_records: test.len(),
            training_records: labels.len(),
        })
    }

    /// Trains on `samples`, and says what finds the class of each of some images, of the shape and classes of those `like`
    /// them, whatever their labels.
    ///
    /// # Errors
    ///
    /// As [`Learner::accuracy`].
    pub fn learned(
        self,
        samples: &[f32],
        labels: &[u8],
        like: &Records,
        settings: &Settings,
        interrupt: &Interrupt,
    ) -> Result<Found, EvaluateError> {
        let (features, classes) = (like.image_size(), like.classes());
        let records = check_records("samples", samples, features)?;
        check_count("samples to learn from", records, 1)?;
        check_labels("labels of samples", labels, records, classes)?;
        let examples = Examples {
            inputs: samples,
            labels,
            features,
            classes,
        };
        let mut rng = ChaCha20Rng::seed_from_u64(settings.seed);
        let device = Device::flex();
        match self {
            Self::Mlp => {
                let network = Mlp {
                    fc1: linear(features, WIDTH, 2.0, &mut rng, &device),
                    fc2: linear(WIDTH, classes, 1.0, &mut rng, &device),
                };
                learn(network, &examples, settings, &mut rng, interrupt)
            }
            Self::Logistic => {
                let network = Logistic {
                    fc: linear(features, classes, 1.0, &mut rng, &device),
                };
                learn(network, &examples, settings, &mut rng, interrupt)
            }
            Self::Convolutional => {
                let network = LeNet::for_images(like, &mut rng, &device)?;
                learn(network, &examples, settings, &mut rng, interrupt)
            }
            Self::Wide => {
                let network = Wide::for_images(like, &mut rng, &device)?;
                learn(network, &examples, settings, &mut rng, interrupt)
            }
        }
    }
}

/// Units of the hidden layer (Rodriguez-Vitores et al. 2025, arXiv 2502.01701, table 1).
const WIDTH: usize = 100;
/// Samples on one core; two chunks a batch by default.
const CHUNK: usize = 100;
/// Test images that are looked at together.
const BLOCK: usize = 5000;
/// Channels of the convolutions of [`Learner::Wide`], and units of its hidden layer.
const CHANNELS: [usize; 2] = [32, 64];
const HIDDEN: usize = 128;

#[derive(Module, Debug)]
struct Mlp {
    fc1: Linear,
    fc2: Linear,
}

#[derive(Module, Debug)]
struct Logistic {
    fc: Linear,
}

#[derive(Module, Debug)]
struct Wide {
    conv1: Conv2d,
    conv2: Conv2d,
    fc1: Linear,
    fc2: Linear,
    pool: MaxPool2d,
    channels: usize,
    side: usize,
}

impl Wide {
    fn for_images(
        images: &Records,
        rng: &mut impl Rng,
        device: &Device,
    ) -> Result<Self, EvaluateError> {
        let [channels, side] = shape_of(images)?;
        let [c1, c2] = CHANNELS;
        let mut conv = |channels| conv2d(channels, Window::same(3), 2.0, 0.0, rng, device);
        let (conv1, conv2) = (conv([channels, c1]), conv([c1, c2]));
        Ok(Self {
            conv1,
            conv2,
            fc1: linear(c2 * (side / 4).pow(2), HIDDEN, 2.0, rng, device),
            fc2: linear(HIDDEN, images.classes(), 1.0, rng, device),
            pool: MaxPool2dConfig::new([2, 2]).with_strides([2, 2]).init(),
            channels,
            side,
        })
    }
}

impl LayeredClassifier for Wide {
    fn stack(&self) -> Result<Stack<'_>, LayerError> {
        Chain::image([self.channels, self.side, self.side])
            .conv2d(&self.conv1)
            .relu()
            .max_pool2d(&self.pool)
            .conv2d(&self.conv2)
            .relu()
            .max_pool2d(&self.pool)
            .flatten()
            .linear(&self.fc1)
            .relu()
            .linear(&self.fc2)
            .build()
    }
}

impl LayeredClassifier for Mlp {
    fn stack(&self) -> Result<Stack<'_>, LayerError> {
        Chain::features(self.fc1.weight.dims()[0])
            .linear(&self.fc1)
            .relu()
            .linear(&self.fc2)
            .build()
    }
}

impl LayeredClassifier for Logistic {
    fn stack(&self) -> Result<Stack<'_>, LayerError> {
        Chain::features(self.fc.weight.dims()[0])
            .linear(&self.fc)
            .build()
    }
}

/// What finds the class of each of some images.
pub type Found = Box<dyn Fn(&Records) -> Result<Vec<u8>, EvaluateError>>;

/// Trains, and says what predicts classes.
fn learn<N: LayeredClassifier>(
    network: N,
    examples: &Examples<'_>,
    settings: &Settings,
    rng: &mut ChaCha20Rng,
    interrupt: &Interrupt,
) -> Result<Found, EvaluateError> {
    let schedule = Schedule {
        epochs: settings.epochs,
        batch: settings.batch,
        chunk: CHUNK,
        rate: settings.rate,
        shift: None,
    };
    let network = train(network, examples, &schedule, rng, interrupt)?;
    let (network, classes) = (host(&network)?, examples.classes);
    Ok(Box::new(move |test| {
        let images = Images::of(test)?;
        let mut predicted = Vec::with_capacity(test.len());
        for start in (0..test.len()).step_by(BLOCK) {
            let inputs = images.block(start..test.len().min(start + BLOCK));
            predicted.extend(largest(&outputs(&network, &inputs), classes));
        }
        Ok(predicted)
    }))
}
