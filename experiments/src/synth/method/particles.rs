//! Particles on their way to targets that were released once: post-processing.

use lab::prelude::*;
use rand::seq::index::sample;
use swd::flow::StepSize;
use swd::{FlowTarget, NormBound, Particles};

use super::super::run::Synth;
use super::super::samples::Latents;
use super::{Made, Making};

/// What each group goes towards.
pub(super) fn boxed<T: FlowTarget + 'static>(targets: Vec<T>) -> Vec<Box<dyn FlowTarget>> {
    let boxed = |target| Box::new(target) as _;
    targets.into_iter().map(boxed).collect()
}

/// Steps of particles towards targets in random slices of theirs.
pub(super) struct Stored {
    pub particles: Vec<Particles>,
    pub targets: Vec<Box<dyn FlowTarget>>,
    /// The last step as a share of the first.
    pub last: f64,
}

impl Making for Stored {
    fn step(&mut self, run: &mut Synth, session: &mut Session) -> Result<f64, Failure> {
        // From h along a line to a share of it, so that particles that heard different slices settle.
        let done = session.step as f64 / (run.steps.saturating_sub(1)).max(1) as f64;
        let share = 1.0 + done * (self.last - 1.0);
        towards(&mut self.particles, &self.targets, share, run)
    }

    fn made(self: Box<Self>, run: &Synth) -> Result<Made, Failure> {
        latents(self.particles, run).map(Made::Latents)
    }
}

/// Takes a step of a share of the learning rate with the particles of each group; gives their mean squared distance to the targets.
pub(super) fn towards(
    groups: &mut [Particles],
    targets: &[impl FlowTarget],
    share: f64,
    run: &mut Synth,
) -> Result<f64, Failure> {
    let size = step_size(share * run.settings.learning_rate.unwrap_or(1.0));
    let total: usize = groups.iter().map(Particles::count).sum();
    let mut squares = 0.0;
    for (particles, target) in groups.iter_mut().zip(targets) {
        let chosen = slices_of_step(target.slices().count(), run);
        let squared = particles.step(target, &chosen, size, &mut run.rng);
        squares += squared.or_failed()? * particles.count() as f64 / total as f64;
    }
    Ok(squares)
}

/// The slices of a step, out of `all`.
pub(super) fn slices_of_step(all: usize, run: &mut Synth) -> Vec<usize> {
    match run.settings.slices_per_step {
        Some(some) if some < all => sample(&mut run.rng, all, some).into_vec(),
        _ => (0..all).collect(),
    }
}

/// A step of this size, without diffusion.
pub(super) fn step_size(step: f64) -> StepSize {
    StepSize {
        step,
        diffusion: 0.0,
    }
}

/// Particles of each group on the sphere, on which a decoder was trained.
pub(super) fn latents(mut groups: Vec<Particles>, run: &Synth) -> Result<Latents, Failure> {
    let sphere = NormBound::sphere(1.0).or_failed()?;
    let mut rows = Vec::new();
    for particles in &mut groups {
        particles.project_onto(sphere);
        rows.extend(particles.rows());
    }
    let counts: Vec<usize> = groups.iter().map(Particles::count).collect();
    Ok(run.labelled(rows, || labels(&counts)))
}

/// The group of each row, of rows that stand group after group.
pub(super) fn labels(counts: &[usize]) -> Vec<usize> {
    let groups = counts.iter().enumerate();
    groups
        .flat_map(|(group, &n)| std::iter::repeat_n(group, n))
        .collect()
}

/// `total` particles shared out as groups of these sizes are; at least one a group.
pub(super) fn share(sizes: &[usize], total: usize) -> Vec<usize> {
    let all: usize = sizes.iter().sum();
    let share = |&size: &usize| (total * size).div_ceil(all.max(1)).max(1);
    sizes.iter().map(share).collect()
}

/// Particles of each group anywhere on the sphere.
pub(super) fn anywhere(run: &mut Synth) -> Result<Vec<Particles>, Failure> {
    let counts = share(&run.sizes, run.total());
    let sphere = NormBound::sphere(1.0).or_failed()?;
    let start = |&n: &usize| {
        let mut particles =
            Particles::gaussian(n, run.form.latent, 1.0, &mut run.rng).or_failed()?;
        particles.project_onto(sphere);
        Ok(particles)
    };
    counts.iter().map(start).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn particles_are_shared_out_by_size() {
        assert_eq!(super::share(&[3, 1], 6), [5, 2]);
    }
}
