//! Dropout by a given mask.

use burn::tensor::{Device, Tensor, TensorData};
use rand::{Rng, RngExt};

use crate::per_sample::{Gram, Layer, ParameterSlot};

/// `y = mask * x`: the mask is public, and every pass uses the same one.
pub(super) struct Dropout {
    mask: Tensor<2>,
}

impl Dropout {
    pub(super) fn new(mask: Tensor<2>) -> Self {
        Self {
            mask: mask.without_autodiff(),
        }
    }
}

impl Layer for Dropout {
    fn name(&self) -> &'static str {
        "Dropout"
    }

    fn parameters(&self) -> Vec<ParameterSlot> {
        Vec::new()
    }

    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        input * self.mask.clone()
    }

    fn backward(&self, _input: &Tensor<2>, _output: &Tensor<2>, delta: Tensor<3>) -> Tensor<3> {
        delta * self.mask.clone().unsqueeze_dim(1)
    }

    fn gram(&self, _input: &Tensor<2>, _delta: &Tensor<3>) -> Option<Gram> {
        None
    }

    fn gradient(&self, _input: &Tensor<2>, _delta: Tensor<2>) -> Vec<Tensor<1>> {
        Vec::new()
    }
}

/// Draws a mask for [`Chain::dropout`](super::Chain::dropout), `[n, features]`: each entry is 0 with probability
/// `prob`, otherwise `1 / (1 - prob)`, as in [`burn::nn::Dropout`].
///
/// The draw does not depend on any record, so records stay independent of each other. `prob` is clamped to `[0, 1)`.
pub fn dropout_mask(
    [n, features]: [usize; 2],
    prob: f64,
    rng: &mut impl Rng,
    device: &Device,
) -> Tensor<2> {
    let kept = (1.0 - prob).clamp(f64::EPSILON, 1.0);
    let draw = |_| match rng.random_bool(kept) {
        true => (1.0 / kept) as f32,
        false => 0.0,
    };
    let values: Vec<f32> = (0..n * features).map(draw).collect();
    Tensor::from_data(TensorData::new(values, [n, features]), device)
}
