//! What a flow needs of an autoencoder, and its training.

use burn::module::Module;
use burn::optim::{AdamConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::activation::sigmoid;
use burn::tensor::{Device, Tensor, TensorData};
use dp_core::mechanism::ParameterGradient;
use rand::Rng;
use rand::seq::SliceRandom;

use super::host::HostSpace;
use crate::ModelError;
use crate::adam::ModuleAdam;

/// Channels and side of square images, `[n, channels, side, side]` with values in `[0, 1]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ImageShape {
    /// 1 for grey, 3 for colour.
    pub channels: usize,
    /// Pixels on a side.
    pub side: usize,
}

impl ImageShape {
    /// Values of one image.
    pub fn values(self) -> usize {
        self.channels * self.side * self.side
    }
}

/// An autoencoder whose latents lie on the unit sphere.
pub trait LatentSpace {
    /// The images that it takes and gives.
    fn shape(&self) -> ImageShape;

    /// Dimension of the latents.
    fn latent(&self) -> usize;

    /// The encoder before its last normalisation: `[n, c, s, s] -> [n, latent]`.
    fn features(&self, images: Tensor<4>) -> Tensor<2>;

    /// The decoder before its last sigmoid: `[n, latent] -> [n, c, s, s]`.
    fn logits(&self, latents: Tensor<2>) -> Tensor<4>;

    /// The same space as kernels for the CPU over a snapshot of its weights, where it has them.
    fn host(&self) -> Option<HostSpace> {
        None
    }

    /// Latents of norm 1, `[n, latent]`.
    ///
    /// The norm is a matter of quality here; what a release is bounded by, the release enforces.
    fn encode(&self, images: Tensor<4>) -> Tensor<2> {
        let features = self.features(images);
        let norm = features.clone().square().sum_dim(1).sqrt();
        features / norm.clamp_min(1e-12)
    }

    /// Images with values in `[0, 1]`.
    fn decode(&self, latents: Tensor<2>) -> Tensor<4> {
        sigmoid(self.logits(latents))
    }

    /// Latents of host images, `[n, c s s]` in rows, in parts of 250.
    fn encode_host(&self, images: &[f32], device: &Device) -> Vec<f32> {
        if let Some(host) = on_cpu(self, device) {
            return host.encode(images);
        }
        let ImageShape { channels, side } = self.shape();
        let mut latents = Vec::new();
        for part in images.chunks(250 * self.shape().values()) {
            let n = part.len() / self.shape().values();
            let part = TensorData::new(part.to_vec(), [n, channels, side, side]);
            let encoded = self.encode(Tensor::from_data(part, device));
            latents.extend(encoded.into_data().iter::<f32>());
        }
        latents
    }

    /// Host images of latents, `[n, latent]` in rows, in parts of 250.
    fn decode_host(&self, latents: &[f32], device: &Device) -> Vec<f32> {
        if let Some(host) = on_cpu(self, device) {
            return host.decode(latents);
        }
        let d = self.latent();
        let mut images = Vec::new();
        for part in latents.chunks(250 * d) {
            let part = TensorData::new(part.to_vec(), [part.len() / d, d]);
            let decoded = self.decode(Tensor::from_data(part, device));
            images.extend(decoded.into_data().iter::<f32>());
        }
        images
    }
}

/// Host kernels where tensors lie in host memory anyway.
fn on_cpu<S: LatentSpace + ?Sized>(space: &S, device: &Device) -> Option<HostSpace> {
    if *device == Device::flex() {
        space.host()
    } else {
        None
    }
}

/// How a latent space is trained on public images.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Training {
    /// Passes over the public images.
    pub epochs: usize,
    /// Images in a batch.
    pub batch: usize,
    /// Adam's learning rate at the start; it falls to a tenth of it along a cosine.
    pub learning_rate: f64,
}

/// A step of a training, for progress.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrainingStep {
    /// Steps done.
    pub done: usize,
    /// Steps in all.
    pub steps: usize,
    /// The mean binary cross-entropy of the step, summed over an image's values, in nats.
    pub loss: f64,
}

impl Training {
    /// Trains `space` to rebuild `count` public images by the binary cross-entropy of its pixels.
    ///
    /// - `space`: on a device with autodiff;
    /// - `gather`: the images of some indices below `count`, `[n, c s s]` in rows;
    /// - `each`: told of every step.
    ///
    /// # Errors
    ///
    /// [`ModelError::OutOfRange`] without images, epochs or a batch; whatever `gather` says.
    pub fn run<M, E>(
        &self,
        mut space: M,
        count: usize,
        mut gather: impl FnMut(&[usize]) -> Result<Vec<f32>, E>,
        rng: &mut impl Rng,
        device: &Device,
        mut each: impl FnMut(TrainingStep),
    ) -> Result<M, E>
    where
        M: LatentSpace + Module,
        E: From<ModelError>,
    {
        for (name, value) in [
            ("public images", count),
            ("epochs", self.epochs),
            ("batch", self.batch),
        ] {
            if value == 0 {
                return Err(E::from(ModelError::OutOfRange {
                    name,
                    value: 0.0,
                    bound: "at least 1".into(),
                }));
            }
        }
        let mut order: Vec<usize> = (0..count).collect();
        let steps = self.epochs * count.div_ceil(self.batch);
        let mut stepper = Stepper::new(&space, device);
        let mut done = 0;
        for _ in 0..self.epochs {
            order.shuffle(rng);
            for indices in order.chunks(self.batch) {
                let images = gather(indices)?;
                let angle = std::f64::consts::PI * done as f64 / steps as f64;
                let rate = self.learning_rate * (0.55 + 0.45 * angle.cos());
                let loss;
                (space, loss) = stepper.step(space, images, rate, device)?;
                done += 1;
                each(TrainingStep { done, steps, loss });
            }
        }
        Ok(space)
    }
}

/// What takes a step: autodiff, or host kernels with the same Adam.
enum Stepper {
    Autodiff(ModuleOptimizer),
    Host(ModuleAdam),
}

impl Stepper {
    fn new<M: LatentSpace>(space: &M, device: &Device) -> Self {
        if on_cpu(space, device).is_some() {
            Self::Host(ModuleAdam::default())
        } else {
            Self::Autodiff(AdamConfig::new().init())
        }
    }

    /// One step on `images`, `[n, c s s]` in rows, and the loss before it.
    fn step<M: LatentSpace + Module>(
        &mut self,
        space: M,
        images: Vec<f32>,
        rate: f64,
        device: &Device,
    ) -> Result<(M, f64), ModelError> {
        let ImageShape { channels, side } = space.shape();
        let n = images.len() / space.shape().values();
        match self {
            Self::Host(adam) => {
                let space = space.valid();
                let Some(host) = space.host() else {
                    return Ok((space.train(), f64::NAN));
                };
                let (flat, loss) = host.gradient(&images);
                let gradient = ParameterGradient::from_host(host.slots, &flat, device)?;
                let gradients = gradient.into_params_without_privacy();
                Ok((adam.step(rate, space, gradients).train(), loss))
            }
            Self::Autodiff(optimizer) => {
                let autodiff = device.clone().autodiff();
                let images = TensorData::new(images, [n, channels, side, side]);
                let images = Tensor::<4>::from_data(images, &autodiff);
                let logits = space.logits(space.encode(images.clone()));
                // The cotangent `sigmoid(z) - x` is known, so no graph of the loss is needed.
                let plain = logits.clone().inner();
                let images = images.inner();
                let soft = plain.clone().abs().neg().exp().log1p();
                let value = plain.clone().clamp_min(0.0) - plain.clone() * images.clone() + soft;
                let value = value.sum().into_scalar::<f32>() / n as f32;
                let cotangent = (sigmoid(plain) - images).div_scalar(n as f64);
                let surrogate = (logits * Tensor::from_inner(cotangent)).sum();
                let gradients = GradientsParams::from_grads(surrogate.backward(), &space);
                Ok((optimizer.step(rate, space, gradients), f64::from(value)))
            }
        }
    }
}
