//! A mixture of private Gaussians: one of each class first, and then one of each cell that it is cut into.

use lab::diagnostic::Failure;
use lab::session::Session;
use private_synth::images::Mixing;

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
        // Frequencies of colours are alike in all classes, and nearly uncorrelated.
        let alike = run.shape().channels > 1;
        let mixing = Mixing::new(run.latents.groups(), run.form.latent, run.cells)
            .of_units(run.most)
            .pooled(alike);
        let by = &mut InRun::new(session, run.releaser.as_mut());
        let mixed = mixing.release(&run.latents, &mut run.rng, by)?;
        let (rows, labels) = mixed.sample(run.total(), &mut run.rng);
        Ok(Box::new(Made::Latents(run.labelled(rows, || labels))))
    }
}
