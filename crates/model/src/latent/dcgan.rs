//! The autoencoder for 64x64 colour images, after DCGAN (Sebag et al. 2023, arXiv 2312.08227, appendix C.2).

use burn::module::Module;
use burn::nn::{BatchNorm, BatchNormConfig};
use burn::tensor::activation::leaky_relu;
use burn::tensor::{Device, Tensor};
use dp_core::per_sample::Layer;
use rand::Rng;

use super::convolution::{Convolution, Deconvolution, Window};
use super::space::{ImageShape, LatentSpace};
use crate::layers::Linear;

/// The slope of the leaky rectifiers.
const SLOPE: f64 = 0.2;

/// Images `[3, 64, 64]` to `latent` numbers on the unit sphere, and back.
///
/// The decoder of Sebag et al. ends at 32x32 with its fourth layer; a last transposed convolution to the
/// image's channels brings it to 64x64.
#[derive(Module, Debug)]
pub struct DcganAutoencoder {
    encoder: Vec<Convolution>,
    bottleneck: Linear,
    decoder: Vec<Deconvolution>,
    norms: Vec<BatchNorm>,
    last: Deconvolution,
    channels: usize,
    latent: usize,
}

impl DcganAutoencoder {
    /// Side of the images.
    pub const SIDE: usize = 64;

    /// An autoencoder whose narrowest layer has `width` channels, 64 in Sebag et al., drawn from `rng`.
    pub fn new(
        channels: usize,
        latent: usize,
        width: usize,
        rng: &mut impl Rng,
        device: &Device,
    ) -> Self {
        let halve = Window::new(4, 2, 1);
        let encoder = vec![
            Convolution::new([channels, width], Window::new(3, 1, 1), rng, device),
            Convolution::new([width, 2 * width], halve, rng, device),
            Convolution::new([2 * width, 4 * width], halve, rng, device),
            Convolution::new([4 * width, 8 * width], halve, rng, device),
        ];
        let inner = Self::SIDE / 8;
        let bottleneck = Linear::new(8 * width * inner * inner, latent, 1.0, rng, device);
        let decoder = vec![
            Deconvolution::new([latent, 8 * width], Window::new(4, 1, 0), rng, device),
            Deconvolution::new([8 * width, 4 * width], halve, rng, device),
            Deconvolution::new([4 * width, 2 * width], halve, rng, device),
            Deconvolution::new([2 * width, width], halve, rng, device),
        ];
        let norms = [8, 4, 2, 1]
            .map(|times| BatchNormConfig::new(times * width).init(device))
            .into();
        Self {
            encoder,
            bottleneck,
            decoder,
            norms,
            last: Deconvolution::new([width, channels], halve, rng, device),
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
        // The norm follows the activation, as Sebag et al. say.
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
