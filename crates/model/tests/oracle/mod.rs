//! The slow reference: burn's autodiff, one record and one output at a time.
#![allow(dead_code)] // each test file uses a part of it

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};
use dp_core::per_sample::ParameterSlot;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

pub fn generator(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

pub fn uniform(count: usize, rng: &mut impl Rng) -> Vec<f32> {
    (0..count).map(|_| rng.random_range(-1.0..1.0)).collect()
}

pub fn tensor<const D: usize>(values: &[f32], shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values.to_vec(), shape), device)
}

pub fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

/// The gradient of a scalar with respect to all parameters, flat, in the order of `slots`.
pub fn flat_gradient<M: Module>(
    scalar: Tensor<1>,
    module: &M,
    slots: &[ParameterSlot],
) -> Vec<f32> {
    let gradients = GradientsParams::from_grads(scalar.backward(), module);
    slots
        .iter()
        .flat_map(|slot| {
            let values: Option<Vec<f32>> = match slot.shape.len() {
                1 => gradients.get::<1>(slot.id).map(host),
                2 => gradients.get::<2>(slot.id).map(host),
                _ => gradients.get::<4>(slot.id).map(host),
            };
            // A parameter that a scalar does not reach has no gradient.
            values.unwrap_or_else(|| vec![0.0; slot.len()])
        })
        .collect()
}

pub fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(&x, &y)| f64::from(x) * f64::from(y))
        .sum()
}

/// `||a - b|| / ||b||`.
pub fn relative_error(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let difference: f64 = a
        .iter()
        .zip(b)
        .map(|(&x, &y)| (f64::from(x) - f64::from(y)).powi(2))
        .sum();
    (difference / dot(b, b).max(1e-30)).sqrt()
}
