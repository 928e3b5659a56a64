//! DP-MERF: a generator learns from released random Fourier features ([`private_synth::images::Merf`]).

use lab::prelude::*;
use private_synth::images::{ImageMethod, Merf};

use super::super::generated::Generated;
use super::super::input;
use super::super::run::Synth;
use super::{CopyMethod, Made, Making};
use crate::in_run::InRun;

pub(super) const METHOD: CopyMethod = CopyMethod {
    has_latents: false,
    optional: &["most-per-unit"],
    releases: |_| vec![(Merf::RELEASE, 1.0)],
    points: Merf::BATCH,
    ..CopyMethod::new(says, start)
};

fn says(_: usize) -> String {
    let features = 2 * Merf::FREQUENCIES;
    format!("{features} random Fourier features of each class (DP-MERF)")
}

fn start(run: &mut Synth, session: &mut Session) -> Result<Box<dyn Making>, Failure> {
    let private = input::private(&run.input, &run.settings);
    let merf = Merf {
        labelled: !run.input.classes.is_empty(),
    };
    let by = &mut InRun::new(session, run.releaser.as_mut());
    let learned = merf.fit(&private, &run.device, &mut run.rng, by)?;
    let generated = Box::new(Generated::new(learned, run));
    Ok(Box::new(Made::Generated(generated)))
}
