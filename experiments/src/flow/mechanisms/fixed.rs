//! DPSWflow (Sebag et al. 2023, algorithm 2): one release of all projections, stored; then any number of steps.

use lab::diagnostic::{Failure, OrFailed};
use lab::session::{Ends, Session};
use private_queries::Projections;
use swd::Region;

use private_synth::images::Signal;

use super::super::run::Flow;
use super::super::shared;
use super::marginals::once;
use super::{Moved, ReleaseMethod};
use super::{check_slices, check_slices_per_step, step_size};
use crate::particles::{StepSchedule, boxed};

lab::settings! {
    /// Settings of the flow towards one stored release.
    common { steps: u64, slices: usize }
    flags {
        /// h: the step size of the flow.
        #[bound(positive)]
        learning_rate: f64,
        /// The share of the learning rate that is left at the last step; it falls along a line.
        #[bound(within(0.0, 1.0, Ends::LAST))]
        final_rate: f64,
        /// Lambda: the diffusion of the flow.
        #[bound(must_be("at least 0 and finite", |d: f64| d >= 0.0 && d.is_finite()))]
        diffusion: f64,
    }
    optional {
        /// Slices of one flow step, out of those released.
        slices_per_step: usize,
    }
}

impl ReleaseMethod for Settings {
    const NAME: &'static str = "fixed";
    const ABOUT: &'static str =
        "Move particles towards noisy projections, which are released once (DPSWflow)";
    const PRESET: &'static str = include_str!("../../../../assets/flow/fixed.toml");
    const PHOTOGRAPHS: &'static str = "slices = 250\nslices-per-step = 220\nsteps = 2000";

    fn fill(&mut self, flags: &Flags, _: &shared::Settings, _: Signal) {
        // The preset's; a flag of one's own is checked.
        if flags.slices_per_step.is_none() {
            self.slices_per_step = self.slices_per_step.map(|some| some.min(self.slices));
        }
    }

    fn check(&self, shared: &shared::Settings) -> Result<(), Failure> {
        check_slices(self.slices, shared.latent)?;
        check_slices_per_step(self.slices_per_step, self.slices)
    }

    fn steps(&self, _: usize) -> u64 {
        self.steps
    }

    fn start(&self, flow: &mut Flow, session: &mut Session) -> Result<Moved, Failure> {
        let sphere = Region::sphere(1.0).or_failed()?;
        let slices = flow.slices(self.slices)?;
        let query = Projections::new(slices, sphere, flow.groups.sizes());
        let targets = boxed(once(flow, session, &query)?);
        let schedule = StepSchedule {
            steps: self.steps,
            slices: self.slices_per_step,
            size: step_size(self.learning_rate, self.diffusion),
            last: self.final_rate,
        };
        Ok(Moved::Stored(
            flow.first_particles(None)?,
            targets,
            schedule,
        ))
    }
}
