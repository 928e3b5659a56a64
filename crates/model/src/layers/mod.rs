//! Layers that are burn modules and know their per-record gradients.
//!
//! Each file holds one layer: a burn `Module` and its tensor form for every backend; `host` holds
//! its form for the CPU, and `kernels` the inner loops of that. Activations are `[n, features]`; images
//! are channel-major inside a row.

mod activation;
mod conv;
pub(crate) mod host;
mod kernels;
mod linear;
mod resample;
mod sigmoid;

pub use activation::LeakyRelu;
pub use conv::Conv;
pub use linear::Linear;
pub use resample::{AvgPool, Upsample};
pub use sigmoid::Sigmoid;

use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

/// A parameter drawn from `N(0, deviation^2)` on the host, so that a seed means the same on every
/// backend.
pub(crate) fn gaussian_parameter<const D: usize>(
    shape: [usize; D],
    deviation: f64,
    rng: &mut impl Rng,
    device: &Device,
) -> Param<Tensor<D>> {
    let count = shape.iter().product();
    let values: Vec<f32> = (0..count)
        .map(|_| {
            let x: f64 = StandardNormal.sample(rng);
            (x * deviation) as f32
        })
        .collect();
    Param::from_data(TensorData::new(values, shape), device)
}

/// A bias of one value.
pub(crate) fn constant_bias(length: usize, value: f32, device: &Device) -> Param<Tensor<1>> {
    Param::from_data(TensorData::new(vec![value; length], [length]), device)
}

/// The values of a parameter on the host.
pub(crate) fn host_values<const D: usize>(param: &Param<Tensor<D>>) -> Vec<f32> {
    param.val().into_data().iter::<f32>().collect()
}
