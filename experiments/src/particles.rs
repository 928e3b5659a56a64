//! Particles on their way to targets that were released once: post-processing.

use lab::diagnostic::{Failure, OrFailed};
use rand::Rng;
use rand::seq::index::sample;
use swd::flow::StepSize;
use swd::{FlowTarget, Particles, Region};

/// What each group goes towards.
pub(crate) fn boxed<T: FlowTarget + 'static>(targets: Vec<T>) -> Vec<Box<dyn FlowTarget>> {
    let boxed = |target| Box::new(target) as _;
    targets.into_iter().map(boxed).collect()
}

/// The steps of particles.
#[derive(Debug, Clone, Copy)]
pub struct StepSchedule {
    pub steps: u64,
    /// Slices of a step, out of those of the target; none for all.
    pub slices: Option<usize>,
    /// The first step and its diffusion.
    pub size: StepSize,
    /// The last step as a share of the first.
    pub last: f64,
}

impl StepSchedule {
    /// The size of a step: from `h` along a line to a share of it, so that particles that heard different slices
    /// settle.
    fn size_at(&self, step: u64) -> StepSize {
        let done = step as f64 / (self.steps.saturating_sub(1)).max(1) as f64;
        let share = 1.0 + done * (self.last - 1.0);
        StepSize {
            step: share * self.size.step,
            ..self.size
        }
    }

    /// A step of every group towards its target, in random slices of it; answers the mean squared distance.
    pub(crate) fn step(
        &self,
        groups: &mut [Particles],
        targets: &[Box<dyn FlowTarget>],
        step: u64,
        rng: &mut impl Rng,
    ) -> Result<f64, Failure> {
        let size = self.size_at(step);
        let total: usize = groups.iter().map(Particles::count).sum();
        let mut squares = 0.0;
        for (particles, target) in groups.iter_mut().zip(targets) {
            let all = target.slices().count();
            let chosen: Vec<usize> = match self.slices {
                Some(some) if some < all => sample(rng, all, some).into_vec(),
                _ => (0..all).collect(),
            };
            let squared = particles.step(target, &chosen, size, rng).or_failed()?;
            squares += squared * particles.count() as f64 / total as f64;
        }
        Ok(squares)
    }
}

/// The particles of all groups in `region`, where a decoder knows its way, `[n, d]` in rows.
pub(crate) fn rows_in(region: Region, groups: &mut [Particles]) -> Vec<f32> {
    let mut rows = Vec::new();
    for particles in groups {
        particles.project_onto(region);
        rows.extend(particles.rows());
    }
    rows
}

/// `total` particles shared out as groups of these sizes are; at least one a group.
pub(crate) fn share(sizes: &[usize], total: usize) -> Vec<usize> {
    let all: usize = sizes.iter().sum();
    let share = |&size: &usize| (total * size).div_ceil(all.max(1)).max(1);
    sizes.iter().map(share).collect()
}
