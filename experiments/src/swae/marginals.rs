//! The release of the marginals around the class moments, and the particles that are moved towards them.

use lab::diagnostic::{Failure, OrFailed};
use lab::progress::Progress;
use lab::session::Session;
use model::swae::Swae;
use private_queries::{Gaussians, GroupMarginals, MarginalQuery};
use swd::flow::StepSize;
use swd::{Particles, Region, Slices};

use super::latents::encode;
use super::plan::MARGINALS;
use super::start;
use super::train::SwaeRun;
use crate::latents::Latents;
use crate::particles::{StepSchedule, boxed, rows_in, share};
use crate::random::stream;

/// Steps of the particles, which are post-processing.
const STEPS: u64 = 600;
/// Slices of a step.
const SLICES: usize = 48;
/// The last step as a share of the first.
const LAST: f64 = 0.05;
/// Of the generator of slices and steps; others serve the training.
const STREAM: u64 = 7;

impl SwaeRun {
    /// The particles that a model is sampled by: made once, and read from the run's folder from then on.
    pub(super) fn particles(
        &mut self,
        around: &Gaussians,
        session: &mut Session,
    ) -> Result<Latents, Failure> {
        let d = self.settings.latent;
        if Latents::kept(&session.folder) {
            return Latents::read(&session.folder, d, true);
        }
        let ball = Region::ball(self.settings.clip_activation).or_failed()?;
        let mut rng = stream(self.settings.seed, STREAM);
        let classes = around.present();
        let mut queries = Vec::new();
        for &class in &classes {
            let slices = Slices::tight(d, self.settings.class_slices, &mut rng).or_failed()?;
            let (mean, factor) = around
                .gaussian(class)
                .ok_or_else(|| Failure::failed("a class has no Gaussian"))?;
            let bins = self.settings.bins;
            let query = MarginalQuery::around_gaussian(slices, ball, mean, factor, bins);
            queries.push(query.or_failed()?);
        }
        let sizes: Vec<usize> = classes
            .iter()
            .map(|&class| self.batches.class_sizes[class])
            .collect();
        let query = GroupMarginals::new(queries, sizes.clone()).or_failed()?;
        let released = session.release(self, MARGINALS, &query, |run, session| {
            let latents = run.private_latents(session)?;
            let latents: Vec<_> = classes.iter().map(|&c| latents[c].clone()).collect();
            session.measure(&query, &latents)
        })?;
        let targets = boxed(released);
        let counts = self.particle_counts(&sizes);
        let mut groups = Vec::new();
        // Of the same classes, where the weights started from such.
        let model = match start::labelled(&self.settings)? {
            true => Some(self.training.averaged().or_failed()?),
            false => None,
        };
        for (&class, &count) in classes.iter().zip(&counts) {
            let sampled = model.as_ref();
            let sampled = sampled.map(|model| synthetic_latents(model, class, count, session));
            let rows = match sampled.transpose()? {
                Some(mut sampled) => {
                    around.carry(class, &mut sampled);
                    sampled
                }
                None => around.sample(class, count, &mut rng),
            };
            groups.push(Particles::new(&rows, d).or_failed()?);
        }
        let size = StepSize {
            step: d as f64,
            diffusion: 0.0,
        };
        let schedule = StepSchedule {
            steps: STEPS,
            slices: Some(SLICES.max(d)),
            size,
            last: LAST,
        };
        let progress = Progress::new(STEPS);
        for step in 0..STEPS {
            session.interrupt.check("particles were moved")?;
            schedule.step(&mut groups, &targets, step, &mut rng)?;
            progress.step();
        }
        progress.finish();
        let labels = classes.iter().zip(&counts);
        let labels = labels.flat_map(|(&class, &count)| std::iter::repeat_n(class, count));
        let latents = Latents {
            rows: rows_in(ball, &mut groups),
            labels: Some(labels.collect()),
            dim: d,
        };
        latents.keep(&session.folder)?;
        Ok(latents)
    }

    /// Particles of classes of some sizes.
    pub(super) fn particle_counts(&self, sizes: &[usize]) -> Vec<usize> {
        let all = sizes.iter().sum();
        share(sizes, self.settings.particles.unwrap_or(all))
    }
}

/// Latents of `count` fresh synthetic records of a class.
fn synthetic_latents(
    model: &Swae,
    class: usize,
    count: usize,
    session: &Session,
) -> Result<Vec<f32>, Failure> {
    let device = &session.chosen.device;
    let mut latents = Vec::with_capacity(count * model.latent);
    for first in (0..count).step_by(500) {
        session.interrupt.check("synthetic records were encoded")?;
        let images = start::glyphs(class, first..count.min(first + 500));
        latents.extend(encode(model, images, device));
    }
    Ok(latents)
}
