//! The losses between generated records and privatised ones.

use burn::tensor::{Device, Tensor, TensorData};
use dp_core::local::LocalNoise;
use lab::diagnostic::Failure;
use rand::{Rng, RngExt};
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, Exp1, StandardNormal};
use swd::sinkhorn::Sinkhorn;
use swd::transport::host::sliced_cotangents_and_distance;
use swd::{Cells, Slices};

use super::private::Privatised;
use super::settings::{Loss, Settings};

/// The regularisation of `w2` over the mean of `|y|_p^p`.
const SMALL: f64 = 0.01;

/// The rows of a plan are this far from equal weights, together, where a transport counts as converged.
const TOLERANCE: f64 = 1e-4;

/// Families of slices, of which each step takes one.
const FAMILIES: usize = 10;

/// A loss, with what it has computed of the privatised records beforehand.
pub enum Objective {
    /// Entropic transport.
    Transport(Sinkhorn),
    /// The same without its bias.
    Divergence(Sinkhorn),
    /// Sliced transport to generated records with noise.
    Sliced {
        /// Slices, and the quantile cells of all privatised records on them.
        families: Vec<(Slices, Cells)>,
        /// Which noise, and its scale.
        noise: (LocalNoise, f64),
    },
}

/// The loss of one step.
pub struct Found {
    /// What is minimised, with its gradient.
    pub loss: Tensor<1>,
    /// Whether a transport converged; always for slices.
    pub converged: bool,
}

impl Objective {
    /// The loss that the settings name.
    ///
    /// - `directions`: draws slices in the space of privatised records.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`].
    pub fn new(
        settings: &Settings,
        private: &Privatised,
        points: usize,
        directions: &mut dyn FnMut() -> Result<Slices, Failure>,
    ) -> Result<Self, Failure> {
        let cost = private.cost();
        let limited = |sinkhorn: Sinkhorn| {
            sinkhorn
                .iterations(settings.iterations)
                .tolerance(TOLERANCE)
        };
        let denoising = |cost| {
            Sinkhorn::denoising(cost, private.scale)
                .map(limited)
                .map_err(Failure::failed)
        };
        Ok(match settings.loss {
            Loss::Entropic => Self::Transport(denoising(cost)?),
            Loss::Divergence => Self::Divergence(denoising(cost)?),
            Loss::W2 => {
                let regularisation = SMALL * private.mean_power();
                let sinkhorn = Sinkhorn::new(cost, regularisation).map_err(Failure::failed)?;
                Self::Transport(limited(sinkhorn))
            }
            Loss::Sliced => {
                let mut families = Vec::with_capacity(FAMILIES);
                for _ in 0..FAMILIES {
                    let slices = directions()?;
                    let cells = Cells::of_sample(&private.rows, &slices, points);
                    families.push((slices, cells.map_err(Failure::failed)?));
                }
                let noise = (private.noise, private.scale);
                Self::Sliced { families, noise }
            }
        })
    }

    /// The loss of generated records `[n, width]` against a batch of privatised ones.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] for values that are not finite.
    pub fn of(
        &self,
        made: Tensor<2>,
        noisy: Vec<f32>,
        device: &Device,
        rng: &mut ChaCha20Rng,
    ) -> Result<Found, Failure> {
        let [n, width] = made.dims();
        let tensor = |values: Vec<f32>| {
            let rows = values.len() / width;
            Tensor::<2>::from_data(TensorData::new(values, [rows, width]), device)
        };
        match self {
            Self::Transport(sinkhorn) => {
                let found = sinkhorn
                    .forward(made, tensor(noisy))
                    .map_err(Failure::failed)?;
                Ok(Found {
                    loss: found.loss,
                    converged: found.converged,
                })
            }
            Self::Divergence(sinkhorn) => {
                let found = sinkhorn.forward_divergence(made, tensor(noisy));
                let found = found.map_err(Failure::failed)?;
                Ok(Found {
                    loss: found.loss,
                    converged: found.converged,
                })
            }
            Self::Sliced { families, noise } => {
                let (slices, cells) = &families[rng.random_range(0..families.len())];
                let fresh = (0..n * width).map(|_| standard(noise.0, rng) * noise.1);
                let fresh: Vec<f32> = fresh.map(|x| x as f32).collect();
                let values = made.clone().inner().into_data();
                let seen: Vec<f32> = values
                    .iter::<f32>()
                    .zip(&fresh)
                    .map(|(x, e)| x + e)
                    .collect();
                let (cotangent, distance) = sliced_cotangents_and_distance(&seen, slices, cells)
                    .map_err(Failure::failed)?;
                let data = TensorData::new(cotangent, [n, width]);
                let along = (made.clone() * Tensor::from_data(data, &made.device())).sum();
                Ok(Found {
                    loss: along.clone() - along.detach() + distance,
                    converged: true,
                })
            }
        }
    }
}

/// Noise of scale 1.
pub fn standard(noise: LocalNoise, rng: &mut impl Rng) -> f64 {
    match noise {
        LocalNoise::Gaussian => StandardNormal.sample(rng),
        LocalNoise::Laplace => {
            let size: f64 = Exp1.sample(rng);
            if rng.random() { size } else { -size }
        }
    }
}
