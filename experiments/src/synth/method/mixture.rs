//! A mixture of private Gaussians: one of each class first, and then one of each cell that it is cut into
//! ([`private_synth::images::Mixture`]).

use lab::prelude::*;
use private_synth::images::{self, ImageMethod, Mixing};

use super::super::run::Synth;
use super::{CopyMethod, Made, Making};
use crate::in_run::InRun;

pub(super) struct Mixture;

impl CopyMethod for Mixture {
    fn flags(&self) -> &'static [&'static str] {
        &["most-per-unit", "cells"]
    }

    fn says(&self, cells: usize) -> String {
        format!("moments of {cells} cells of each class")
    }

    fn releases(&self, cells: usize) -> Vec<(&'static str, f64)> {
        Mixing::new(0, 0, cells).releases()
    }

    fn start(&self, run: &mut Synth, session: &mut Session) -> Result<Box<dyn Making>, Failure> {
        let none = || Failure::failed("the latent space is not there yet");
        let space = run.space.as_ref().ok_or_else(none)?;
        let mixture = images::Mixture::new(space).cells(run.cells);
        let private = run.input.private(&run.settings);
        let by = &mut InRun::new(session, run.releaser.as_mut());
        let fitted = mixture.fit(&private, &run.device, &mut run.rng, by)?;
        let (rows, labels) = fitted.latents.sample(run.total(), &mut run.rng);
        Ok(Box::new(Made::Latents(run.labelled(rows, || labels))))
    }
}
