//! DPSWflow (Sebag et al. 2023, algorithm 2 and appendix C.5): one release of all projections, stored; then any number of steps.

use lab::prelude::*;
use private_queries::Projections;
use swd::NormBound;

use super::super::run::Synth;
use super::particles::{Stored, anywhere, boxed};
use super::{CopyMethod, Making, RELEASE};

/// 32 slices, four bases of 8; the paper has 31.
pub(super) const METHOD: CopyMethod = CopyMethod {
    defaults: "latent = 8\nslices = 32\nslices-per-step = 25\nsteps = 1500\nlearning-rate = 1.0",
    within_classes: |_| true,
    ..CopyMethod::new(|_| "projections of all images, once".into(), start)
};

fn start(run: &mut Synth, session: &mut Session) -> Result<Box<dyn Making>, Failure> {
    run.encode(true, session)?;
    let sphere = NormBound::sphere(1.0).or_failed()?;
    let slices = run.frame()?;
    let query = Projections::new(slices, sphere, run.sizes.clone());
    let targets = boxed(run.release_latents(RELEASE, &query, session)?);
    Ok(Box::new(Stored {
        particles: anywhere(run)?,
        targets,
        last: 1.0,
    }))
}
