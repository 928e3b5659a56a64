//! The losses between generated records and privatised ones.

use burn::tensor::{Device, Tensor, TensorData};
use dp_core::local::LocalNoise;
use lab::diagnostic::{Failure, OrFailed};
use lab::evaluate::transport::assignment;
use rand::{Rng, RngExt};
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, Exp1, StandardNormal};
use rayon::prelude::*;
use swd::sinkhorn::{Cost, Sinkhorn};
use swd::smoothed::deconvolved_distance_and_gradient;
use swd::transport::host::sliced_cotangents_and_distance;
use swd::{Cells, Slices};

use super::noise_model::NoiseModel;
use super::private::Privatised;
use super::settings::{Loss, Shared};

/// The rows of a plan are this far from equal weights, together, where a transport counts as converged.
const TOLERANCE: f64 = 1e-4;

/// Families of slices, of which each step takes one.
const FAMILIES: usize = 10;

/// A loss, with what it has computed of the privatised records beforehand.
pub(super) enum PreparedLoss {
    /// Entropic transport, or the same without its bias: the divergence.
    Entropic(Sinkhorn, bool),
    /// Transport by an exact assignment: what a vanishing regularisation tends to.
    Exact(Cost),
    /// Sliced transport to generated records with noise.
    Sliced {
        /// Slices, and the quantile cells of all privatised records on them.
        families: Vec<(Slices, Cells)>,
        /// Which noise, and its scale.
        noise: (LocalNoise, f64),
    },
}

impl PreparedLoss {
    /// The loss that the settings name.
    ///
    /// - `points`: generated records in a step.
    pub(super) fn new(
        settings: &Shared,
        (noise_model, private): (&NoiseModel, &Privatised),
        points: usize,
        rng: &mut ChaCha20Rng,
    ) -> Result<Self, Failure> {
        let (cost, scale) = (noise_model.cost(), noise_model.scale);
        Ok(match settings.loss {
            Loss::Entropic | Loss::Divergence => {
                let matched = Sinkhorn::denoising(cost, scale).or_failed()?;
                let matched = matched.iterations(settings.iterations).tolerance(TOLERANCE);
                Self::Entropic(matched, settings.loss == Loss::Divergence)
            }
            Loss::W2 => Self::Exact(cost),
            Loss::Sliced => {
                let mut families = Vec::with_capacity(FAMILIES);
                for _ in 0..FAMILIES {
                    let slices = noise_model.directions(settings.slices, rng)?;
                    let cells = Cells::of_sample(&private.rows, &slices, points);
                    families.push((slices, cells.or_failed()?));
                }
                let noise = (noise_model.noise(), scale);
                Self::Sliced { families, noise }
            }
        })
    }

    /// The loss of generated records `[n, width]` against a batch of privatised ones, with its gradient, and whether a
    /// transport converged, as slices always do.
    pub(super) fn of(
        &self,
        made: Tensor<2>,
        noisy: Vec<f32>,
        device: &Device,
        rng: &mut ChaCha20Rng,
    ) -> Result<(Tensor<1>, bool), Failure> {
        let [n, width] = made.dims();
        let tensor = |values: Vec<f32>, device| {
            let rows = values.len() / width;
            Tensor::<2>::from_data(TensorData::new(values, [rows, width]), device)
        };
        let values = || -> Vec<f32> { made.clone().inner().into_data().iter().collect() };
        match self {
            Self::Entropic(sinkhorn, unbiased) => {
                let noisy = tensor(noisy, device);
                let found = match unbiased {
                    false => sinkhorn.forward(made, noisy),
                    true => sinkhorn.forward_divergence(made, noisy),
                };
                let found = found.or_failed()?;
                Ok((found.loss, found.converged))
            }
            Self::Exact(cost) => {
                let near = nearest(&values(), &noisy, width, *cost)?;
                let apart = made - tensor(near, device);
                let sum = match cost {
                    Cost::SquaredEuclidean => apart.square().sum(),
                    Cost::Manhattan => apart.abs().sum(),
                };
                Ok((sum / n as f64, true))
            }
            Self::Sliced { families, noise } => {
                let (slices, cells) = &families[rng.random_range(0..families.len())];
                let mut values = values();
                let (cotangent, distance) = match noise {
                    (LocalNoise::Gaussian, scale) => {
                        deconvolved_distance_and_gradient(&values, slices, *scale, cells)
                    }
                    // The projection of Laplace noise has another distribution in each slice: noise is sampled.
                    (noise, scale) => {
                        values
                            .iter_mut()
                            .for_each(|x| *x += (standard(*noise, rng) * scale) as f32);
                        sliced_cotangents_and_distance(&values, slices, cells)
                    }
                }
                .or_failed()?;
                let along = (made.clone() * tensor(cotangent, &made.device())).sum();
                Ok((along.clone() - along.detach() + distance, true))
            }
        }
    }
}

/// The privatised records in the order of the generated ones that they are assigned to.
fn nearest(made: &[f32], noisy: &[f32], width: usize, cost: Cost) -> Result<Vec<f32>, Failure> {
    let between = |x: &[f32], y: &[f32]| -> f64 {
        let parts = x.iter().zip(y).map(|(a, b)| a - b);
        let power: f32 = match cost {
            Cost::SquaredEuclidean => parts.map(|apart| apart * apart).sum(),
            Cost::Manhattan => parts.map(f32::abs).sum(),
        };
        power.into()
    };
    let rows = made.par_chunks_exact(width);
    let costs = rows.flat_map_iter(|x| noisy.chunks_exact(width).map(move |y| between(x, y)));
    let costs: Vec<f64> = costs.collect();
    let (places, _) = assignment(costs, made.len() / width).or_failed()?;
    let row = |place: usize| &noisy[place * width..][..width];
    Ok(places.into_iter().flat_map(row).copied().collect())
}

/// Noise of scale 1.
pub(super) fn standard(noise: LocalNoise, rng: &mut impl Rng) -> f64 {
    match noise {
        LocalNoise::Gaussian => StandardNormal.sample(rng),
        LocalNoise::Laplace => {
            let size: f64 = Exp1.sample(rng);
            if rng.random() { size } else { -size }
        }
    }
}
