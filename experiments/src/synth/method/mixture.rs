//! A mixture of private Gaussians: one of each class first, and then one of each cell that it is cut into
//! ([`private_synth::images::Mixture`]).

use lab::prelude::*;
use private_synth::images::{ImageMethod, Mixing, Mixture};

use super::super::input;
use super::super::run::Synth;
use super::{CopyMethod, Made, Making};
use crate::in_run::InRun;

pub(super) const METHOD: CopyMethod = CopyMethod {
    optional: &["most-per-unit", "cells"],
    releases: |cells| Mixing::new(0, 0, cells).releases(),
    ..CopyMethod::new(
        |cells| format!("moments of {cells} cells of each class"),
        start,
    )
};

fn start(run: &mut Synth, session: &mut Session) -> Result<Box<dyn Making>, Failure> {
    let none = || Failure::failed("the latent space is not there yet");
    let space = run.space.as_ref().ok_or_else(none)?;
    let mixture = Mixture::new(space).cells(run.cells);
    let private = input::private(&run.input, &run.settings);
    let by = &mut InRun::new(session, run.releaser.as_mut());
    let fitted = mixture.fit(&private, &run.device, &mut run.rng, by)?;
    let (rows, labels) = fitted.latents.sample(run.total(), &mut run.rng);
    Ok(Box::new(Made::Latents(run.labelled(rows, || labels))))
}
