//! The records of both domains: public images with labels, and private ones without.

use data::{Dataset, DatasetKind, LoadOptions, Records};
use rayon::prelude::*;

use super::Failed;
use super::images::Warp;
use super::run::Settings;

/// Public images with labels.
#[derive(Clone)]
pub(super) struct Labelled {
    /// `[n, side * side]` in rows.
    pub rows: Vec<f32>,
    pub labels: Vec<usize>,
}

pub(super) struct Domains {
    /// Public.
    pub source: Labelled,
    /// Private, in rows. Their labels stay behind: no step can read them.
    pub target: Vec<f32>,
    /// Public records of the target, which judge the run and nothing else.
    pub test: Labelled,
    /// Pixels along a side.
    pub side: usize,
    pub classes: usize,
}

impl Domains {
    pub(super) fn load(settings: &Settings) -> Result<Self, Failed> {
        let [source, target]: [DatasetKind; 2] =
            [settings.source.parse()?, settings.target.parse()?];
        if source == target {
            return Err(format!(
                "source {source}, target {target}: private records and public ones must be different, name two data sets"
            )
            .into());
        }
        let load = |kind, train| {
            let options = LoadOptions {
                seed: settings.seed,
                train,
                // Glyphs are drawn: as many as are looked at.
                test: (kind == DatasetKind::Glyphs).then_some(2000),
                ..LoadOptions::default()
            };
            Dataset::load(kind, &options)
        };
        let (source, target) = (load(source, None)?, load(target, settings.records)?);
        Self::of(&source.train, &target, settings.upright)
    }

    /// Of public images, and of a data set whose training images are private.
    pub(super) fn of(source: &Records, target: &Dataset, upright: bool) -> Result<Self, Failed> {
        Ok(Self {
            source: labelled(source, upright)?,
            target: rows(&target.train, upright)?,
            test: labelled(&target.test, upright)?,
            side: source.width(),
            classes: source.classes(),
        })
    }

    pub(super) fn width(&self) -> usize {
        self.side * self.side
    }

    /// The number of private records.
    pub(super) fn records(&self) -> usize {
        self.target.len() / self.width()
    }
}

/// Some rows of `width` values, one after the other.
pub(super) fn gather(rows: &[f32], width: usize, indices: &[usize]) -> Vec<f32> {
    let rows = indices.iter().map(|i| &rows[i * width..(i + 1) * width]);
    rows.collect::<Vec<_>>().concat()
}

fn labelled(images: &Records, upright: bool) -> Result<Labelled, Failed> {
    Ok(Labelled {
        rows: rows(images, upright)?,
        labels: images.labels().iter().map(|&label| label.into()).collect(),
    })
}

/// Each image by itself, so that it costs no privacy.
fn rows(images: &Records, upright: bool) -> Result<Vec<f32>, Failed> {
    let side = images.width();
    let pixels = images.pixels()?;
    let rows = pixels.par_chunks(side * side);
    let rows = rows.flat_map_iter(|image| {
        let grey: Vec<f32> = image.iter().map(|&v| f32::from(v) / 255.0).collect();
        match upright {
            true => Warp::UPRIGHT.of(&grey, side),
            false => grey,
        }
    });
    Ok(rows.collect())
}
