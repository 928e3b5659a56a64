//! The generator of DPSWgen (Sebag et al. 2023, arXiv 2312.08227, appendix C.5).

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use rand::Rng;

use super::moments::Moments;
use crate::layers::linear;

/// Maps noise to points: linear to 256, ReLU, linear to 512, batch normalisation, ReLU, linear to 256, ReLU, linear to the
/// output.
#[derive(Module, Debug)]
pub struct MlpGenerator {
    first: Linear,
    second: Linear,
    moments: Moments,
    third: Linear,
    last: Linear,
    inputs: usize,
}

impl MlpGenerator {
    /// Creates a generator with He initialisation from `rng`.
    pub fn new(inputs: usize, outputs: usize, rng: &mut impl Rng, device: &Device) -> Self {
        Self {
            first: linear(inputs, 256, 2.0, rng, device),
            second: linear(256, 512, 1.0, rng, device),
            moments: Moments::new(512, device),
            third: linear(512, 256, 2.0, rng, device),
            last: linear(256, outputs, 1.0, rng, device),
            inputs,
        }
    }

    /// Returns the width of the noise.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Computes `[n, inputs] -> [n, outputs]`.
    pub fn forward(&self, noise: Tensor<2>) -> Tensor<2> {
        let hidden = self.second.forward(relu(self.first.forward(noise)));
        let normal = self.moments.forward(hidden);
        self.last.forward(relu(self.third.forward(relu(normal))))
    }
}
