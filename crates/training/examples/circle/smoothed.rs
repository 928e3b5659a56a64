//! The baseline: a network follows the smoothed distance to one release (Rakotomamonjy and Ralaivola 2021, arXiv 2107.01848,
//! with one sub-sample that is released once and noise on the generated side, as Greenewald et al. 2024 have it).

use burn::module::Module;
use burn::optim::GradientsParams;
use dp_core::mechanism::{NoiseSource, NoisyVector};
use dp_core::plan::CheckedPlan;
use model::layers::Mlp;
use private_queries::{Projections, Query};
use private_training::prelude::*;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha20Rng;
use swd::smoothed::{NoisyProjections, smoothed_distance_and_gradient, smoothing_noise};
use swd::{NormBound, Slices};

use super::Failed;
use super::run::{BOUND, Settings, rows, tensor};

pub(super) struct Smoothed {
    target: NoisyProjections,
    /// Points that the network is fed, noise on what it makes: all public.
    public: ChaCha20Rng,
}

impl Smoothed {
    /// Releases the projections of one sub-sample of the circle's `points`; without a plan they have no noise.
    pub(super) fn release(
        settings: &Settings,
        slices: Slices,
        plan: Option<CheckedPlan>,
        points: &[f32],
        mut public: ChaCha20Rng,
        ledger: &mut Ledger,
    ) -> Result<Self, Failed> {
        let batch = settings.batch;
        let query = Projections::new(slices, NormBound::ball(BOUND)?, vec![batch]);
        let noisy = match plan {
            Some(plan) => {
                let mut releaser = plan.releaser(NoiseSource::secret()?);
                let draw = releaser.draw()?;
                // Sampling amplifies for a set of records: a row's place in the order of its records would say more.
                let mut sampled = draw.strata().concat();
                sampled.shuffle(releaser.noise().rng());
                let measured = query.measure(&[rows(points, &sampled)])?;
                releaser.release_step(&measured, &[batch], &draw, ledger)?
            }
            None => {
                let sampled = rand::seq::index::sample(&mut public, settings.records, batch);
                NoisyVector::without_privacy(query.measure(&[rows(points, &sampled.into_vec())])?)
            }
        };
        let target = query.read(&noisy)?.remove(0);
        Ok(Self { target, public })
    }

    /// A step towards the release, on a batch of the public `source`.
    pub(super) fn step(
        &mut self,
        training: &mut Training<Mlp>,
        rate: f64,
        batch: usize,
        source: &[f32],
    ) -> Result<(), Failed> {
        let sampled: Vec<usize> = (0..batch)
            .map(|_| self.public.random_range(0..source.len() / 2))
            .collect();
        let autodiff = training.device().autodiff();
        let network = training.network.clone().train();
        let made = network.forward(tensor(rows(source, &sampled), 2, &autodiff));
        let values: Vec<f32> = made.clone().inner().into_data().iter::<f32>().collect();
        let smoothing = smoothing_noise(&self.target, batch, &mut self.public);
        let (_, cotangent) = smoothed_distance_and_gradient(&values, &smoothing, &self.target)?;
        let along = (made * tensor(cotangent, 2, &autodiff)).sum();
        let gradients = GradientsParams::from_grads(along.backward(), &network);
        training.apply(rate, gradients);
        Ok(())
    }
}
