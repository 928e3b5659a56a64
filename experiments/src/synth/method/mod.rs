//! How a copy of images is made: what is released of the private images, and what its samples are made by.

mod fixed;
mod generator;
mod latent_generator;
mod marginals;
mod merf;
mod mixture;
mod particles;
mod projections;
mod resampled;

use std::collections::BTreeMap;

use burn::tensor::Device;
use lab::prelude::*;
use private_synth::images::SpaceForm;
use serde::{Deserialize, Serialize};

use super::generated::Generated;
use super::run::Synth;
use super::settings::Settings;
use crate::latents::Latents;

pub(super) use marginals::{LabelPrivacy, Start};

/// How a copy is made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Method {
    /// Sample Gaussians of each class, of noisy moments that are released once.
    #[default]
    Mixture,
    /// Move particles towards noisy histograms of every slice, which are released once.
    Marginals,
    /// Move particles towards noisy projections, which are released once (DPSWflow; Sebag et al. 2023, arXiv 2312.08227).
    Fixed,
    /// Move particles towards noisy projections of a batch, which are released at each step (DPSWflow-r).
    Resampled,
    /// Train a generator of latents on noisy projections of a batch, which are released at each step (DPSWgen).
    LatentGenerator,
    /// Train a generator of images on noisy histograms of every slice, which are released once.
    Generator,
    /// Train a generator of images on noisy projections of a batch, which are released at each step (Rakotomamonjy and
    /// Ralaivola 2021, arXiv 2107.01848).
    Projections,
    /// Train a generator of images on noisy random Fourier features, which are released once (DP-MERF; Harder, Adamczewski
    /// and Park 2021, arXiv 2002.11603).
    Merf,
}

impl Method {
    pub(super) fn way(self) -> &'static dyn CopyMethod {
        match self {
            Self::Mixture => &mixture::Mixture,
            Self::Marginals => &marginals::Marginals,
            Self::Fixed => &fixed::Fixed,
            Self::Resampled => &resampled::Resampled,
            Self::LatentGenerator => &latent_generator::LatentGenerator,
            Self::Generator => &generator::Histograms,
            Self::Projections => &projections::Rows,
            Self::Merf => &merf::Merf,
        }
    }

    /// Whether each step makes a release of a batch.
    pub(super) fn has_batches(self) -> bool {
        self.way().flags().contains(&"batch")
    }
}

/// Flags of methods whose samples are decoded latents.
pub(super) const OF_LATENTS: [&str; 9] = [
    "latent",
    "encoder",
    "width",
    "public-records",
    "public-epochs",
    "particles",
    "vary-pose",
    "vary-texture",
    "vary-tone",
];
/// Other flags that not every method has.
pub(super) const OF_METHODS: [&str; 11] = [
    "most-per-unit",
    "cells",
    "labels",
    "start",
    "bins",
    "slices",
    "slices-per-step",
    "steps",
    "learning-rate",
    "batch",
    "label-weight",
];

/// The only release of a method, or its last one, by its name in the plan.
pub(super) const RELEASE: &str = "release";

/// One way of making a copy.
pub(super) trait CopyMethod: Sync {
    /// Whether its samples are decoded latents.
    fn has_latents(&self) -> bool {
        true
    }

    /// Which of [`OF_METHODS`] it has.
    fn flags(&self) -> &'static [&'static str];

    /// What these are if they are not given, as TOML.
    fn defaults(&self) -> &'static str {
        ""
    }

    /// What is released, in words.
    fn says(&self, cells: usize) -> String;

    /// The releases of all images by their names in the plan, with their shares of the budget; none if each step releases.
    fn releases(&self, _cells: usize) -> Vec<(&'static str, f64)> {
        match self.flags().contains(&"batch") {
            true => Vec::new(),
            false => vec![(RELEASE, 1.0)],
        }
    }

    /// Whether neighbours replace an image by one of its class: then the sizes of the classes are public.
    fn within_classes(&self, _: &Settings) -> bool {
        false
    }

    /// Images that a generator makes at a step, of which it normalises by all.
    fn points(&self) -> usize {
        0
    }

    /// Whether checkpoints keep its steps; otherwise a run resumes from what it has released.
    fn keeps_steps(&self) -> bool {
        self.releases(1).is_empty()
    }

    /// Refuses settings that do not go together for images of this number of classes.
    fn check(&self, settings: &Settings, form: &SpaceForm, _classes: usize) -> Result<(), Failure> {
        match self.has_latents() && self.flags().contains(&"slices") {
            true => check_slices(settings, form.latent),
            false => Ok(()),
        }
    }

    /// Makes the releases of all images, and what comes before the first step.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] if the ledger cannot be written; nothing has left then.
    fn start(&self, run: &mut Synth, session: &mut Session) -> Result<Box<dyn Making>, Failure>;
}

/// A copy in the making.
pub(super) trait Making {
    /// Takes a step; gives the mean squared distance to what was released.
    ///
    /// # Errors
    ///
    /// As [`CopyMethod::start`].
    fn step(&mut self, _: &mut Synth, _: &mut Session) -> Result<f64, Failure> {
        Ok(0.0)
    }

    /// What a checkpoint keeps of it.
    fn files(&self) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        Ok(BTreeMap::new())
    }

    /// Takes the place of what a checkpoint holds.
    fn restore(&mut self, _: &RestoredCheckpoint, _: &Device) -> Result<(), Failure> {
        Ok(())
    }

    /// What the steps have made.
    fn made(self: Box<Self>, run: &Synth) -> Result<Made, Failure>;
}

/// What samples are made of.
pub(super) enum Made {
    Latents(Latents),
    Generated(Box<Generated>),
}

impl Making for Made {
    fn made(self: Box<Self>, _: &Synth) -> Result<Made, Failure> {
        Ok(*self)
    }
}

/// Refuses slices that are no tight frame in the latent space, and slices of a step that no release has.
fn check_slices(settings: &Settings, latent: usize) -> Result<(), Failure> {
    let slices = settings.slices.unwrap_or_default();
    let bound = format!("at least the latent dimension, {latent}, for a tight frame");
    bounded("slices", slices, slices >= latent, &bound)
}
