//! Samples of a finished run to take away, from what its folder keeps: weights, released values, settings.
//!
//! Nothing here can read a private record: a [`Sampler`] is made of a run's folder alone, at the end of the run as at
//! any time after it.

mod card;
mod destination;
mod request;
mod source;

use std::collections::BTreeMap;

use data::export::ImageWriter;
use lab::backend::Backend;
use lab::prelude::*;
use rand_chacha::ChaCha20Rng;

use crate::pictures::channels_last;
use crate::random::stream;

pub(crate) use request::{Arguments, run};
pub use request::{ExportFlags, ExportRequest};
pub use source::{CopyOf, Source, bytes, damaged};

pub(crate) use card::{Card, Contents, Loading};
pub(crate) use destination::Destination;

/// Samples that are made and written at once. Always so many, so that the first samples are the same however many
/// follow.
const PART: usize = 200;
/// Of the generator of exported samples; others serve the run.
const STREAM: u64 = 64;

/// Samples, in an order that has no meaning.
pub struct Samples {
    /// `[n, channels, side, side]` in rows, values in `[0, 1]`.
    pub pixels: Vec<f32>,
    /// The class of each, if there are classes.
    pub labels: Option<Vec<usize>>,
}

impl Samples {
    /// Samples that stand class after class, class by class in turn instead: so any first ones have the classes in
    /// equal parts.
    pub fn in_turn(pixels: &[f32], labels: &[usize]) -> Self {
        let size = pixels.len() / labels.len().max(1);
        let mut seen = vec![0_usize; labels.iter().max().map_or(0, |&most| most + 1)];
        let mut order: Vec<(usize, usize, usize)> = Vec::with_capacity(labels.len());
        for (place, &label) in labels.iter().enumerate() {
            order.push((seen[label], label, place));
            seen[label] += 1;
        }
        order.sort_unstable();
        let images = order
            .iter()
            .map(|&(_, _, place)| &pixels[place * size..][..size]);
        Self {
            pixels: images.flatten().copied().collect(),
            labels: Some(order.iter().map(|&(_, label, _)| label).collect()),
        }
    }
}

/// What samples come from once a run is done.
pub trait Sampler {
    /// At least `count` samples more; fewer if there are no more.
    fn sample(&mut self, count: usize, rng: &mut ChaCha20Rng) -> Result<Samples, Failure>;

    /// How many there are; none if there is no end of them.
    fn most(&self) -> Option<usize> {
        None
    }
}

/// Writes samples of the finished run in `folder` to a new folder `to`.
///
/// # Errors
///
/// [`Failure::BadInput`] for a run that is not finished, keeps too little or whose ledger lost releases, for a count
/// that it does not have, and for a folder that exists or has no room: nothing is written. [`Failure::Failed`] and
/// [`Failure::Interrupted`] leave nothing behind either.
pub fn export(
    folder: &RunFolder,
    to: &std::path::Path,
    request: &ExportRequest,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let record = RunRecord::read(folder.path())?;
    let Some(run) = &record.run else {
        let run = folder.path().display();
        return Err(Failure::input(
            format!("the run in {run} is not finished"),
            format!("resume it with --resume {run}"),
        ));
    };
    lab::resume::ledger(folder, run.plan.is_some(), [])?;
    if run.settings.get("kind").and_then(serde_json::Value::as_str) == Some("table") {
        return crate::synth::export_table(folder, to, request, interrupt);
    }
    let source = Source::read(folder)?;
    // On the host, whatever the run computed on: the same samples on every machine of its kind.
    let device = Backend::Flex.choose()?.device;
    let mut sampler: Box<dyn Sampler> = match run.experiment.as_str() {
        "swae" => Box::new(crate::swae::sampler(folder, &source, &device)?),
        "synth" => crate::synth::sampler(folder, &source, &device)?,
        other => {
            return Err(Failure::input(
                format!(
                    "{}: a run of {other} has no samples",
                    folder.path().display()
                ),
                "name a run of synth or swae; those of subcommands that are gone are exported by the program that made them",
            ));
        }
    };
    let asked = match &source.copy {
        Some(copy) => request.or(copy.count, &copy.formats),
        None => request.clone(),
    };
    let mut layout = asked.layout(source.shape, source.labelled, sampler.most())?;
    if let Some(copy) = &source.copy {
        layout.classes.clone_from(&copy.classes);
        layout.arrays.clone_from(&copy.arrays);
    }
    let seed = request
        .sample_seed
        .or_else(|| run.settings.get("seed")?.as_u64());
    let contents = Contents::images(&layout, &source, &record.title());
    let card = Card::new(&record, folder, contents, seed.unwrap_or(0))?;
    let place = Destination::new(to, request.force, layout.bytes_upper())?;
    let mut writer = ImageWriter::create(place.path(), &layout).or_failed()?;
    let mut rng = stream(seed.unwrap_or(0), STREAM);
    let progress = Progress::new("parts of the copy", layout.count.div_ceil(PART) as u64);
    let (mut done, mut classes) = (0, BTreeMap::new());
    while done < layout.count {
        interrupt.check("samples were exported")?;
        let samples = sampler.sample(PART, &mut rng)?;
        let pixels = channels_last(&samples.pixels, source.shape);
        let made = pixels.len() / layout.image_bytes();
        if made == 0 {
            return Err(Failure::failed(format!("{done} samples, and no more")));
        }
        let here = made.min(layout.count - done);
        let byte = |p: &f32| (p.clamp(0.0, 1.0) * 255.0).round() as u8;
        let pixels: Vec<u8> = pixels[..here * layout.image_bytes()]
            .iter()
            .map(byte)
            .collect();
        let labels = samples.labels.unwrap_or_default().into_iter();
        let labels: Vec<u8> = labels.take(here).map(|label| label as u8).collect();
        writer.append(&pixels, &labels).or_failed()?;
        for &label in &labels {
            *classes.entry(label).or_default() += 1;
        }
        done += here;
        progress.step();
    }
    progress.finish();
    let files = writer.finish().or_failed()?;
    let classes = layout.labels.then_some(&classes);
    card.finish(place, &files, classes, &format!("{done} samples"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_take_turns() {
        let pixels: Vec<f32> = (0..10).map(|i| i as f32).collect();
        let samples = Samples::in_turn(&pixels, &[0, 0, 0, 4, 4]);
        assert_eq!(samples.labels.unwrap(), [0, 4, 0, 4, 0]);
        assert_eq!(samples.pixels, [0., 1., 6., 7., 2., 3., 8., 9., 4., 5.]);
        assert!(Samples::in_turn(&[], &[]).pixels.is_empty());
    }
}
