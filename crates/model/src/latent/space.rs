//! The interface of an autoencoder for a flow, and its training.

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::activation::sigmoid;
use burn::tensor::{Device, Tensor, TensorData};
use dp_core::mechanism::ParameterGradient;
use private_training::{PublicTraining, TrainingError, TrainingState, TrainingStep, fit_public};
use rand::Rng;

use super::host::HostSpace;

/// The shape of square images, `[n, channels, side, side]` with values in `[0, 1]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ImageShape {
    /// The number of channels: 1 for grey, 3 for colour.
    pub channels: usize,
    /// The number of pixels on a side.
    pub side: usize,
}

impl ImageShape {
    /// Returns the number of values of an image.
    pub fn values(self) -> usize {
        self.channels * self.side * self.side
    }
}

/// An autoencoder from images to latents on the unit sphere, and back.
pub trait LatentSpace {
    /// Returns the shape of its images.
    fn shape(&self) -> ImageShape;

    /// Returns the dimension of the latents.
    fn latent(&self) -> usize;

    /// Runs the encoder before its last normalisation: `[n, c, s, s] -> [n, latent]`.
    fn features(&self, images: Tensor<4>) -> Tensor<2>;

    /// Runs the decoder before its last sigmoid: `[n, latent] -> [n, c, s, s]`.
    fn logits(&self, latents: Tensor<2>) -> Tensor<4>;

    /// Returns CPU kernels over a snapshot of the weights, or `None` if a layer has none.
    fn host(&self) -> Option<HostSpace> {
        None
    }

    /// Encodes images to latents of norm 1, `[n, latent]`.
    ///
    /// The norm only matters for quality here: a release enforces its own bounds.
    fn encode(&self, images: Tensor<4>) -> Tensor<2> {
        let features = self.features(images);
        let norm = features.clone().square().sum_dim(1).sqrt();
        features / norm.clamp_min(1e-12)
    }

    /// Decodes latents to images with values in `[0, 1]`.
    fn decode(&self, latents: Tensor<2>) -> Tensor<4> {
        sigmoid(self.logits(latents))
    }

    /// Encodes host images, `[n, c s s]` in rows, to latents, in parts of 250.
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

    /// Decodes latents, `[n, latent]` in rows, to host images, in parts of 250.
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

    /// Encodes as [`LatentSpace::encode_host`] does, from images of this shape: that of the space, or a smaller one, to which
    /// zeros are added around the image.
    fn encode_in(&self, images: &[f32], shape: ImageShape, device: &Device) -> Vec<f32> {
        self.encode_host(&padded(images, shape, self.shape()), device)
    }

    /// Decodes as [`LatentSpace::decode_host`] does, to the shape that [`LatentSpace::encode_in`] took.
    fn decode_in(&self, latents: &[f32], shape: ImageShape, device: &Device) -> Vec<f32> {
        cropped(&self.decode_host(latents, device), self.shape(), shape)
    }
}

/// Returns images in the middle of larger ones with zeros around them, `[n, c s s]` in rows.
pub fn padded(images: &[f32], from: ImageShape, to: ImageShape) -> Vec<f32> {
    if from.side == to.side {
        return images.to_vec();
    }
    let (side, whole, margin) = (from.side, to.side, (to.side - from.side) / 2);
    let mut padded = vec![0.0; images.len() / (side * side) * whole * whole];
    for (image, target) in images
        .chunks_exact(side * side)
        .zip(padded.chunks_exact_mut(whole * whole))
    {
        for (y, row) in image.chunks_exact(side).enumerate() {
            let start = (y + margin) * whole + margin;
            target[start..start + side].copy_from_slice(row);
        }
    }
    padded
}

/// Returns the middle of images, `[n, c s s]` in rows.
fn cropped(images: &[f32], from: ImageShape, to: ImageShape) -> Vec<f32> {
    if from.side == to.side {
        return images.to_vec();
    }
    let (side, whole, margin) = (to.side, from.side, (from.side - to.side) / 2);
    let mut cropped = Vec::with_capacity(images.len() / (whole * whole) * side * side);
    for image in images.chunks_exact(whole * whole) {
        for y in margin..margin + side {
            let start = y * whole + margin;
            cropped.extend_from_slice(&image[start..start + side]);
        }
    }
    cropped
}

/// Returns host kernels if tensors lie in host memory anyway.
fn on_cpu<S: LatentSpace + ?Sized>(space: &S, device: &Device) -> Option<HostSpace> {
    if *device == Device::flex() {
        space.host()
    } else {
        None
    }
}

/// Trains `space` to rebuild `count` public images, as [`fit_public`] does. The loss is the binary cross-entropy of an image's
/// values, summed over them, in nats.
///
/// - `space`: lies on a device with autodiff, which computes;
/// - `gather`: returns the images with these indices below `count`, `[n, c s s]` in rows.
///
/// # Errors
///
/// The same as for [`fit_public`]; any error of `gather`.
pub fn rebuild_images<M: LatentSpace + Module, R: Rng, E: From<TrainingError>>(
    how: &PublicTraining,
    space: M,
    count: usize,
    mut gather: impl FnMut(&[usize]) -> Result<Vec<f32>, E>,
    rng: &mut R,
    from: Option<&TrainingState>,
    each: impl FnMut(TrainingStep, &dyn Fn() -> TrainingState) -> Result<(), E>,
) -> Result<M, E> {
    let device = space.devices().pop().unwrap_or_else(Device::flex).inner();
    let step = |space: &M, places: &[usize], _: &mut R| {
        let images = gather(places)?;
        Ok(gradient(space, images, &device)?)
    };
    fit_public(how, space, count, rng, from, step, each)
}

/// The gradient of the loss on `images`, `[n, c s s]` in rows, and the loss: by host kernels if there are some, otherwise by
/// autodiff.
fn gradient<M: LatentSpace + Module>(
    space: &M,
    images: Vec<f32>,
    device: &Device,
) -> Result<(GradientsParams, f64), TrainingError> {
    if let Some(host) = on_cpu(&space.valid(), device) {
        let (flat, loss) = host.gradient(&images);
        let gradient = ParameterGradient::from_host(host.slots, &flat, device)?;
        return Ok((gradient.into_params_without_privacy(), loss));
    }
    let ImageShape { channels, side } = space.shape();
    let n = images.len() / space.shape().values();
    let images = TensorData::new(images, [n, channels, side, side]);
    let images = Tensor::<4>::from_data(images, &device.clone().autodiff());
    let logits = space.logits(space.encode(images.clone()));
    // The cotangent `sigmoid(z) - x` is known, so no graph of the loss is needed.
    let plain = logits.clone().inner();
    let images = images.inner();
    let soft = plain.clone().abs().neg().exp().log1p();
    let value = plain.clone().clamp_min(0.0) - plain.clone() * images.clone() + soft;
    let value = value.sum().into_scalar::<f32>() / n as f32;
    let cotangent = (sigmoid(plain) - images).div_scalar(n as f64);
    let surrogate = (logits * Tensor::from_inner(cotangent)).sum();
    let gradients = GradientsParams::from_grads(surrogate.backward(), space);
    Ok((gradients, f64::from(value)))
}
