//! DPSWflow (Sebag et al. 2023, algorithm 2 and appendix C.5): one release of all projections, stored; then any number of steps.

use lab::prelude::*;
use private_queries::Projections;
use swd::Region;

use super::super::run::Synth;
use super::super::settings::Settings;
use super::particles::{Stored, anywhere, boxed, share};
use super::{CopyMethod, Making, RELEASE};

pub(super) struct Fixed;

impl CopyMethod for Fixed {
    fn flags(&self) -> &'static [&'static str] {
        &["slices", "slices-per-step", "steps", "learning-rate"]
    }

    /// 32 slices, four bases of 8, where the paper has 31.
    fn defaults(&self) -> &'static str {
        "latent = 8\nslices = 32\nslices-per-step = 25\nsteps = 1500\nlearning-rate = 1.0"
    }

    fn says(&self, _: usize) -> String {
        "projections of all images, once".into()
    }

    fn within_classes(&self, _: &Settings) -> bool {
        true
    }

    fn start(&self, run: &mut Synth, session: &mut Session) -> Result<Box<dyn Making>, Failure> {
        run.encode(true, session)?;
        let sphere = Region::sphere(1.0).or_failed()?;
        let slices = run.frame()?;
        let query = Projections::new(slices, sphere, run.sizes.clone());
        let targets = boxed(run.release_latents(RELEASE, &query, session)?);
        let counts = share(&run.sizes, run.total());
        Ok(Box::new(Stored {
            particles: anywhere(&counts, run)?,
            targets,
            last: 1.0,
        }))
    }
}
