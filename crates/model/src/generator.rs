//! The generator of DPSWgen (Sebag et al. 2023, arXiv 2312.08227, appendix C.5).

use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use rand::Rng;

use crate::layers::{constant_bias, linear};

/// A small number that keeps the normalisation finite.
const EPSILON: f64 = 1e-5;

/// Noise to points: linear to 256, ReLU, linear to 512, batch normalisation, ReLU, linear to 256,
/// ReLU, linear to the output.
///
/// Batches are normalised by their own moments always, so points are generated a batch at a time.
#[derive(Module, Debug)]
pub struct Generator {
    first: Linear,
    second: Linear,
    scale: Param<Tensor<1>>,
    shift: Param<Tensor<1>>,
    third: Linear,
    last: Linear,
    inputs: usize,
}

impl Generator {
    /// He initialisation from `rng`.
    pub fn new(inputs: usize, outputs: usize, rng: &mut impl Rng, device: &Device) -> Self {
        Self {
            first: linear(inputs, 256, 2.0, rng, device),
            second: linear(256, 512, 1.0, rng, device),
            scale: constant_bias(512, 1.0, device),
            shift: constant_bias(512, 0.0, device),
            third: linear(512, 256, 2.0, rng, device),
            last: linear(256, outputs, 1.0, rng, device),
            inputs,
        }
    }

    /// Width of the noise.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// `[n, inputs] -> [n, outputs]`.
    pub fn forward(&self, noise: Tensor<2>) -> Tensor<2> {
        let hidden = self.second.forward(relu(self.first.forward(noise)));
        let centred = hidden.clone() - hidden.mean_dim(0);
        let variance = centred.clone().square().mean_dim(0);
        let normal = centred / (variance + EPSILON).sqrt();
        let normal = normal * self.scale.val().unsqueeze::<2>() + self.shift.val().unsqueeze::<2>();
        self.last.forward(relu(self.third.forward(relu(normal))))
    }
}
