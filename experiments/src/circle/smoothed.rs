//! The baseline: a network trained on the smoothed distance to one release (Rakotomamonjy and Ralaivola 2021, arXiv
//! 2107.01848, with one sub-sample that is released once and noise on the generated side, as Greenewald et al. 2024
//! have it).

use burn::module::Module;
use burn::optim::GradientsParams;
use dp_core::ledger::Ledger;
use dp_core::mechanism::{Noisy, Releaser};
use lab::diagnostic::{Failure, OrFailed};
use lab::session::{SampledBatch, Session, host, next_step, tensor};
use private_queries::{Projections, Query};
use private_training::Training;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha20Rng;
use swd::smoothed::{NoisyProjections, smoothed_distance_and_gradient, smoothing_noise};
use swd::{Region, Slices};

use super::Map;
use super::settings::Shared;

/// The one release, by the name under which it is kept.
pub(crate) const RELEASE: &str = "release";

/// The release that a network is trained on.
pub(crate) struct SmoothedRelease {
    pub releaser: Option<Releaser>,
    slices: Slices,
    target: Option<NoisyProjections>,
    /// Points that the network is fed, noise on what it makes: all public.
    public: ChaCha20Rng,
}

impl SmoothedRelease {
    /// Before its release.
    pub(crate) fn new(
        slices: usize,
        releaser: Option<Releaser>,
        mut public: ChaCha20Rng,
    ) -> Result<Self, Failure> {
        let slices = Slices::tight(2, slices, &mut public).or_failed()?;
        Ok(Self {
            releaser,
            slices,
            target: None,
            public,
        })
    }

    /// Releases the projections of one sub-sample of the circle's `points`, or takes what was released before.
    pub(crate) fn release(
        &mut self,
        (shared, combine): (&Shared, bool),
        training: &mut Training<Map>,
        points: &[f32],
        session: &mut Session,
    ) -> Result<(), Failure> {
        let region = Region::ball(shared.clip_activation).or_failed()?;
        let query =
            Projections::new(self.slices.clone(), region, vec![shared.batch]).combined(combine);
        let fresh = |ledger: &mut Ledger| self.fresh(&query, training, points, ledger);
        let mut released = session.release_batch(RELEASE, &query, fresh)?;
        self.target = released.pop();
        Ok(())
    }

    fn fresh(
        &mut self,
        query: &Projections,
        training: &mut Training<Map>,
        points: &[f32],
        ledger: &mut Ledger,
    ) -> Result<Noisy, Failure> {
        let batch = SampledBatch::next(self.releaser.as_mut(), || {
            Ok(vec![next_step(training)?.records()])
        })?;
        // Sampling amplifies for a set of records: a row's place in the order of its records would say more.
        let mut sampled = batch.groups.concat();
        if let Some(releaser) = &mut self.releaser {
            sampled.shuffle(releaser.noise().rng());
        }
        let rows = sampled
            .iter()
            .flat_map(|&i| [points[2 * i], points[2 * i + 1]]);
        let measured = query.measure(&[rows.collect()]).or_failed()?;
        batch.release(self.releaser.as_mut(), measured, ledger)
    }

    /// A step towards the release, on a batch of the public `source`.
    pub(crate) fn step(
        &mut self,
        training: &mut Training<Map>,
        rate: f64,
        batch: usize,
        source: &[f32],
    ) -> Result<(), Failure> {
        let target = self.target.as_ref();
        let target = target.ok_or_else(|| Failure::failed("a step before the release"))?;
        let mut rows = Vec::with_capacity(2 * batch);
        for _ in 0..batch {
            let i = self.public.random_range(0..source.len() / 2);
            rows.extend([source[2 * i], source[2 * i + 1]]);
        }
        let autodiff = training.device().autodiff();
        let network = training.network.clone().train();
        let made = network.forward(tensor(rows, 2, &autodiff));
        let values = host(made.clone().inner());
        let smoothing = smoothing_noise(target, batch, &mut self.public);
        let (_, cotangent) =
            smoothed_distance_and_gradient(&values, &smoothing, target).or_failed()?;
        let along = (made * tensor(cotangent, 2, &autodiff)).sum();
        let gradients = GradientsParams::from_grads(along.backward(), &network);
        training.apply(rate, gradients);
        Ok(())
    }
}
