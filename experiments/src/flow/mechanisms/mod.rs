//! The mechanisms: from private latents to public ones.

pub(super) mod gaussian;
mod generator;
mod mixture;
mod particles;
mod public;
mod resampled;
mod stored;

use std::collections::BTreeMap;

use burn::module::Module;
use burn::tensor::Device;
use lab::checkpoint::Checkpoint;
use lab::diagnostic::Failure;
use lab::session::{Session, floats_of_bytes, floats_to_bytes};
use model::generator::Generator;
use private_training::adam::ModuleAdam;
use private_training::weights::{from_host, to_host};
use swd::{Particles, Slices};

use super::settings::Mechanism;
use super::train::Flow;

use crate::particles::Target;

/// What the steps of a mechanism move.
pub(crate) enum Moved {
    /// Before the start.
    Nothing,
    /// Latents that need no step.
    Rows(Generated),
    /// Particles of each group, towards targets that were released once.
    Stored(Vec<Particles>, Vec<Target>),
    /// Particles of each group, towards a fresh release at each step.
    Resampled(Vec<Particles>),
    /// A generator.
    Generator(Box<Generator>, ModuleAdam),
}

/// Latents that may be published, with labels where there is a flow a class.
#[derive(Clone)]
pub(crate) struct Generated {
    /// `[n, d]` in rows.
    pub rows: Vec<f32>,
    /// The class of each row.
    pub labels: Option<Vec<usize>>,
}

/// Some particles at one step.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    /// Steps done.
    pub step: u64,
    /// `[m, d]` in rows.
    pub rows: Vec<f32>,
}

/// Particles in the strip over time.
const STRIP: usize = 10;
const WEIGHTS: &str = "weights.bin";
const OPTIMIZER: &str = "optimizer.bin";
const PARTICLES: &str = "particles.bin";

impl Moved {
    /// What a checkpoint keeps of it.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        match self {
            Self::Nothing | Self::Rows(_) => BTreeMap::new(),
            Self::Stored(groups, _) | Self::Resampled(groups) => {
                let rows: Vec<f32> = groups.iter().flat_map(Particles::rows).collect();
                BTreeMap::from([(PARTICLES.into(), floats_to_bytes(&rows))])
            }
            Self::Generator(model, optimizer) => {
                let weights = floats_to_bytes(&to_host(&model.valid()));
                let optimizer = (OPTIMIZER.into(), optimizer.to_bytes());
                BTreeMap::from([(WEIGHTS.into(), weights), optimizer])
            }
        }
    }

    /// Takes the place of what a checkpoint holds.
    pub(crate) fn restore(
        &mut self,
        checkpoint: &Checkpoint,
        device: &Device,
    ) -> Result<(), Failure> {
        match self {
            Self::Nothing | Self::Rows(_) => {}
            Self::Stored(groups, _) | Self::Resampled(groups) => {
                let rows = floats_of_bytes(checkpoint.file(PARTICLES)?);
                let mut rest = &rows[..];
                for particles in groups {
                    let (n, d) = (particles.count(), particles.dim());
                    let cut = rest.split_at_checked(n * d);
                    let few = || checkpoint.damaged(&"it has too few particles");
                    let (here, after) = cut.ok_or_else(few)?;
                    *particles = Particles::new(here, d).map_err(Failure::failed)?;
                    rest = after;
                }
            }
            Self::Generator(model, optimizer) => {
                let weights = floats_of_bytes(checkpoint.file(WEIGHTS)?);
                let restored = from_host(model.valid(), &weights);
                **model = restored.map_err(|e| checkpoint.damaged(&e))?.train();
                let bytes = checkpoint.file(OPTIMIZER)?;
                let restored = ModuleAdam::from_bytes(bytes, device);
                *optimizer = restored.map_err(|e| checkpoint.damaged(&e))?;
            }
        }
        Ok(())
    }
}

impl Flow {
    /// What comes before the first step: releases of all records, and where particles start.
    pub(super) fn start(&mut self, session: &mut Session) -> Result<(), Failure> {
        self.moved = match self.settings.mechanism {
            Mechanism::Marginals => self.marginals(session)?,
            Mechanism::Fixed => self.fixed(session)?,
            Mechanism::Resampled => Moved::Resampled(self.first_particles(None)?),
            Mechanism::Generator => self.generator(),
            Mechanism::Gaussian => Moved::Rows(self.gaussian(session)?),
            Mechanism::Mixture => Moved::Rows(self.mixture(session)?),
            Mechanism::Public => Moved::Rows(self.public_records(session)?),
        };
        Ok(())
    }

    /// One step.
    pub(super) fn one_step(&mut self, session: &mut Session) -> Result<(), Failure> {
        // Out of the way of the rest of the flow for this step.
        let mut moved = std::mem::replace(&mut self.moved, Moved::Nothing);
        let distance = match &mut moved {
            Moved::Nothing | Moved::Rows(_) => Ok(0.0),
            Moved::Stored(particles, targets) => self.towards(particles, targets, session.step),
            Moved::Resampled(particles) => self.resampled_step(particles, session),
            Moved::Generator(model, optimizer) => self.generator_step(model, optimizer, session),
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
            Moved::Stored(mut groups, _) | Moved::Resampled(mut groups) => {
                self.on_the_sphere(&mut groups)?
            }
            Moved::Generator(model, _) => self.sample(&model.valid(), &self.particles).concat(),
        };
        Ok(Generated {
            rows,
            labels: self.labels(),
        })
    }

    /// Keeps some particles for the strip where `step` is one of its steps.
    pub(super) fn picture(&mut self, step: u64) {
        let last = self.strip.last().map(|s| s.step);
        if last == Some(step) || !strip_steps(self.steps_in_all()).contains(&step) {
            return;
        }
        let groups: Vec<Vec<f32>> = match &self.moved {
            Moved::Nothing | Moved::Rows(_) => return,
            Moved::Stored(groups, _) | Moved::Resampled(groups) => {
                groups.iter().map(Particles::rows).collect()
            }
            Moved::Generator(model, _) => {
                self.sample(&model.valid(), &vec![10; self.groups.latents.len()])
            }
        };
        let rows = self.first(&groups);
        self.strip.push(Snapshot { step, rows });
    }

    fn steps_in_all(&self) -> u64 {
        self.settings.step_count(self.split.private.len())
    }

    /// Particles of all groups together.
    pub(super) fn total_particles(&self) -> usize {
        self.settings.particles.unwrap_or(self.split.private.len())
    }

    fn slices(&mut self) -> Result<Slices, Failure> {
        let (d, k) = (self.groups.dim, self.settings.flow_slices());
        Slices::tight(d, k, &mut self.public).map_err(Failure::failed)
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

/// Rows in their directions, of norm 1: where the decoder knows its way.
pub(crate) fn normalise(rows: &mut [f32], d: usize) {
    for row in rows.chunks_exact_mut(d) {
        let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt().max(1e-12);
        row.iter_mut().for_each(|x| *x /= norm);
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
