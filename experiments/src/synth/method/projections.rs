//! At each step, as published: noisy projections, on fresh slices, of a fresh batch of rows, an image and its weighted one-hot class
//! each.

use lab::prelude::*;
use private_queries::{Projections, Query};
use swd::{FlowTarget, NormBound, Slices};

use super::super::run::Synth;
use super::super::settings::Settings;
use super::generator::{Learning, before_steps, radius, slices_of};
use super::particles::boxed;
use super::{CopyMethod, Making};
use private_synth::images::SpaceForm;

/// The radius of the ball that rows are projected onto, of images of 28 pixels a side.
const RADIUS: f64 = 10.0;

/// Table 4 of the paper has k = 1000, batches of 100 and 100 epochs of 60000 records.
pub(super) const METHOD: CopyMethod = CopyMethod {
    has_latents: false,
    defaults: "slices = 1024\nslices-per-step = 256\nsteps = 6000\nlearning-rate = 1e-3\nbatch = 100\nlabel-weight = 1.0",
    releases: |_| Vec::new(),
    points: 100,
    keeps_steps: true,
    check,
    ..CopyMethod::new(|_| "projections of a batch, at each step".into(), start)
};

/// Signs have the proved sensitivity of a tight frame.
fn check(settings: &Settings, form: &SpaceForm, classes: usize) -> Result<(), Failure> {
    let slices = settings.slices.unwrap_or_default();
    let width = form.shape.values() + classes;
    let holds = slices >= width && slices.is_power_of_two();
    let bound = format!("a power of two of at least {width} for projections");
    bounded("slices", slices, holds, &bound)
}

fn start(run: &mut Synth, _: &mut Session) -> Result<Box<dyn Making>, Failure> {
    Ok(Box::new(Learning {
        model: before_steps(run)?,
        stored: None,
    }))
}

/// The width of a row: the values of an image, and a one-hot class if it has a weight.
pub(super) fn width(run: &Synth) -> usize {
    let classes = run
        .settings
        .label_weight
        .map_or(0, |_| run.input.classes.len());
    run.shape().values() + classes
}

/// Images as targets see them: `(image, weight * one-hot class)`, or alone.
pub(super) fn rows(pixels: &[f32], labels: impl Iterator<Item = usize>, run: &Synth) -> Vec<f32> {
    let (size, width) = (run.shape().values(), width(run));
    let weight = run.settings.label_weight.unwrap_or(0.0) as f32;
    let mut rows = Vec::with_capacity(pixels.len() / size * width);
    for (image, label) in pixels.chunks_exact(size).zip(labels) {
        rows.extend_from_slice(image);
        rows.extend((0..width - size).map(|class| if class == label { weight } else { 0.0 }));
    }
    rows
}

/// The release of a step: one target, of all rows.
pub(super) fn targets(
    run: &mut Synth,
    session: &mut Session,
) -> Result<Vec<Box<dyn FlowTarget>>, Failure> {
    let count = run.settings.slices.unwrap_or(1);
    let slices =
        Slices::signs(width(run), count, &mut slices_of(run, 1 + session.step)).or_failed()?;
    let batch = run.next_batch(session)?;
    let (images, sampled) = (&run.input.images, batch.groups.concat());
    let labels = sampled.iter().filter_map(|&place| images.label(place));
    let rows = rows(&images.gather(&sampled).or_failed()?, labels, run);
    let region = NormBound::ball(radius(RADIUS, run.shape())).or_failed()?;
    let query = Projections::new(slices, region, batch.sizes());
    let measured = query.measure(&[rows]).or_failed()?;
    let noisy = batch.release(run.releaser.as_mut(), measured, &mut session.ledger)?;
    Ok(boxed(query.read(&noisy).or_failed()?))
}
