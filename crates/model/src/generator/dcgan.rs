//! Generators of photographs (Rakotomamonjy and Ralaivola 2021, arXiv 2107.01848, table 5) and of grey images by transposed
//! convolutions, both after DCGAN (Radford, Metz and Chintala 2016, arXiv 1511.06434).

use burn::module::Module;
use burn::nn::conv::ConvTranspose2d;
use burn::tensor::activation::{relu, tanh};
use burn::tensor::{Device, Tensor};
use rand::Rng;

use super::check_side;
use super::moments::Moments;
use crate::layers::{Window, conv_transpose2d};
use private_training::TrainingError;

/// The channels of a photograph's maps, from the code to the picture.
const PHOTOGRAPH: [usize; 6] = [32, 512, 256, 128, 64, 3];

/// The channels of a grey image's hidden maps.
const GREY: [usize; 2] = [128, 64];

/// Maps a code to an image in `[0, 1]` by transposed convolutions: the first gives a small square, and each other one doubles the
/// side. Batch normalisation and ReLU are between them, and a tanh is at the end.
#[derive(Module, Debug)]
pub struct Dcgan {
    layers: Vec<ConvTranspose2d>,
    moments: Vec<Moments>,
}

impl Dcgan {
    /// Creates a generator from codes of 32 to photographs of 3 x 64 x 64, with 4x4 kernels to 512, 256, 128, 64 and 3 maps and
    /// He initialisation from `rng`.
    ///
    /// The published table gives every layer the stride 1, which does not reach 64 pixels. Here the first layer has stride 1 and
    /// the others stride 2.
    pub fn photographs(rng: &mut impl Rng, device: &Device) -> Self {
        Self::of(&PHOTOGRAPH, 4, rng, device)
    }

    /// Creates a generator from codes of `inputs` to grey images of `side` x `side`: a kernel of a quarter of the side to 128
    /// maps, then 4x4 kernels to 64 maps and to 1. He initialisation from `rng`.
    ///
    /// # Errors
    ///
    /// [`TrainingError::OutOfRange`] if the side is no multiple of 4.
    pub fn grey(
        inputs: usize,
        side: usize,
        rng: &mut impl Rng,
        device: &Device,
    ) -> Result<Self, TrainingError> {
        check_side(side)?;
        let [many, some] = GREY;
        Ok(Self::of(&[inputs, many, some, 1], side / 4, rng, device))
    }

    /// Creates a generator from the channels, from the code to the picture, and the side of the first maps.
    fn of(channels: &[usize], first: usize, rng: &mut impl Rng, device: &Device) -> Self {
        let layer = |(place, pair): (usize, &[usize])| {
            let window = match place {
                0 => Window::new(first, 1, 0),
                _ => Window::new(4, 2, 1),
            };
            conv_transpose2d([pair[0], pair[1]], window, rng, device)
        };
        Self {
            layers: channels.windows(2).enumerate().map(layer).collect(),
            moments: channels[1..channels.len() - 1]
                .iter()
                .map(|&channels| Moments::new(channels, device))
                .collect(),
        }
    }

    /// Computes `[n, inputs] -> [n, channels * side * side]`.
    pub fn forward(&self, codes: Tensor<2>) -> Tensor<2> {
        let [n, width] = codes.dims();
        let mut maps = codes.reshape([n, width, 1, 1]);
        for (place, layer) in self.layers.iter().enumerate() {
            maps = layer.forward(maps);
            if let Some(moments) = self.moments.get(place) {
                maps = relu(moments.forward_maps(maps));
            }
        }
        let [_, channels, height, width] = maps.dims();
        tanh(maps).reshape([n, channels * height * width]) * 0.5 + 0.5
    }
}
