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
use super::samples::Latents;
use super::settings::Settings;

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
    pub(super) fn way(self) -> &'static CopyMethod {
        match self {
            Self::Mixture => &mixture::METHOD,
            Self::Marginals => &marginals::METHOD,
            Self::Fixed => &fixed::METHOD,
            Self::Resampled => &resampled::METHOD,
            Self::LatentGenerator => &latent_generator::METHOD,
            Self::Generator => &generator::METHOD,
            Self::Projections => &projections::METHOD,
            Self::Merf => &merf::METHOD,
        }
    }

    /// Whether each step makes a release of a batch.
    pub(super) fn has_batches(self) -> bool {
        self.way().has("batch")
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

/// Makes the releases of all images, and what comes before the first step; fails if the ledger cannot be written: nothing has left
/// then.
type Begin = fn(&mut Synth, &mut Session) -> Result<Box<dyn Making>, Failure>;

/// One way of making a copy.
pub(super) struct CopyMethod {
    /// Whether its samples are decoded latents.
    pub has_latents: bool,
    /// Flags of [`OF_METHODS`] that it has without a default.
    optional: &'static [&'static str],
    /// Flags that it has with a default, as TOML.
    pub defaults: &'static str,
    /// What is released, in words, of this number of cells.
    pub says: fn(usize) -> String,
    /// The releases of all images by their names in the plan, with their shares of the budget; none if each step releases.
    pub releases: fn(usize) -> Vec<(&'static str, f64)>,
    /// Whether neighbours replace an image by one of its class: then the sizes of the classes are public.
    pub within_classes: fn(&Settings) -> bool,
    /// Images that a generator makes at a step, of which it normalises by all.
    pub points: usize,
    /// Whether checkpoints keep its steps; otherwise a run resumes from what it has released.
    pub keeps_steps: bool,
    /// Refuses settings that do not go together for images of this number of classes.
    check: fn(&Settings, &SpaceForm, usize) -> Result<(), Failure>,
    pub start: Begin,
}

impl CopyMethod {
    /// One that makes samples by latents and releases once, if nothing else is said.
    const fn new(says: fn(usize) -> String, start: Begin) -> Self {
        Self {
            has_latents: true,
            optional: &[],
            defaults: "",
            says,
            releases: |_| vec![(RELEASE, 1.0)],
            within_classes: |_| false,
            points: 0,
            keeps_steps: false,
            check: |_, _, _| Ok(()),
            start,
        }
    }

    /// Whether it has this one of [`OF_METHODS`].
    pub(super) fn has(&self, flag: &str) -> bool {
        let mut defaults = self.defaults.lines();
        self.optional.contains(&flag) || defaults.any(|line| line.split(' ').next() == Some(flag))
    }

    /// Refuses settings that do not go together for images of this number of classes.
    pub(super) fn check(
        &self,
        settings: &Settings,
        form: &SpaceForm,
        classes: usize,
    ) -> Result<(), Failure> {
        (self.check)(settings, form, classes)?;
        let (latent, slices) = (form.latent, settings.slices.unwrap_or_default());
        let holds = !self.has_latents || !self.has("slices") || slices >= latent;
        let bound = format!("at least the latent dimension, {latent}, for a tight frame");
        bounded("slices", slices, holds, &bound)
    }
}

/// A copy in the making.
pub(super) trait Making {
    /// Takes a step; gives the mean squared distance to what was released. Fails as [`CopyMethod::start`] does.
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
