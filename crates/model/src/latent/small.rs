//! The autoencoder for small images (Sebag et al. 2023, arXiv 2312.08227, appendix C.2).

use burn::module::Module;
use burn::nn::Linear;
use burn::nn::conv::{Conv2d, ConvTranspose2d};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use dp_core::per_sample::nn::Chain;
use rand::Rng;

use super::host::HostSpace;
use super::space::{ImageShape, LatentSpace};
use crate::layers::{Window, conv_transpose2d, conv2d, linear};

/// The channels of the hidden layers.
const WIDTH: usize = 32;

/// Pixels start dark. From one half, training would first push all of them down until the ReLUs of light pixels die: no logit
/// rises above the bias again.
const LAST_BIAS: f32 = -2.0;

/// Maps images `[c, s, s]`, with `s` even, to `latent` numbers on the unit sphere, and back; those of Sebag et al. have `s = 32`.
#[derive(Module, Debug)]
pub struct SmallAutoencoder {
    encoder: Vec<Conv2d>,
    bottleneck: Linear,
    expand: Linear,
    decoder: Vec<Conv2d>,
    grow: ConvTranspose2d,
    last: Conv2d,
    channels: usize,
    side: usize,
    latent: usize,
}

impl SmallAutoencoder {
    /// Creates an autoencoder of images of an even side, with weights sampled from `rng`.
    pub fn new(shape: ImageShape, latent: usize, rng: &mut impl Rng, device: &Device) -> Self {
        let ImageShape { channels, side } = shape;
        let (same, start) = (Window::same(3), side / 2);
        let encoder = vec![
            conv2d([channels, 3], same, 2.0, 0.0, rng, device),
            conv2d([3, WIDTH], Window::new(4, 2, 0), 2.0, 0.0, rng, device),
            conv2d([WIDTH, WIDTH], same, 2.0, 0.0, rng, device),
            conv2d([WIDTH, WIDTH], same, 2.0, 0.0, rng, device),
        ];
        let inner = (side - 4) / 2 + 1;
        Self {
            encoder,
            bottleneck: linear(WIDTH * inner * inner, latent, 1.0, rng, device),
            expand: linear(
                latent,
                WIDTH * start * start,
                2.0 * latent as f64,
                rng,
                device,
            ),
            decoder: vec![
                conv2d([WIDTH, WIDTH], same, 2.0, 0.0, rng, device),
                conv2d([WIDTH, WIDTH], same, 2.0, 0.0, rng, device),
            ],
            grow: conv_transpose2d([WIDTH, WIDTH], Window::new(2, 2, 0), rng, device),
            last: conv2d([WIDTH, channels], same, 2.0, LAST_BIAS, rng, device),
            channels,
            side,
            latent,
        }
    }
}

impl LatentSpace for SmallAutoencoder {
    fn shape(&self) -> ImageShape {
        ImageShape {
            channels: self.channels,
            side: self.side,
        }
    }

    fn latent(&self) -> usize {
        self.latent
    }

    fn host(&self) -> Option<HostSpace> {
        fn rectified<'a>(chain: Chain<'a>, convs: &'a [Conv2d]) -> Chain<'a> {
            convs
                .iter()
                .fold(chain, |chain, conv| chain.conv2d(conv).relu())
        }
        let images = Chain::image([self.channels, self.side, self.side]);
        let encoder = rectified(images, &self.encoder)
            .flatten()
            .linear(&self.bottleneck)
            .build();
        let start = Chain::features(self.latent)
            .linear(&self.expand)
            .relu()
            .reshape([WIDTH, self.side / 2, self.side / 2]);
        let decoder = rectified(start, &self.decoder)
            .conv_transpose2d(&self.grow)
            .relu()
            .conv2d(&self.last)
            .build();
        HostSpace::from_stacks(&encoder.ok()?, &decoder.ok()?)
    }

    fn features(&self, images: Tensor<4>) -> Tensor<2> {
        let hidden = self
            .encoder
            .iter()
            .fold(images, |x, layer| relu(layer.forward(x)));
        self.bottleneck.forward(hidden.flatten(1, 3))
    }

    fn logits(&self, latents: Tensor<2>) -> Tensor<4> {
        let (n, start) = (latents.dims()[0], self.side / 2);
        let start = relu(self.expand.forward(latents)).reshape([n, WIDTH, start, start]);
        let hidden = self
            .decoder
            .iter()
            .fold(start, |x, layer| relu(layer.forward(x)));
        self.last.forward(relu(self.grow.forward(hidden)))
    }
}
