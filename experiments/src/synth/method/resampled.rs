//! DPSWflow-r (Sebag et al. 2023, algorithm 1 and appendix C.5): a fresh batch, fresh slices and a fresh release at each step.
//!
//! The rows of a batch lie in the order of the records, and the amplification by sampling that the accountant counts on is for their
//! set: no noisy row may leave beside its place. [`NoisyProjections::from_released`] sorts the values of each slice before anything
//! uses them, and neither a checkpoint nor a file of the run holds a release.

use std::collections::BTreeMap;

use burn::tensor::Device;
use lab::prelude::*;
use private_queries::{Projections, Query};
use swd::smoothed::NoisyProjections;
use swd::{Particles, Region};

use super::super::run::Synth;
use super::super::settings::Settings;
use super::particles::{anywhere, latents, share, step_size};
use super::{CopyMethod, Made, Making};

/// The flags of methods that release at each step in a latent space.
pub(super) const FLAGS: &[&str] = &["slices", "steps", "learning-rate", "batch"];

const PARTICLES: &str = "particles.bin";

pub(super) struct Resampled;

impl CopyMethod for Resampled {
    fn flags(&self) -> &'static [&'static str] {
        FLAGS
    }

    fn defaults(&self) -> &'static str {
        "latent = 8\nslices = 70\nbatch = 250\nlearning-rate = 1.0"
    }

    fn says(&self, _: usize) -> String {
        "projections of a batch, at each step".into()
    }

    fn within_classes(&self, _: &Settings) -> bool {
        true
    }

    fn start(&self, run: &mut Synth, session: &mut Session) -> Result<Box<dyn Making>, Failure> {
        run.encode(true, session)?;
        let counts = share(&run.sizes, run.total());
        Ok(Box::new(Moving(anywhere(&counts, run)?)))
    }
}

/// Particles of each group.
struct Moving(Vec<Particles>);

impl Making for Moving {
    fn step(&mut self, run: &mut Synth, session: &mut Session) -> Result<f64, Failure> {
        let targets = fresh_release(run, session)?;
        let size = step_size(run.settings.learning_rate.unwrap_or(1.0));
        let total: usize = self.0.iter().map(Particles::count).sum();
        let mut squares = 0.0;
        for (particles, target) in self.0.iter_mut().zip(&targets) {
            let all: Vec<usize> = (0..target.slices().count()).collect();
            let squared = particles.step(target, &all, size, &mut run.rng);
            squares += squared.or_failed()? * particles.count() as f64 / total as f64;
        }
        Ok(squares)
    }

    fn files(&self) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let rows: Vec<f32> = self.0.iter().flat_map(Particles::rows).collect();
        Ok(BTreeMap::from([(PARTICLES.into(), floats_to_bytes(&rows))]))
    }

    fn restore(&mut self, checkpoint: &RestoredCheckpoint, _: &Device) -> Result<(), Failure> {
        let rows = floats_of_bytes(checkpoint.file(PARTICLES)?);
        let mut rest = &rows[..];
        for particles in &mut self.0 {
            let (n, d) = (particles.count(), particles.dim());
            let few = || checkpoint.damaged(&"it has too few particles");
            let (here, after) = rest.split_at_checked(n * d).ok_or_else(few)?;
            *particles = Particles::new(here, d).or_failed()?;
            rest = after;
        }
        Ok(())
    }

    fn made(self: Box<Self>, run: &Synth) -> Result<Made, Failure> {
        latents(self.0, run).map(Made::Latents)
    }
}

/// The noisy projections of a fresh batch of each group, in fresh slices, without the order of rows.
pub(super) fn fresh_release(
    run: &mut Synth,
    session: &mut Session,
) -> Result<Vec<NoisyProjections>, Failure> {
    let sphere = Region::sphere(1.0).or_failed()?;
    let slices = run.frame()?;
    let (sampler, rng) = (&run.sampler, &mut run.batches);
    let sample = || sampler.sample(session.step + 1, rng);
    let batch = SampledBatch::next(run.releaser.as_mut(), sample)?;
    let (d, mut groups) = (run.form.latent, Vec::new());
    let whole = run.latents.whole();
    let whole = whole.ok_or_else(|| Failure::failed("not all latents are in memory"))?;
    // Groups stand one behind the other.
    let mut offset = 0;
    for (latents, indices) in whole.iter().zip(&batch.groups) {
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
    let noisy = batch.release(run.releaser.as_mut(), measured, &mut session.ledger)?;
    query.read(&noisy).or_failed()
}
