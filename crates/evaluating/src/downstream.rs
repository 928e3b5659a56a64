//! The accuracy, on real test records, of a classifier trained on generated samples and their labels
//! (Rodriguez-Vitores et al. 2025, arXiv 2502.01701, table 1).

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

/// The model that is trained on the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Learner {
    /// An MLP with one hidden layer of 100 rectified units, as in Rodriguez-Vitores et al.
    Mlp,
    /// Logistic regression, without a hidden layer.
    Logistic,
    /// Two convolutions and three linear layers, after LeNet-5: the network of [`Classifier`](crate::classifier::Classifier).
    Convolutional,
    /// Two 3x3 convolutions of 32 and 64 channels, each followed by 2x2 max pooling, and a hidden layer of 128 units:
    /// the convolutional classifier of the field's protocol.
    Wide,
}

/// Settings of the training of a [`Learner`].
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Settings {
    /// The number of passes over the samples.
    pub epochs: usize,
    /// The number of samples in a step.
    pub batch: usize,
    /// Adam's learning rate at the start; it falls to 0 along a cosine.
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

/// An accuracy, with the numbers of records that it comes from.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Accuracy {
    /// The share of test records that are classified correctly.
    pub accuracy: f64,
    /// The number of test records.
    pub test_records: usize,
    /// The number of samples trained on.
    pub training_records: usize,
}

impl Learner {
    /// Trains on `samples`, `[n, d]`, with `labels`, `[n]`, and returns the accuracy on `test`, whose images have `d`
    /// pixels.
    ///
    /// The same arguments give the same accuracy, whatever the number of threads.
    ///
    /// # Errors
    ///
    /// Samples or labels that do not fit, values that are not finite, a label that is no class, a setting outside its
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

    /// Trains on `samples` and returns a function that predicts the class of each image of a set. These images have
    /// the shape and the classes of `like`; their labels are not read.
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
/// Samples on one core at a time; a batch has two chunks by default.
const CHUNK: usize = 100;
/// Test images that are classified together.
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

/// A function that predicts the class of each image.
pub type Found = Box<dyn Fn(&Records) -> Result<Vec<u8>, EvaluateError>>;

/// Trains a network and returns the function that predicts classes with it.
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
