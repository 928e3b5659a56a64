//! Flow steps towards stored targets: post-processing.

use lab::diagnostic::Failure;
use rand::seq::index::sample;
use swd::flow::StepSize;
use swd::{FlowTarget, Particles, Region};

use super::{Flow, Generated, Snapshot, strip_steps};

impl Flow<'_> {
    /// Where all particles start: uniform on the sphere.
    pub(super) fn start(&mut self) -> Result<Vec<Particles>, Failure> {
        let sphere = Region::sphere(1.0).map_err(Failure::run)?;
        let mut starts = Vec::new();
        for &n in &self.particles {
            let particles = Particles::gaussian(n, self.groups.dim, 1.0, &mut self.public);
            let mut particles = particles.map_err(Failure::run)?;
            particles.project_onto(sphere);
            starts.push(particles);
        }
        Ok(starts)
    }

    pub(super) fn step_size(&self) -> StepSize {
        StepSize {
            step: self.settings.step_size,
            diffusion: self.settings.diffusion,
        }
    }

    /// The size of one step of `steps`: from `h` along a line to a share of it, so that particles
    /// that heard different slices settle.
    fn step_size_at(&self, step: u64, steps: u64) -> StepSize {
        let done = step as f64 / (steps.saturating_sub(1)).max(1) as f64;
        let share = 1.0 + done * (self.settings.final_step - 1.0);
        let size = self.step_size();
        StepSize {
            step: share * size.step,
            ..size
        }
    }

    /// Steps of every group towards its target, in random slices of it.
    pub(super) fn towards<T: FlowTarget>(&mut self, targets: &[T]) -> Result<Generated, Failure> {
        let steps = self.settings.steps.unwrap_or(0);
        let mut groups = self.start()?;
        let mut strip = Vec::new();
        let mut distances = Vec::new();
        let strip_at = strip_steps(steps);
        let progress = self.progress(0, steps);
        for step in 0..=steps {
            if strip_at.contains(&step) {
                let rows: Vec<Vec<f32>> = groups.iter().map(Particles::rows).collect();
                let rows = self.first(&rows);
                strip.push(Snapshot { step, rows });
            }
            if step == steps {
                break;
            }
            let size = self.step_size_at(step, steps);
            let mut squares = 0.0;
            let total: usize = self.particles.iter().sum();
            for (particles, target) in groups.iter_mut().zip(targets) {
                let all = target.slices().count();
                let chosen: Vec<usize> = match self.settings.slices_per_step {
                    Some(some) if some < all => sample(&mut self.public, all, some).into_vec(),
                    _ => (0..all).collect(),
                };
                let squared = particles
                    .step(target, &chosen, size, &mut self.public)
                    .map_err(Failure::run)?;
                squares += squared * particles.count() as f64 / total as f64;
            }
            distances.push((step + 1, squares));
            progress.step();
            progress.message(format!("distance {squares:.5}"));
            if self.interrupt.asked() {
                progress.finish();
                return Err(self.stopped(step + 1, steps));
            }
        }
        progress.finish();
        self.finished(&mut groups, strip, distances)
    }

    /// Particles back on the sphere, where the decoder knows its way.
    pub(super) fn finished(
        &self,
        groups: &mut [Particles],
        strip: Vec<Snapshot>,
        distances: Vec<(u64, f64)>,
    ) -> Result<Generated, Failure> {
        let sphere = Region::sphere(1.0).map_err(Failure::run)?;
        let mut rows = Vec::new();
        for particles in groups {
            particles.project_onto(sphere);
            rows.extend(particles.rows());
        }
        Ok(Generated {
            rows,
            labels: self.labels(),
            strip,
            distances,
        })
    }

    pub(super) fn stopped(&self, step: u64, steps: u64) -> Failure {
        Failure::Interrupted {
            message: format!("stopped after step {step} of {steps}"),
            help: Some(format!("go on with --resume {}", self.path().display())),
        }
    }
}
