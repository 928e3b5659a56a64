//! The autoencoder for small images (Sebag et al. 2023, arXiv 2312.08227, appendix C.2).

use burn::module::Module;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use dp_core::per_sample::{HostStack, Layer};
use rand::Rng;

use super::convolution::{Convolution, Deconvolution, Window};
use super::host::HostSpace;
use super::space::{ImageShape, LatentSpace};
use crate::layers::{LeakyRelu, Linear};

/// Channels of the hidden layers.
const WIDTH: usize = 32;
/// Side of the decoder's first image.
const START: usize = 16;

/// Pixels start dark. From one half, training would first push all of them down, and the rectifiers
/// that light ones need would die of it: no logit rises above the bias again.
const LAST_BIAS: f32 = -2.0;

/// Images `[c, 32, 32]` to `latent` numbers on the unit sphere, and back.
#[derive(Module, Debug)]
pub struct SmallAutoencoder {
    encoder: Vec<Convolution>,
    bottleneck: Linear,
    expand: Linear,
    decoder: Vec<Convolution>,
    grow: Deconvolution,
    last: Convolution,
    channels: usize,
    latent: usize,
}

impl SmallAutoencoder {
    /// Side of the images.
    pub const SIDE: usize = 32;

    /// An autoencoder of images with `channels` channels, drawn from `rng`.
    pub fn new(channels: usize, latent: usize, rng: &mut impl Rng, device: &Device) -> Self {
        let same = Window::new(3, 1, 1);
        let encoder = vec![
            Convolution::new([channels, 3], same, rng, device),
            Convolution::new([3, WIDTH], Window::new(4, 2, 0), rng, device),
            Convolution::new([WIDTH, WIDTH], same, rng, device),
            Convolution::new([WIDTH, WIDTH], same, rng, device),
        ];
        let inner = (Self::SIDE - 4) / 2 + 1;
        Self {
            encoder,
            bottleneck: Linear::new(WIDTH * inner * inner, latent, 1.0, rng, device),
            expand: Linear::new(
                latent,
                WIDTH * START * START,
                2.0 * latent as f64,
                rng,
                device,
            ),
            decoder: vec![
                Convolution::new([WIDTH, WIDTH], same, rng, device),
                Convolution::new([WIDTH, WIDTH], same, rng, device),
            ],
            grow: Deconvolution::new([WIDTH, WIDTH], Window::new(2, 2, 0), rng, device),
            last: Convolution::new([WIDTH, channels], same, rng, device).with_bias(LAST_BIAS),
            channels,
            latent,
        }
    }
}

impl LatentSpace for SmallAutoencoder {
    fn shape(&self) -> ImageShape {
        ImageShape {
            channels: self.channels,
            side: Self::SIDE,
        }
    }

    fn latent(&self) -> usize {
        self.latent
    }

    fn host(&self) -> Option<HostSpace> {
        let rectifier =
            |channels: usize, side: usize| LeakyRelu::new(channels * side * side, 0.0).host();
        let inner = (Self::SIDE - 4) / 2 + 1;
        let mut encoder = Vec::new();
        for (layer, (from, to, channels)) in self.encoder.iter().zip([
            (Self::SIDE, Self::SIDE, 3),
            (Self::SIDE, inner, WIDTH),
            (inner, inner, WIDTH),
            (inner, inner, WIDTH),
        ]) {
            encoder.push(layer.host(from)?);
            encoder.push(rectifier(channels, to)?);
        }
        encoder.push(self.bottleneck.host()?);
        let mut decoder = vec![self.expand.host()?, rectifier(WIDTH, START)?];
        for layer in &self.decoder {
            decoder.push(layer.host(START)?);
            decoder.push(rectifier(WIDTH, START)?);
        }
        decoder.push(self.grow.host(START)?);
        decoder.push(rectifier(WIDTH, Self::SIDE)?);
        decoder.push(self.last.host(Self::SIDE)?);
        let mut slots: Vec<_> = self.encoder.iter().flat_map(Convolution::slots).collect();
        slots.extend(self.bottleneck.parameters());
        slots.extend(self.expand.parameters());
        slots.extend(self.decoder.iter().flat_map(Convolution::slots));
        slots.extend(self.grow.slots());
        slots.extend(self.last.slots());
        Some(HostSpace {
            encoder: HostStack::new(encoder),
            decoder: HostStack::new(decoder),
            slots,
        })
    }

    fn features(&self, images: Tensor<4>) -> Tensor<2> {
        let hidden = self
            .encoder
            .iter()
            .fold(images, |x, layer| relu(layer.forward(x)));
        self.bottleneck.forward(hidden.flatten(1, 3))
    }

    fn logits(&self, latents: Tensor<2>) -> Tensor<4> {
        let n = latents.dims()[0];
        let start = relu(self.expand.forward(latents)).reshape([n, WIDTH, START, START]);
        let hidden = self
            .decoder
            .iter()
            .fold(start, |x, layer| relu(layer.forward(x)));
        self.last.forward(relu(self.grow.forward(hidden)))
    }
}
