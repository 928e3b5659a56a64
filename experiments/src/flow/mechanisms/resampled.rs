//! DPSWflow-r: a fresh batch, fresh slices and a fresh release at each step.
//!
//! The rows of a batch lie in the order of the records, and the amplification by sampling that the
//! accountant counts on is for their set: no noisy row may leave beside its place.
//! [`NoisyProjections::from_released`] sorts the values of each slice before anything uses them, and
//! neither a checkpoint nor a file of the run holds a release.

use lab::diagnostic::{Failure, OrFailed};
use lab::session::{SampledBatch, Session, at_least};
use private_queries::{Projections, Query};
use swd::flow::StepSize;
use swd::smoothed::NoisyProjections;
use swd::{Particles, Region};

use super::super::run::Flow;
use super::super::shared;
use super::{Moved, ReleaseMethod, check_slices, step_size, steps_or_passes};

lab::settings! {
    /// Settings of the flow with a release at each step.
    common { steps: Option<u64>, slices: usize }
    flags {
        /// Private records in a batch.
        #[bound(at_least(1))]
        batch: usize,
        /// h: the step size of the flow.
        #[bound(positive)]
        learning_rate: f64,
        /// Lambda: the diffusion of the flow.
        #[bound(must_be("at least 0 and finite", |d: f64| d >= 0.0 && d.is_finite()))]
        diffusion: f64,
    }
    optional {
        /// Passes over the private records, instead of steps.
        #[flag(conflicts_with = "steps")]
        epochs: u64,
    }
}

impl ReleaseMethod for Settings {
    const NAME: &'static str = "resampled";
    const ABOUT: &'static str =
        "Move particles towards a fresh release of noisy projections at each step (DPSWflow-r)";
    const PRESET: &'static str = include_str!("../../../../assets/flow/resampled.toml");
    const PHOTOGRAPHS: &'static str = "slices = 300\nepochs = 30";

    fn fill(&mut self, flags: &Flags, _: &shared::Settings, _: f64) {
        self.epochs = self.epochs.filter(|_| flags.steps.is_none());
    }

    fn check(&self, shared: &shared::Settings) -> Result<(), Failure> {
        at_least("steps", self.steps(self.batch), 1)?;
        check_slices(self.slices, shared.latent)
    }

    fn batch(&self) -> Option<usize> {
        Some(self.batch)
    }

    fn steps(&self, records: usize) -> u64 {
        steps_or_passes(self.steps, self.epochs, self.batch, records)
    }

    fn start(&self, flow: &mut Flow, _: &mut Session) -> Result<Moved, Failure> {
        let size = step_size(self.learning_rate, self.diffusion);
        let particles = flow.first_particles(None)?;
        Ok(Moved::Resampled(particles, self.slices, size))
    }
}

impl Flow {
    /// The noisy projections of a fresh batch of each group, in fresh slices, without the order of rows.
    pub(super) fn fresh_release(
        &mut self,
        slices: usize,
        session: &mut Session,
    ) -> Result<Vec<NoisyProjections>, Failure> {
        let sphere = Region::sphere(1.0).or_failed()?;
        let slices = self.slices(slices)?;
        let (sampler, rng) = (&self.sampler, &mut self.non_private);
        let batch = SampledBatch::next(self.releaser.as_mut(), || {
            Ok(sampler.sample(session.step + 1, rng))
        })?;
        let (d, mut groups) = (self.groups.dim, Vec::new());
        // Groups stand one behind the other.
        let mut offset = 0;
        for (latents, indices) in self.groups.latents.whole()?.iter().zip(&batch.groups) {
            let mut rows = Vec::with_capacity(indices.len() * d);
            for index in indices {
                let place = index - offset;
                rows.extend_from_slice(&latents[place * d..(place + 1) * d]);
            }
            offset += latents.len() / d;
            groups.push(rows);
        }
        let query = Projections::new(slices, sphere, batch.sizes());
        let measured = query.measure(&groups).or_failed()?;
        let noisy = batch.release(self.releaser.as_mut(), measured, &mut session.ledger)?;
        query.read(&noisy).or_failed()
    }

    /// A step of every group towards a fresh release; answers the mean squared distance.
    pub(super) fn resampled_step(
        &mut self,
        groups: &mut [Particles],
        slices: usize,
        size: StepSize,
        session: &mut Session,
    ) -> Result<f64, Failure> {
        let targets = self.fresh_release(slices, session)?;
        let all: Vec<usize> = (0..slices).collect();
        let total: usize = self.particles.iter().sum();
        let mut squares = 0.0;
        for (particles, target) in groups.iter_mut().zip(&targets) {
            let squared = particles
                .step(target, &all, size, &mut self.public)
                .or_failed()?;
            squares += squared * particles.count() as f64 / total as f64;
        }
        Ok(squares)
    }
}
