//! The release of the marginals around the class moments, and the particles that are moved towards them.

use lab::diagnostic::Failure;
use lab::progress::Progress;
use lab::session::{Released, Session};
use model::swae::{ClassLatents, Swae as Network};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::flow::StepSize;
use swd::marginals::{Cleaning, MarginalQuery};
use swd::{Particles, Region, Slices};

use super::latents::encode;
use super::plan::MARGINALS;
use super::start;
use super::train::Swae;
use crate::latents::Latents;
use crate::particles::{StepSchedule, Target, rows_in, share};
use crate::release::{Values, release_and_store, stored};

/// Steps of the particles, which are post-processing.
const STEPS: u64 = 600;
/// Slices of a step.
const SLICES: usize = 48;
/// The last step as a share of the first.
const LAST: f64 = 0.05;
/// Of the generator of slices and steps; others serve the training.
const STREAM: u64 = 7;

impl Swae {
    /// The particles that a model is sampled by: made once, and read from the run's folder from then on.
    pub(super) fn particles(
        &mut self,
        around: &ClassLatents,
        session: &mut Session,
    ) -> Result<Latents, Failure> {
        let d = self.settings.latent;
        if Latents::kept(&session.folder) {
            return Latents::read(&session.folder, d, true);
        }
        let ball = Region::ball(self.settings.clip_activation).map_err(Failure::failed)?;
        let mut rng = ChaCha20Rng::seed_from_u64(self.settings.seed);
        rng.set_stream(STREAM);
        let classes = around.present();
        let mut queries = Vec::new();
        for &class in &classes {
            let slices = Slices::tight(d, self.settings.class_slices, &mut rng);
            let slices = slices.map_err(Failure::failed)?;
            let (mean, factor) = around
                .gaussian(class)
                .ok_or_else(|| Failure::failed("a class has no Gaussian"))?;
            let bins = self.settings.bins;
            let query = MarginalQuery::around_gaussian(slices, ball, mean, factor, bins);
            queries.push(query.map_err(Failure::failed)?);
        }
        let released = self.marginals(&classes, &queries, session)?;
        let sizes: Vec<usize> = classes
            .iter()
            .map(|&class| self.batches.class_sizes[class])
            .collect();
        let mut targets = Vec::new();
        for ((query, values), &size) in queries.iter().zip(&released.groups).zip(&sizes) {
            let cleaning = Cleaning::towards_expected();
            let target = query.clean(values, size, released.deviation, cleaning);
            targets.push(Box::new(target.map_err(Failure::failed)?) as Target);
        }
        let counts = self.particle_counts(&sizes);
        let mut groups = Vec::new();
        // Of the same classes, where the weights started from such.
        let model = match start::labelled(&self.settings)? {
            true => Some(self.training.averaged().map_err(Failure::failed)?),
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
            groups.push(Particles::new(&rows, d).map_err(Failure::failed)?);
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

    /// The marginals of all private records' latents, released once.
    fn marginals(
        &mut self,
        classes: &[usize],
        queries: &[MarginalQuery],
        session: &mut Session,
    ) -> Result<Released, Failure> {
        if let Some(released) = stored(self.training.releaser(), MARGINALS, session)? {
            return Ok(released);
        }
        let latents = self.private_latents(session)?;
        let latents: Vec<&[f32]> = classes.iter().map(|&class| &latents[class][..]).collect();
        let values = counted(queries, &latents)?;
        let releaser = self.training.releaser();
        release_and_store(releaser, MARGINALS, &values, None, session)
    }
}

/// Latents of `count` fresh synthetic records of a class.
fn synthetic_latents(
    model: &Network,
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

/// The counts of the latents of each class, before noise. A record is replaced within its class, so the sensitivity is
/// that of one class.
fn counted(queries: &[MarginalQuery], latents: &[&[f32]]) -> Result<Values, Failure> {
    let counted = queries.iter().zip(latents);
    let counted: Result<Vec<_>, _> = counted.map(|(query, rows)| query.measure(rows)).collect();
    Ok(Values::of(&counted.map_err(Failure::failed)?))
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;

    const D: usize = 3;

    fn row(rng: &mut ChaCha20Rng) -> [f32; D] {
        let far: f32 = [0.2, 1.0, 40.0][rng.random_range(0..3)];
        std::array::from_fn(|_| far * rng.random_range(-1.0..1.0_f32))
    }

    /// Two data sets of two classes that differ in one record, of any latent: the values of both classes together move
    /// by at most what is declared, and nearly as much.
    #[test]
    fn neighbours_within_a_class_stay_within_the_declared_sensitivity() {
        let mut rng = ChaCha20Rng::seed_from_u64(11);
        let ball = Region::ball(1.5).unwrap();
        let factor: [f64; 9] = [0.5, 0.0, 0.0, 0.1, 0.4, 0.0, 0.0, 0.0, 0.3];
        let mut query = || {
            let slices = Slices::tight(D, 6, &mut rng).unwrap();
            MarginalQuery::around_gaussian(slices, ball, &[0.2, 0.0, -0.1], &factor, 8).unwrap()
        };
        let queries = [query(), query()];
        let mut largest = 0.0_f64;
        for trial in 0..600 {
            let mut classes: [Vec<f32>; 2] =
                std::array::from_fn(|_| (0..5).flat_map(|_| row(&mut rng)).collect());
            let measure = |classes: &[Vec<f32>; 2]| {
                let latents: Vec<&[f32]> = classes.iter().map(Vec::as_slice).collect();
                counted(&queries, &latents).unwrap()
            };
            let one = measure(&classes);
            let (class, place) = (rng.random_range(0..2), D * rng.random_range(0..5));
            for x in &mut classes[class][place..place + D] {
                *x = match trial % 3 {
                    0 => -*x,
                    1 => f32::NAN,
                    _ => rng.random_range(-9.0..9.0),
                };
            }
            let two = measure(&classes);
            assert_eq!(one.declared(), two.declared());
            largest = largest.max(one.distance(&two));
            assert!(largest <= one.declared());
        }
        let declared = counted(&queries, &[&[0.0; D], &[0.0; D]])
            .unwrap()
            .declared();
        assert!(
            largest > 0.8 * declared,
            "only {largest} of {declared} was tried"
        );
    }
}
