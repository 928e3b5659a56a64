//! Particles: where they start, their steps towards stored targets, and their end on the sphere.

use lab::diagnostic::Failure;
use swd::flow::StepSize;
use swd::{Particles, Region};

use super::super::train::Flow;
use crate::particles::{Target, Way, first, rows_in};

impl Flow {
    /// Where all particles start: uniform on the sphere.
    pub(super) fn first_particles(&mut self) -> Result<Vec<Particles>, Failure> {
        let sphere = Region::sphere(1.0).map_err(Failure::failed)?;
        first(&self.particles, self.groups.dim, sphere, &mut self.public)
    }

    pub(super) fn step_size(&self) -> StepSize {
        StepSize {
            step: self.settings.step_size,
            diffusion: self.settings.diffusion,
        }
    }

    /// A step of every group towards its target, in random slices of it; answers the mean squared distance.
    pub(super) fn towards(
        &mut self,
        groups: &mut [Particles],
        targets: &[Target],
        step: u64,
    ) -> Result<f64, Failure> {
        let way = Way {
            steps: self.steps_in_all(),
            slices: self.settings.slices_per_step,
            size: self.step_size(),
            last: self.settings.final_step,
        };
        way.step(groups, targets, step, &mut self.public)
    }

    /// Particles back on the sphere, where the decoder knows its way.
    pub(super) fn on_the_sphere(&self, groups: &mut [Particles]) -> Result<Vec<f32>, Failure> {
        let sphere = Region::sphere(1.0).map_err(Failure::failed)?;
        Ok(rows_in(sphere, groups))
    }
}
