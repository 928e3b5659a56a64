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
use swd::{NormBound, Particles};

use super::super::run::Synth;
use super::particles::{anywhere, latents, towards};
use super::{Begin, CopyMethod, Made, Making};

const PARTICLES: &str = "particles.bin";

pub(super) const METHOD: CopyMethod = CopyMethod {
    defaults: "latent = 8\nslices = 70\nbatch = 250\nlearning-rate = 1.0",
    ..at_each_step(|_| "projections of a batch, at each step".into(), start)
};

/// A method that releases a batch of latents at each step.
pub(super) const fn at_each_step(says: fn(usize) -> String, start: Begin) -> CopyMethod {
    CopyMethod {
        optional: &["steps"],
        releases: |_| Vec::new(),
        within_classes: |_| true,
        keeps_steps: true,
        ..CopyMethod::new(says, start)
    }
}

fn start(run: &mut Synth, session: &mut Session) -> Result<Box<dyn Making>, Failure> {
    run.encode(true, session)?;
    Ok(Box::new(Moving(anywhere(run)?)))
}

/// Particles of each group.
struct Moving(Vec<Particles>);

impl Making for Moving {
    fn step(&mut self, run: &mut Synth, session: &mut Session) -> Result<f64, Failure> {
        let targets = fresh_release(run, session)?;
        towards(&mut self.0, &targets, 1.0, run)
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
    let sphere = NormBound::sphere(1.0).or_failed()?;
    let slices = run.frame()?;
    let batch = run.next_batch(session)?;
    let (d, mut groups) = (run.form.latent, Vec::new());
    let whole = run.latents.whole();
    let whole = whole.ok_or_else(|| Failure::failed("not all latents are in memory"))?;
    // Groups stand one behind the other.
    let mut offset = 0;
    for (latents, indices) in whole.iter().zip(&batch.groups) {
        let rows = indices
            .iter()
            .flat_map(|i| &latents[(i - offset) * d..][..d]);
        let rows: Vec<f32> = rows.copied().collect();
        offset += latents.len() / d;
        groups.push(rows);
    }
    let query = Projections::new(slices, sphere, batch.sizes());
    let measured = query.measure(&groups).or_failed()?;
    let noisy = batch.release(run.releaser.as_mut(), measured, &mut session.ledger)?;
    query.read(&noisy).or_failed()
}
