//! The class-conditional generator of images (Rakotomamonjy and Ralaivola 2021, arXiv 2107.01848, table 3; from
//! Harder, Adamczewski and Park 2021, arXiv 2002.11603).

use burn::module::Module;
use burn::nn::Linear;
use burn::nn::conv::Conv2d;
use burn::nn::interpolate::Interpolate2d;
use burn::tensor::activation::{relu, sigmoid};
use burn::tensor::{Device, Tensor};
use rand::Rng;

use super::check_side;
use super::moments::Moments;
use crate::latent::ImageShape;
use crate::layers::{Window, conv2d, double, linear};
use private_training::TrainingError;

/// The width of the first layer.
const WIDTH: usize = 200;
/// The channels of the maps.
const CHANNELS: [usize; 2] = [16, 8];
/// The bias of the last layer for grey images, whose pixels start dark.
const DARK: f32 = -2.0;

/// Maps noise and a one-hot class to pixels in `[0, 1]`: linear to 200, batch normalisation, ReLU, linear to 16 maps of a quarter
/// of the side, batch normalisation, ReLU, doubled, convolution 5x5 to 8 maps, ReLU, doubled, convolution 5x5, sigmoid. Colour
/// images have three last maps, for red, green and blue. It has about 170 000 parameters for 28x28.
#[derive(Module, Debug)]
pub struct ImageGenerator {
    first: Linear,
    first_moments: Moments,
    second: Linear,
    second_moments: Moments,
    middle: Conv2d,
    last: Conv2d,
    double: Interpolate2d,
    inputs: usize,
    channels: usize,
    side: usize,
}

impl ImageGenerator {
    /// Creates a generator with He initialisation from `rng`.
    ///
    /// # Errors
    ///
    /// [`TrainingError::OutOfRange`] if the side is no multiple of 4.
    pub fn new(
        inputs: usize,
        shape: ImageShape,
        rng: &mut impl Rng,
        device: &Device,
    ) -> Result<Self, TrainingError> {
        let ImageShape { channels, side } = shape;
        check_side(side)?;
        let [many, some] = CHANNELS;
        let start = if channels == 1 { DARK } else { 0.0 };
        let maps = many * (side / 4) * (side / 4);
        let window = Window::same(5);
        Ok(Self {
            first: linear(inputs, WIDTH, 1.0, rng, device),
            first_moments: Moments::new(WIDTH, device),
            second: linear(WIDTH, maps, 1.0, rng, device),
            second_moments: Moments::new(maps, device),
            middle: conv2d([many, some], window, 2.0, 0.0, rng, device),
            last: conv2d([some, channels], window, 1.0, start, rng, device),
            double: double(),
            inputs,
            channels,
            side,
        })
    }

    /// Returns the width of noise and class together.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Computes `[n, inputs] -> [n, channels * side * side]`.
    pub fn forward(&self, inputs: Tensor<2>) -> Tensor<2> {
        let [n, _] = inputs.dims();
        let hidden = relu(self.first_moments.forward(self.first.forward(inputs)));
        let hidden = relu(self.second_moments.forward(self.second.forward(hidden)));
        let quarter = self.side / 4;
        let maps = hidden.reshape([n, CHANNELS[0], quarter, quarter]);
        let maps = relu(self.middle.forward(self.double.forward(maps)));
        let maps = self.last.forward(self.double.forward(maps));
        sigmoid(maps.reshape([n, self.channels * self.side * self.side]))
    }
}
