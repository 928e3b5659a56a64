//! The encoder and the decoder (Rodriguez-Vitores et al. 2025, arXiv 2502.01701, table 3).

use burn::module::Module;
use burn::nn::conv::Conv2d;
use burn::nn::interpolate::Interpolate2d;
use burn::nn::pool::AvgPool2d;
use burn::nn::{LeakyRelu, LeakyReluConfig, Linear};
use burn::tensor::activation::sigmoid;
use burn::tensor::{Device, Tensor, TensorData};

use dp_core::per_sample::LayerError;
use dp_core::per_sample::nn::Chain;
use dp_core::per_sample::{ParameterSlot, parameters_of};
use private_training::{Batch, Layers, Network, TrainingError};
use rand::Rng;

use crate::layers::{Window, conv2d, double, halve, linear};

/// The slope of the leaky rectifiers.
const SLOPE: f64 = 0.2;
/// The variance gain of He initialisation in front of a leaky rectifier.
const LEAKY_GAIN: f64 = 2.0 / (1.0 + SLOPE * SLOPE);
/// The bias of the last layer: pixels start near the mean brightness of digits, not at one half.
const LAST_BIAS: f32 = -2.0;

/// The sizes of an autoencoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SwaeConfig {
    /// The dimension of the latent space.
    pub latent: usize,
    /// The number of classes whose one-hot label the decoder sees; 0 for the unconditional form.
    pub classes: usize,
}

impl SwaeConfig {
    /// The number of pixels of an image, 28 x 28.
    pub const PIXELS: usize = 784;

    /// Creates a model with He initialisation sampled from `rng`.
    pub fn init(&self, rng: &mut impl Rng, device: &Device) -> Swae {
        Swae {
            encoder: Encoder::new(self.latent, rng, device),
            decoder: Decoder::new(self.latent + self.classes, rng, device),
            latent: self.latent,
            classes: self.classes,
        }
    }
}

/// The encoder, from images `[n, 784]` to latents `[n, latent]`.
#[derive(Module, Debug)]
pub struct Encoder {
    conv1: Conv2d,
    conv2: Conv2d,
    conv3: Conv2d,
    fc1: Linear,
    fc2: Linear,
    fc3: Linear,
    act: LeakyRelu,
    pool: AvgPool2d,
}

impl Encoder {
    fn new(latent: usize, rng: &mut impl Rng, device: &Device) -> Self {
        let mut conv = |channels| conv2d(channels, Window::same(3), LEAKY_GAIN, 0.0, rng, device);
        Self {
            conv1: conv([1, 8]),
            conv2: conv([8, 16]),
            conv3: conv([16, 16]),
            fc1: linear(784, 128, 2.0, rng, device),
            fc2: linear(128, 64, 2.0, rng, device),
            fc3: linear(64, latent, 1.0, rng, device),
            act: LeakyReluConfig::new().with_negative_slope(SLOPE).init(),
            pool: halve(),
        }
    }

    /// Returns the layers, first to last.
    pub fn chain(&self) -> Chain<'_> {
        Chain::image([1, 28, 28])
            .conv2d(&self.conv1)
            .leaky_relu(&self.act)
            .avg_pool2d(&self.pool)
            .conv2d(&self.conv2)
            .leaky_relu(&self.act)
            .avg_pool2d(&self.pool)
            .conv2d(&self.conv3)
            .leaky_relu(&self.act)
            .flatten()
            .linear(&self.fc1)
            .relu()
            .linear(&self.fc2)
            .relu()
            .linear(&self.fc3)
    }
}

/// The decoder, from latents with labels, `[n, latent + classes]`, to logits of pixels, `[n, 784]`.
#[derive(Module, Debug)]
pub struct Decoder {
    fc1: Linear,
    fc2: Linear,
    fc3: Linear,
    conv1: Conv2d,
    conv2: Conv2d,
    conv3: Conv2d,
    act: LeakyRelu,
    up: Interpolate2d,
    inputs: usize,
}

impl Decoder {
    fn new(inputs: usize, rng: &mut impl Rng, device: &Device) -> Self {
        let [fc1, fc2, fc3] = [[inputs, 64], [64, 128], [128, 784]]
            .map(|[from, to]| linear(from, to, 2.0, rng, device));
        let mut conv =
            |channels, gain, bias| conv2d(channels, Window::same(3), gain, bias, rng, device);
        Self {
            fc1,
            fc2,
            fc3,
            conv1: conv([16, 16], LEAKY_GAIN, 0.0),
            conv2: conv([16, 8], LEAKY_GAIN, 0.0),
            conv3: conv([8, 1], 1.0, LAST_BIAS),
            act: LeakyReluConfig::new().with_negative_slope(SLOPE).init(),
            up: double(),
            inputs,
        }
    }

    /// Returns the layers, first to last.
    pub fn chain(&self) -> Chain<'_> {
        Chain::features(self.inputs)
            .linear(&self.fc1)
            .relu()
            .linear(&self.fc2)
            .relu()
            .linear(&self.fc3)
            .relu()
            .reshape([16, 7, 7])
            .conv2d(&self.conv1)
            .leaky_relu(&self.act)
            .interpolate2d(&self.up)
            .conv2d(&self.conv2)
            .leaky_relu(&self.act)
            .interpolate2d(&self.up)
            .conv2d(&self.conv3)
            .flatten()
    }
}

/// The autoencoder.
#[derive(Module, Debug)]
pub struct Swae {
    /// The map from images to latents.
    pub encoder: Encoder,
    /// The map from latents, with labels if conditional, to logits.
    pub decoder: Decoder,
    /// The dimension of the latent space.
    pub latent: usize,
    /// The number of classes that the decoder sees, or 0.
    pub classes: usize,
}

impl Swae {
    /// Returns all parameters, the encoder's first.
    pub fn parameters(&self) -> Vec<ParameterSlot> {
        parameters_of(self)
    }

    /// Encodes images to latents: `[n, 784] -> [n, latent]`.
    ///
    /// # Errors
    ///
    /// Layers that do not fit each other.
    pub fn encode(&self, images: Tensor<2>) -> Result<Tensor<2>, LayerError> {
        Ok(self.encoder.chain().build()?.output(images))
    }

    /// Creates a batch of images ordered by class, each its own target: rows `[n, 784 + classes]`, with the one-hot label after
    /// the image if the model is conditional.
    ///
    /// - `pixels`: `[n, 784]` in rows;
    /// - `sizes`: the number of records of each class, or of all in the unconditional form. A class without records is no group
    ///   of the batch.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Shape`] for another number of classes or of pixels.
    pub fn batch(
        &self,
        pixels: Vec<f32>,
        sizes: &[usize],
        device: &Device,
    ) -> Result<Batch<2>, TrainingError> {
        let n = sizes.iter().sum::<usize>();
        for (what, expected, found) in [
            ("classes of a batch", self.classes.max(1), sizes.len()),
            ("pixels of a batch", n * SwaeConfig::PIXELS, pixels.len()),
        ] {
            if expected != found {
                return Err(TrainingError::Shape {
                    what,
                    expected,
                    found,
                });
            }
        }
        let pixels = TensorData::new(pixels, [n, SwaeConfig::PIXELS]);
        let images = Tensor::<2>::from_data(pixels, device);
        let mut rows = images.clone();
        if self.classes > 0 {
            let mut labels = vec![0.0f32; n * self.classes];
            let classes = sizes.iter().enumerate();
            let classes = classes.flat_map(|(class, &size)| vec![class; size]);
            for (row, class) in labels.chunks_exact_mut(self.classes).zip(classes) {
                row[class] = 1.0;
            }
            let labels = Tensor::from_data(TensorData::new(labels, [n, self.classes]), device);
            rows = Tensor::cat(vec![rows, labels], 1);
        }
        let sizes: Vec<usize> = sizes.iter().copied().filter(|&size| size > 0).collect();
        Batch::new(rows, images, &sizes)
    }

    /// Decodes latents and one-hot labels to pixels in `[0, 1]`: `[n, latent + classes] -> [n, 784]`.
    ///
    /// # Errors
    ///
    /// Layers that do not fit each other.
    pub fn decode(&self, latents: Tensor<2>) -> Result<Tensor<2>, LayerError> {
        Ok(sigmoid(self.decoder.chain().build()?.output(latents)))
    }
}

/// Its records are rows `[n, 784 + classes]`: an image, followed by its one-hot label if the model is conditional.
impl Network<2> for Swae {
    fn layers(&self) -> Layers<'_, 2> {
        let (encoder, decoder) = (self.encoder.chain(), self.decoder.chain());
        Layers::with_activation(encoder, decoder, self.classes)
    }
}
