//! DP-MERF: a generator learns from released random Fourier features ([`private_synth::images::Merf`]).

use lab::prelude::*;
use private_synth::images::{self, ImageMethod};

use super::super::generated::Generated;
use super::super::run::Synth;
use super::{CopyMethod, Made, Making};
use crate::in_run::InRun;

pub(super) struct Merf;

impl CopyMethod for Merf {
    fn has_latents(&self) -> bool {
        false
    }

    fn flags(&self) -> &'static [&'static str] {
        &["most-per-unit"]
    }

    fn says(&self, _: usize) -> String {
        format!(
            "{} random Fourier features of each class (DP-MERF)",
            2 * images::Merf::FREQUENCIES
        )
    }

    fn releases(&self, _: usize) -> Vec<(&'static str, f64)> {
        vec![(images::Merf::RELEASE, 1.0)]
    }

    fn points(&self) -> usize {
        images::Merf::BATCH
    }

    fn start(&self, run: &mut Synth, session: &mut Session) -> Result<Box<dyn Making>, Failure> {
        let private = run.input.private(&run.settings);
        let merf = images::Merf {
            labelled: !run.input.classes.is_empty(),
        };
        let by = &mut InRun::new(session, run.releaser.as_mut());
        let learned = merf.fit(&private, &run.device, &mut run.rng, by)?;
        let generated = Box::new(Generated::new(learned, run));
        Ok(Box::new(Made::Generated(generated)))
    }
}
