//! The generator of photographs (Rakotomamonjy and Ralaivola 2021, arXiv 2107.01848, table 5).

use burn::module::Module;
use burn::nn::conv::ConvTranspose2d;
use burn::tensor::activation::{relu, tanh};
use burn::tensor::{Device, Tensor};
use rand::Rng;

use super::moments::Moments;
use crate::layers::{Window, conv_transpose2d};

/// Channels of the maps, from the code to the picture.
const CHANNELS: [usize; 6] = [32, 512, 256, 128, 64, 3];

/// A code of 32 to a photograph of 3 x 64 x 64 in `[0, 1]`: transposed convolutions 4x4 to 512, 256, 128, 64 and 3
/// maps, batch normalisation and ReLU between them, and a tanh.
///
/// The published table gives every layer the stride 1, with which 64 pixels are not reached: the first has it, the
/// others have 2.
#[derive(Module, Debug)]
pub struct PhotographGenerator {
    layers: Vec<ConvTranspose2d>,
    moments: Vec<Moments>,
}

impl PhotographGenerator {
    /// Width of the code.
    pub const INPUTS: usize = CHANNELS[0];
    /// Pixels along a side.
    pub const SIDE: usize = 64;

    /// He initialisation from `rng`.
    pub fn new(rng: &mut impl Rng, device: &Device) -> Self {
        let layer = |(place, pair): (usize, &[usize])| {
            let window = match place {
                0 => Window::new(4, 1, 0),
                _ => Window::new(4, 2, 1),
            };
            conv_transpose2d([pair[0], pair[1]], window, rng, device)
        };
        Self {
            layers: CHANNELS.windows(2).enumerate().map(layer).collect(),
            moments: CHANNELS[1..CHANNELS.len() - 1]
                .iter()
                .map(|&channels| Moments::new(channels, device))
                .collect(),
        }
    }

    /// `[n, 32] -> [n, 3 * 64 * 64]`.
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
