//! The losses between generated records and privatised ones.

use burn::tensor::{Device, Tensor, TensorData};
use lab::diagnostic::{Failure, OrFailed};
use lab::evaluate::transport::assignment;
use rayon::prelude::*;
use swd::sinkhorn::{Cost, Sinkhorn};

use super::noise_model::NoiseModel;
use super::settings::{Loss, Settings};

/// A transport counts as converged when the rows of its plan are together this far from equal weights.
const TOLERANCE: f64 = 1e-4;

/// A loss that is ready to be computed.
pub(super) enum PreparedLoss {
    /// Entropic transport, or the same without its bias: the divergence.
    Entropic(Sinkhorn, bool),
    /// Transport by an exact assignment: what a vanishing regularisation tends to.
    Exact(Cost),
}

impl PreparedLoss {
    /// The loss that the settings name.
    pub(super) fn new(settings: &Settings, noise_model: &NoiseModel) -> Result<Self, Failure> {
        let cost = noise_model.cost();
        Ok(match settings.loss {
            Loss::Entropic | Loss::Divergence => {
                let matched =
                    Sinkhorn::denoising(cost, noise_model.header.noise_scale).or_failed()?;
                let matched = matched.iterations(settings.iterations).tolerance(TOLERANCE);
                Self::Entropic(matched, settings.loss == Loss::Divergence)
            }
            Loss::W2 => Self::Exact(cost),
        })
    }

    /// The loss of generated records `[n, width]` against a batch of privatised ones, with its gradient, and whether a
    /// transport converged.
    pub(super) fn of(
        &self,
        made: Tensor<2>,
        noisy: Vec<f32>,
        device: &Device,
    ) -> Result<(Tensor<1>, bool), Failure> {
        let [n, width] = made.dims();
        let tensor = |values: Vec<f32>| {
            let rows = values.len() / width;
            Tensor::<2>::from_data(TensorData::new(values, [rows, width]), device)
        };
        match self {
            Self::Entropic(sinkhorn, unbiased) => {
                let values: Vec<f32> = made.clone().inner().into_data().iter().collect();
                let between = sinkhorn.solve(&values, &noisy, width).or_failed()?;
                let (mut value, mut gradient) = (between.value() as f32, between.gradient());
                let mut converged = between.converged();
                if *unbiased {
                    let within = sinkhorn.solve(&values, &values, width).or_failed()?;
                    // A point stands on both sides of its own transport: half of the value has the slope of one side.
                    value -= within.value() as f32 / 2.0;
                    for (slope, within) in gradient.iter_mut().zip(within.gradient()) {
                        *slope -= within;
                    }
                    converged &= within.converged();
                }
                // Its value is the distance, its slope the gradient.
                let along = (made * tensor(gradient)).sum();
                Ok((along.clone() - along.detach() + value, converged))
            }
            Self::Exact(cost) => {
                let values: Vec<f32> = made.clone().inner().into_data().iter().collect();
                let apart = made - tensor(nearest(&values, &noisy, width, *cost)?);
                let sum = match cost {
                    Cost::SquaredEuclidean => apart.square().sum(),
                    Cost::Manhattan => apart.abs().sum(),
                };
                Ok((sum / n as f64, true))
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
