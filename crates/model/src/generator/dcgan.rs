//! The generators of transposed convolutions: of photographs (Rakotomamonjy and Ralaivola 2021, arXiv 2107.01848, table
//! 5), and of grey images, both after DCGAN (Radford, Metz and Chintala 2016, arXiv 1511.06434).

use burn::module::Module;
use burn::nn::conv::ConvTranspose2d;
use burn::tensor::activation::{relu, tanh};
use burn::tensor::{Device, Tensor};
use rand::Rng;

use super::check_side;
use super::moments::Moments;
use crate::layers::{Window, conv_transpose2d};
use private_training::TrainingError;

/// Channels of the maps of a photograph, from the code to the picture.
const PHOTOGRAPH: [usize; 6] = [32, 512, 256, 128, 64, 3];

/// Channels of the hidden maps of a grey image.
const GREY: [usize; 2] = [128, 64];

/// A code to an image in `[0, 1]`: transposed convolutions, the first to a small square and each other one to twice the
/// side, batch normalisation and ReLU between them, and a tanh at the end.
#[derive(Module, Debug)]
pub struct Dcgan {
    layers: Vec<ConvTranspose2d>,
    moments: Vec<Moments>,
}

impl Dcgan {
    /// A code of 32 to a photograph of 3 x 64 x 64: kernels 4x4 to 512, 256, 128, 64 and 3 maps. He initialisation
    /// from `rng`.
    ///
    /// The published table gives every layer the stride 1, with which 64 pixels are not reached: the first has it, the
    /// others have 2.
    pub fn photographs(rng: &mut impl Rng, device: &Device) -> Self {
        Self::of(&PHOTOGRAPH, 4, rng, device)
    }

    /// A code of `inputs` to a grey image of `side` x `side`: a kernel of a quarter of the side to 128 maps, then 4x4 to
    /// 64 and to 1. He initialisation from `rng`.
    ///
    /// # Errors
    ///
    /// [`TrainingError::OutOfRange`] for a side that is no multiple of 4.
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

    /// Channels from the code to the picture, and the side of the first maps.
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

    /// `[n, inputs] -> [n, channels * side * side]`.
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
