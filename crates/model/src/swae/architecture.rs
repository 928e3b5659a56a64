//! Encoder and decoder (Rodriguez-Vitores et al. 2025, arXiv 2502.01701, table 3).

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use dp_core::DpError;
use dp_core::per_sample::{Layer, ParameterSlot, Stack};
use private_training::{Batch, Forward, Layers, Network, TrainingError};
use rand::Rng;

use crate::layers::{AvgPool, Conv, LeakyRelu, Linear, Upsample};

/// The slope of the leaky rectifiers.
const SLOPE: f64 = 0.2;
/// The variance gain of He initialisation in front of a leaky rectifier.
const LEAKY_GAIN: f64 = 2.0 / (1.0 + SLOPE * SLOPE);
/// The bias of the last layer: pixels start near the mean brightness of digits, not at one half.
const LAST_BIAS: f32 = -2.0;

/// The sizes of an autoencoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SwaeConfig {
    /// Dimension of the latent space.
    pub latent: usize,
    /// Classes whose one-hot label the decoder sees; 0 for the unconditional form.
    pub classes: usize,
}

impl SwaeConfig {
    /// Pixels of an image, 28 x 28.
    pub const PIXELS: usize = 784;

    /// A model with He initialisation drawn from `rng`.
    pub fn init(&self, rng: &mut impl Rng, device: &Device) -> Swae {
        Swae {
            encoder: Encoder::new(self.latent, rng, device),
            decoder: Decoder::new(self.latent + self.classes, rng, device),
            latent: self.latent,
            classes: self.classes,
        }
    }
}

/// Images `[n, 784]` to latents `[n, latent]`.
#[derive(Module, Debug)]
pub struct Encoder {
    conv1: Conv,
    act1: LeakyRelu,
    pool1: AvgPool,
    conv2: Conv,
    act2: LeakyRelu,
    pool2: AvgPool,
    conv3: Conv,
    act3: LeakyRelu,
    fc1: Linear,
    act4: LeakyRelu,
    fc2: Linear,
    act5: LeakyRelu,
    fc3: Linear,
}

impl Encoder {
    fn new(latent: usize, rng: &mut impl Rng, device: &Device) -> Self {
        Self {
            conv1: Conv::new([1, 8], [28, 28], LEAKY_GAIN, 0.0, rng, device),
            act1: LeakyRelu::new(8 * 784, SLOPE),
            pool1: AvgPool::new(8, 28, 28),
            conv2: Conv::new([8, 16], [14, 14], LEAKY_GAIN, 0.0, rng, device),
            act2: LeakyRelu::new(16 * 196, SLOPE),
            pool2: AvgPool::new(16, 14, 14),
            conv3: Conv::new([16, 16], [7, 7], LEAKY_GAIN, 0.0, rng, device),
            act3: LeakyRelu::new(784, SLOPE),
            fc1: Linear::new(784, 128, 2.0, rng, device),
            act4: LeakyRelu::new(128, 0.0),
            fc2: Linear::new(128, 64, 2.0, rng, device),
            act5: LeakyRelu::new(64, 0.0),
            fc3: Linear::new(64, latent, 1.0, rng, device),
        }
    }

    /// The layers, first to last.
    pub fn stack(&self) -> Stack<'_> {
        let layers: Vec<&dyn Layer> = vec![
            &self.conv1,
            &self.act1,
            &self.pool1,
            &self.conv2,
            &self.act2,
            &self.pool2,
            &self.conv3,
            &self.act3,
            &self.fc1,
            &self.act4,
            &self.fc2,
            &self.act5,
            &self.fc3,
        ];
        Stack::new(layers)
    }
}

/// Latents with labels, `[n, latent + classes]`, to logits of pixels, `[n, 784]`.
#[derive(Module, Debug)]
pub struct Decoder {
    fc1: Linear,
    act1: LeakyRelu,
    fc2: Linear,
    act2: LeakyRelu,
    fc3: Linear,
    act3: LeakyRelu,
    conv1: Conv,
    act4: LeakyRelu,
    up1: Upsample,
    conv2: Conv,
    act5: LeakyRelu,
    up2: Upsample,
    conv3: Conv,
}

impl Decoder {
    fn new(inputs: usize, rng: &mut impl Rng, device: &Device) -> Self {
        Self {
            fc1: Linear::new(inputs, 64, 2.0, rng, device),
            act1: LeakyRelu::new(64, 0.0),
            fc2: Linear::new(64, 128, 2.0, rng, device),
            act2: LeakyRelu::new(128, 0.0),
            fc3: Linear::new(128, 784, 2.0, rng, device),
            act3: LeakyRelu::new(784, 0.0),
            conv1: Conv::new([16, 16], [7, 7], LEAKY_GAIN, 0.0, rng, device),
            act4: LeakyRelu::new(784, SLOPE),
            up1: Upsample::new(16, 7, 7),
            conv2: Conv::new([16, 8], [14, 14], LEAKY_GAIN, 0.0, rng, device),
            act5: LeakyRelu::new(8 * 196, SLOPE),
            up2: Upsample::new(8, 14, 14),
            conv3: Conv::new([8, 1], [28, 28], 1.0, LAST_BIAS, rng, device),
        }
    }

    /// The layers, first to last.
    pub fn stack(&self) -> Stack<'_> {
        let layers: Vec<&dyn Layer> = vec![
            &self.fc1,
            &self.act1,
            &self.fc2,
            &self.act2,
            &self.fc3,
            &self.act3,
            &self.conv1,
            &self.act4,
            &self.up1,
            &self.conv2,
            &self.act5,
            &self.up2,
            &self.conv3,
        ];
        Stack::new(layers)
    }
}

/// The autoencoder.
#[derive(Module, Debug)]
pub struct Swae {
    /// Images to latents.
    pub encoder: Encoder,
    /// Latents, and labels where conditional, to logits.
    pub decoder: Decoder,
    /// Dimension of the latent space.
    pub latent: usize,
    /// Classes that the decoder sees, or 0.
    pub classes: usize,
}

impl Swae {
    /// The encoder, and the decoder that sees labels beside what it encoded.
    fn stages(&self) -> Layers<'_> {
        Layers::tapped(self.encoder.stack(), self.decoder.stack()).beside(self.classes)
    }

    /// All parameters, the encoder's first.
    pub fn parameters(&self) -> Vec<ParameterSlot> {
        let mut slots = self.encoder.stack().parameters();
        slots.extend(self.decoder.stack().parameters());
        slots
    }

    /// Latents of images: `[n, 784] -> [n, latent]`.
    pub fn encode(&self, images: Tensor<2>) -> Tensor<2> {
        self.encoder.stack().output(images)
    }

    /// Images that stand class after class as the records of a step, each one its own target: rows
    /// `[n, 784 + classes]`, with the one-hot label behind the image where the model is conditional.
    ///
    /// - `pixels`: `[n, 784]` in rows; `sizes`: records of each class, and of all in the unconditional form. A class
    ///   without records is no group of the batch.
    ///
    /// # Errors
    ///
    /// [`TrainingError::Shape`] for another number of classes, or of pixels.
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

    /// Pixels in `[0, 1]` of latents and one-hot labels: `[n, latent + classes] -> [n, 784]`.
    pub fn decode(&self, latents: Tensor<2>) -> Tensor<2> {
        burn::tensor::activation::sigmoid(self.decoder.stack().output(latents))
    }
}

/// Rows `[n, 784 + classes]`: an image, with its one-hot label behind it where the model is conditional.
impl Network<2> for Swae {
    fn forward(&self, rows: Tensor<2>) -> Forward {
        self.stages().forward(rows)
    }

    fn layers(&self) -> Result<Option<Layers<'_>>, DpError> {
        Ok(Some(self.stages()))
    }
}
