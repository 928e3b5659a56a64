//! The autoencoder for 64x64 colour images, after DCGAN (Sebag et al. 2023, arXiv 2312.08227, appendix C.2).

use burn::module::Module;
use burn::nn::conv::{Conv2d, ConvTranspose2d};
use burn::nn::{BatchNorm, BatchNormConfig, Linear};
use burn::tensor::activation::leaky_relu;
use burn::tensor::{Device, Tensor};
use rand::Rng;

use super::space::{ImageShape, LatentSpace};
use crate::layers::{Window, conv_transpose2d, conv2d, linear};

/// The slope of the leaky rectifiers.
const SLOPE: f64 = 0.2;

/// Maps images `[3, 64, 64]` to `latent` numbers on the unit sphere, and back.
///
/// The decoder of Sebag et al. ends at 32x32 with its fourth layer; here a last transposed convolution to the image's channels
/// brings it to 64x64.
#[derive(Module, Debug)]
pub struct DcganAutoencoder {
    encoder: Vec<Conv2d>,
    bottleneck: Linear,
    decoder: Vec<ConvTranspose2d>,
    norms: Vec<BatchNorm>,
    last: ConvTranspose2d,
    channels: usize,
    latent: usize,
}

impl DcganAutoencoder {
    /// The side of the images.
    pub const SIDE: usize = 64;

    /// Creates an autoencoder whose narrowest layer has `width` channels, 64 in Sebag et al., with weights sampled from `rng`.
    pub fn new(
        channels: usize,
        latent: usize,
        width: usize,
        rng: &mut impl Rng,
        device: &Device,
    ) -> Self {
        let halve = Window::new(4, 2, 1);
        let encoder = vec![
            conv2d([channels, width], Window::same(3), 2.0, 0.0, rng, device),
            conv2d([width, 2 * width], halve, 2.0, 0.0, rng, device),
            conv2d([2 * width, 4 * width], halve, 2.0, 0.0, rng, device),
            conv2d([4 * width, 8 * width], halve, 2.0, 0.0, rng, device),
        ];
        let inner = Self::SIDE / 8;
        let bottleneck = linear(8 * width * inner * inner, latent, 1.0, rng, device);
        let decoder = vec![
            conv_transpose2d([latent, 8 * width], Window::new(4, 1, 0), rng, device),
            conv_transpose2d([8 * width, 4 * width], halve, rng, device),
            conv_transpose2d([4 * width, 2 * width], halve, rng, device),
            conv_transpose2d([2 * width, width], halve, rng, device),
        ];
        let norms = [8, 4, 2, 1]
            .map(|times| BatchNormConfig::new(times * width).init(device))
            .into();
        Self {
            encoder,
            bottleneck,
            decoder,
            norms,
            last: conv_transpose2d([width, channels], halve, rng, device),
            channels,
            latent,
        }
    }
}

impl LatentSpace for DcganAutoencoder {
    fn shape(&self) -> ImageShape {
        ImageShape {
            channels: self.channels,
            side: Self::SIDE,
        }
    }

    fn latent(&self) -> usize {
        self.latent
    }

    fn features(&self, images: Tensor<4>) -> Tensor<2> {
        let hidden = self
            .encoder
            .iter()
            .fold(images, |x, layer| leaky_relu(layer.forward(x), SLOPE));
        self.bottleneck.forward(hidden.flatten(1, 3))
    }

    fn logits(&self, latents: Tensor<2>) -> Tensor<4> {
        let [n, d] = latents.dims();
        // The normalisation follows the activation, as in Sebag et al.
        let hidden = self
            .decoder
            .iter()
            .zip(&self.norms)
            .fold(latents.reshape([n, d, 1, 1]), |x, (layer, norm)| {
                norm.forward(leaky_relu(layer.forward(x), SLOPE))
            });
        self.last.forward(hidden)
    }
}
