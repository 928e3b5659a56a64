//! Batch normalisation by the moments of the batch at hand (Ioffe and Szegedy 2015, arXiv 1502.03167).

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

use crate::layers::constant_bias;

/// A small number that keeps the normalisation finite.
const EPSILON: f64 = 1e-5;

/// Normalises features over a batch, then gives them a learned deviation and mean.
#[derive(Module, Debug)]
pub(super) struct Moments {
    scale: Param<Tensor<1>>,
    shift: Param<Tensor<1>>,
}

impl Moments {
    /// Starts with deviation 1 and mean 0.
    pub(super) fn new(features: usize, device: &Device) -> Self {
        Self {
            scale: constant_bias(features, 1.0, device),
            shift: constant_bias(features, 0.0, device),
        }
    }

    /// Computes `[n, features] -> [n, features]`.
    pub(super) fn forward(&self, hidden: Tensor<2>) -> Tensor<2> {
        let centred = hidden.clone() - hidden.mean_dim(0);
        let variance = centred.clone().square().mean_dim(0);
        let normal = centred / (variance + EPSILON).sqrt();
        normal * self.scale.val().unsqueeze::<2>() + self.shift.val().unsqueeze::<2>()
    }

    /// Normalises `[n, channels, height, width]` in the same way, over all positions of a channel.
    pub(super) fn forward_maps(&self, hidden: Tensor<4>) -> Tensor<4> {
        let mean = |maps: Tensor<4>| maps.mean_dim(0).mean_dim(2).mean_dim(3);
        let centred = hidden.clone() - mean(hidden);
        let variance = mean(centred.clone().square());
        let normal = centred / (variance + EPSILON).sqrt();
        let [_, channels, _, _] = normal.dims();
        let of = |values: &Param<Tensor<1>>| values.val().reshape([1, channels, 1, 1]);
        normal * of(&self.scale) + of(&self.shift)
    }
}
