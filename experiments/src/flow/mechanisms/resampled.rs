//! DPSWflow-r: a fresh batch, fresh slices and a fresh release at each step.
//!
//! The rows of a batch lie in the order of the records, and the amplification by sampling that the
//! accountant counts on is for their set: no noisy row may leave beside its place.
//! [`NoisyProjections::from_released`] sorts the values of each slice before anything uses them, and
//! neither a checkpoint nor a file of the run holds a release.

use lab::diagnostic::Failure;
use lab::session::{SampledBatch, Session};
use private_queries::{Projections, Query};
use swd::smoothed::NoisyProjections;
use swd::{Particles, Region};

use super::super::train::Flow;

impl Flow {
    /// The noisy projections of a fresh batch of each group, in fresh slices, without the order of rows.
    pub(super) fn fresh_release(
        &mut self,
        session: &mut Session,
    ) -> Result<Vec<NoisyProjections>, Failure> {
        let sphere = Region::sphere(1.0).map_err(Failure::failed)?;
        let slices = self.slices()?;
        let (sampler, rng) = (&self.sampler, &mut self.non_private);
        let batch = SampledBatch::next(self.releaser.as_mut(), || Ok(sampler.sample(rng)))?;
        let (d, mut groups) = (self.groups.dim, Vec::new());
        // Groups stand one behind the other.
        let mut offset = 0;
        for (latents, indices) in self.groups.latents.iter().zip(&batch.groups) {
            let mut rows = Vec::with_capacity(indices.len() * d);
            for index in indices {
                let place = index - offset;
                rows.extend_from_slice(&latents[place * d..(place + 1) * d]);
            }
            offset += latents.len() / d;
            groups.push(rows);
        }
        let query = Projections::new(slices, sphere, batch.sizes());
        let measured = query.measure(&groups).map_err(Failure::failed)?;
        let noisy = batch.release(self.releaser.as_mut(), measured, &mut session.ledger)?;
        query.read(&noisy).map_err(Failure::failed)
    }

    /// A step of every group towards a fresh release; answers the mean squared distance.
    pub(super) fn resampled_step(
        &mut self,
        groups: &mut [Particles],
        session: &mut Session,
    ) -> Result<f64, Failure> {
        let targets = self.fresh_release(session)?;
        let all: Vec<usize> = (0..self.settings.flow_slices()).collect();
        let total: usize = self.particles.iter().sum();
        let size = self.step_size();
        let mut squares = 0.0;
        for (particles, target) in groups.iter_mut().zip(&targets) {
            let squared = particles.step(target, &all, size, &mut self.public);
            let squared = squared.map_err(Failure::failed)?;
            squares += squared * particles.count() as f64 / total as f64;
        }
        Ok(squares)
    }
}
