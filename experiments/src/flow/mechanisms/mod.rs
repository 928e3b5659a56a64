//! The mechanisms, each with its settings: from private latents to public ones.

pub(super) mod fixed;
pub(super) mod generator;
pub(super) mod marginals;
pub(super) mod mixture;
pub(super) mod moments;
mod particles;
pub(super) mod resampled;

use std::collections::BTreeMap;

use burn::module::Module;
use burn::tensor::Device;
use lab::checkpoint::RestoredCheckpoint;
use lab::diagnostic::{Failure, OrFailed};
use lab::session::{Part, Session, bounded, floats_of_bytes, floats_to_bytes};
use model::generator::MlpGenerator;
use private_synth::images::Signal;
use private_training::adam::ModuleAdam;
use serde::{Deserialize, Serialize};
use swd::flow::StepSize;
use swd::{FlowTarget, Particles, Region, Slices};

use super::budget::RELEASE;
use super::run::Flow;
use super::shared;
use crate::generators::{kept, restored};
use crate::particles::{StepSchedule, rows_in};

/// How private data is used: the settings of one mechanism, and what it does by them.
pub trait ReleaseMethod: Part {
    /// Its name on the command line.
    const NAME: &'static str;
    /// What it does, for `--help`.
    const ABOUT: &'static str;
    /// The values that no flag gives, and those that photographs have instead.
    const PRESET: &'static str;
    #[doc(hidden)]
    const PHOTOGRAPHS: &'static str = "";
    /// Whether the sizes of its release follow the records and the budget beside synthetic public records.
    const FOLLOWS: bool = false;
    /// Whether what it releases adds up over blocks of records: latents beyond memory lie in a file then.
    const ADDS_UP: bool = false;

    /// Gives settings that all mechanisms have the values that suit this one, where no flag gave them.
    fn suit(_: &mut shared::Settings, _: &shared::Flags) {}

    /// Gives its own settings the values that suit the others and the signal ([`shared::Settings`]).
    fn fill(&mut self, _flags: &Self::Flags, _shared: &shared::Settings, _signal: Signal) {}

    /// Refuses what cannot be, as far as that goes without the data.
    fn check(&self, _shared: &shared::Settings) -> Result<(), Failure> {
        Ok(())
    }

    /// What a neighbour may differ in.
    fn labels(&self) -> LabelPrivacy {
        LabelPrivacy::Public
    }

    /// Cells of a class.
    fn cells(&self) -> usize {
        1
    }

    /// Its releases of all records, and their shares of the budget.
    fn shares(&self) -> Vec<(&'static str, f64)> {
        vec![(RELEASE, 1.0)]
    }

    /// Private records in a batch, where each step makes a release of its own.
    fn batch(&self) -> Option<usize> {
        None
    }

    /// Steps for `records` private records.
    fn steps(&self, _records: usize) -> u64 {
        0
    }

    /// What comes before the first step: releases of all records, and where particles start.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] where the ledger cannot be written; nothing has left then.
    fn start(&self, flow: &mut Flow, session: &mut Session) -> Result<Moved, Failure>;
}

/// What a neighbour may differ in, where there is a flow a class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LabelPrivacy {
    /// In one record and its label: the sizes of the classes are released with the rest.
    Private,
    /// In one record, replaced by another of its class: the sizes of the classes are public.
    #[default]
    Public,
}

/// Refuses slices that are no tight frame in `latent` dimensions.
fn check_slices(slices: usize, latent: usize) -> Result<(), Failure> {
    let bound = format!("at least the latent dimension, {latent}, for a tight frame");
    bounded("slices", slices, slices >= latent, &bound)
}

/// Refuses slices of a step that no release of `all` slices has.
fn check_slices_per_step(some: Option<usize>, all: usize) -> Result<(), Failure> {
    let some = some.unwrap_or(1);
    let bound = format!("between 1 and the slices of a release, {all}");
    bounded("slices-per-step", some, (1..=all).contains(&some), &bound)
}

/// A step of the flow.
fn step_size(step: f64, diffusion: f64) -> StepSize {
    StepSize { step, diffusion }
}

/// Steps, or passes over `records` records in batches.
fn steps_or_passes(steps: Option<u64>, epochs: Option<u64>, batch: usize, records: usize) -> u64 {
    let pass = records.div_ceil(batch.max(1)) as u64;
    steps.unwrap_or(epochs.unwrap_or(0) * pass)
}

/// What the steps of a mechanism move, with what they depend on.
pub enum Moved {
    /// Before the start.
    Nothing,
    /// Latents that need no step.
    Rows(Generated),
    /// Particles of each group, towards targets that were released once.
    Stored(Vec<Particles>, Vec<Box<dyn FlowTarget>>, StepSchedule),
    /// Particles of each group, towards a fresh release in so many slices at each step.
    Resampled(Vec<Particles>, usize, StepSize),
    /// A generator, by a fresh release in so many slices at each step, at a learning rate.
    Generator(Box<MlpGenerator>, ModuleAdam, usize, f64),
}

/// Latents that may be published, with labels where there is a flow a class.
#[derive(Clone)]
pub struct Generated {
    /// `[n, d]` in rows.
    pub rows: Vec<f32>,
    /// The class of each row.
    pub labels: Option<Vec<usize>>,
}

/// Some particles at one step.
#[derive(Clone)]
pub(crate) struct Snapshot {
    /// Steps done.
    pub step: u64,
    /// `[m, d]` in rows.
    pub rows: Vec<f32>,
}

/// Particles in the strip over time.
const STRIP: usize = 10;
const PARTICLES: &str = "particles.bin";

impl Moved {
    /// What a checkpoint keeps of it.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        match self {
            Self::Nothing | Self::Rows(_) => BTreeMap::new(),
            Self::Stored(groups, ..) | Self::Resampled(groups, ..) => {
                let rows: Vec<f32> = groups.iter().flat_map(Particles::rows).collect();
                BTreeMap::from([(PARTICLES.into(), floats_to_bytes(&rows))])
            }
            Self::Generator(model, optimizer, ..) => kept(&**model, optimizer),
        }
    }

    /// Takes the place of what a checkpoint holds.
    pub(crate) fn restore(
        &mut self,
        checkpoint: &RestoredCheckpoint,
        device: &Device,
    ) -> Result<(), Failure> {
        match self {
            Self::Nothing | Self::Rows(_) => {}
            Self::Stored(groups, ..) | Self::Resampled(groups, ..) => {
                let rows = floats_of_bytes(checkpoint.file(PARTICLES)?);
                let mut rest = &rows[..];
                for particles in groups {
                    let (n, d) = (particles.count(), particles.dim());
                    let cut = rest.split_at_checked(n * d);
                    let few = || checkpoint.damaged(&"it has too few particles");
                    let (here, after) = cut.ok_or_else(few)?;
                    *particles = Particles::new(here, d).or_failed()?;
                    rest = after;
                }
            }
            Self::Generator(model, optimizer, ..) => {
                (**model, *optimizer) = restored(&**model, checkpoint, device)?;
            }
        }
        Ok(())
    }
}

impl Flow {
    pub(super) fn one_step(&mut self, session: &mut Session) -> Result<(), Failure> {
        // Out of the way of the rest of the flow for this step.
        let mut moved = std::mem::replace(&mut self.moved, Moved::Nothing);
        let distance = match &mut moved {
            Moved::Nothing | Moved::Rows(_) => Ok(0.0),
            Moved::Stored(particles, targets, schedule) => {
                schedule.step(particles, targets, session.step, &mut self.public)
            }
            Moved::Resampled(particles, slices, size) => {
                self.resampled_step(particles, *slices, *size, session)
            }
            Moved::Generator(model, optimizer, slices, rate) => {
                self.generator_step(model, optimizer, (*slices, *rate), session)
            }
        };
        self.moved = moved;
        self.distance = distance?;
        Ok(())
    }

    /// What the steps have made.
    pub(super) fn generated(&mut self) -> Result<Generated, Failure> {
        let moved = std::mem::replace(&mut self.moved, Moved::Nothing);
        let rows = match moved {
            Moved::Nothing => Vec::new(),
            Moved::Rows(generated) => return Ok(generated),
            Moved::Stored(mut groups, ..) | Moved::Resampled(mut groups, ..) => {
                let sphere = Region::sphere(1.0).or_failed()?;
                rows_in(sphere, &mut groups)
            }
            Moved::Generator(model, ..) => self.sample(&model.valid(), &self.particles).concat(),
        };
        Ok(Generated {
            rows,
            labels: self.labels(),
        })
    }

    /// Keeps some particles for the strip where `step` is one of its steps.
    pub(super) fn picture(&mut self, step: u64) {
        let last = self.strip.last().map(|s| s.step);
        if last == Some(step) || !strip_steps(self.steps).contains(&step) {
            return;
        }
        let groups: Vec<Vec<f32>> = match &self.moved {
            Moved::Nothing | Moved::Rows(_) => return,
            Moved::Stored(groups, ..) | Moved::Resampled(groups, ..) => {
                groups.iter().map(Particles::rows).collect()
            }
            Moved::Generator(model, ..) => {
                self.sample(&model.valid(), &vec![10; self.groups.latents.groups()])
            }
        };
        let rows = self.first(&groups);
        self.strip.push(Snapshot { step, rows });
    }

    /// Particles of all groups together.
    pub(super) fn total_particles(&self) -> usize {
        self.shared.particles.unwrap_or(self.split.private.len())
    }

    fn slices(&mut self, count: usize) -> Result<Slices, Failure> {
        Slices::tight(self.groups.dim, count, &mut self.public).or_failed()
    }

    /// Labels of particles that stand group after group.
    fn labels(&self) -> Option<Vec<usize>> {
        self.groups.classes.as_ref()?;
        let groups = self.particles.iter().enumerate();
        let labels = groups.flat_map(|(g, &n)| std::iter::repeat_n(self.groups.class(g), n));
        Some(labels.collect())
    }

    /// The first particles of the groups, in turn, ten in all.
    fn first(&self, groups: &[Vec<f32>]) -> Vec<f32> {
        let d = self.groups.dim;
        let each = STRIP.div_ceil(groups.len().max(1));
        let mut rows = Vec::with_capacity(STRIP * d);
        for group in groups {
            rows.extend_from_slice(&group[..group.len().min(each * d)]);
        }
        rows.truncate(STRIP * d);
        rows
    }
}

/// The steps at which the strip has a picture: 0, 1, a few in between, and the last.
fn strip_steps(steps: u64) -> Vec<u64> {
    let mut chosen: Vec<u64> = [0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0]
        .iter()
        .map(|share| (share * steps as f64).round() as u64)
        .collect();
    chosen.push(1.min(steps));
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}
