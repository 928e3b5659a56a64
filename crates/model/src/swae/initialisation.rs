//! The initialisation that frameworks give by default, to compare He's with.

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Tensor, TensorData};
use rand::{Rng, RngExt};

struct Uniform<'a, R> {
    rng: &'a mut R,
    bound: f32,
}

impl<R: Rng> ModuleMapper for Uniform<'_, R> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|old| {
            let shape = old.dims();
            let fan_in = match D {
                // [c_out, c_in, k, k]
                4 => Some(shape[1] * shape[2] * shape[3]),
                // [d_in, d_out]
                2 => Some(shape[0]),
                _ => None,
            };
            // A bias follows its weight and takes its bound.
            if let Some(fan_in) = fan_in {
                self.bound = 1.0 / (fan_in as f32).sqrt();
            }
            let bound = self.bound;
            let count = shape.iter().product();
            let values: Vec<f32> = (0..count)
                .map(|_| self.rng.random_range(-bound..bound))
                .collect();
            Tensor::from_data(TensorData::new(values, shape), &old.device())
        })
    }
}

/// `module` with weights and biases uniform in `+-1/sqrt(fan_in)`, PyTorch's default.
///
/// From it the latents of an autoencoder start almost constant over images, and private training
/// spends hundreds of steps on a plateau.
pub fn framework_initialisation<M: Module>(module: M, rng: &mut impl Rng) -> M {
    module.map(&mut Uniform { rng, bound: 1.0 })
}
