//! DPSWflow-r: a fresh batch, fresh slices and a fresh release at each step.
//!
//! The rows of a batch lie in the order of the records, and the amplification by sampling that the
//! accountant counts on is for their set: no noisy row may leave beside its place.
//! [`NoisyProjections::from_released`] sorts the values of each slice before anything uses them, and
//! neither a checkpoint nor a file of the run holds a release.

use std::collections::BTreeMap;

use lab::checkpoint::{Checkpoint, Checkpoints, GeneratorState};
use lab::diagnostic::Failure;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};
use swd::smoothed::{NoisyProjections, project};
use swd::{Particles, Region};

use super::super::release::Values;
use super::{Flow, Generated, Snapshot, strip_steps};

/// Private batches, group after group.
pub(super) struct PrivateBatches {
    offsets: Vec<usize>,
    plain: ChaCha20Rng,
}

#[derive(Serialize, Deserialize)]
struct State {
    public: GeneratorState,
    plain: GeneratorState,
    distances: Vec<(u64, f64)>,
    strip: Vec<(u64, Vec<f32>)>,
}

impl PrivateBatches {
    pub(super) fn new(flow: &Flow) -> Self {
        let mut offsets = vec![0];
        for size in flow.groups.sizes() {
            offsets.push(offsets[offsets.len() - 1] + size);
        }
        let mut plain = ChaCha20Rng::seed_from_u64(flow.settings.seed);
        plain.set_stream(4);
        Self { offsets, plain }
    }

    /// The noisy projections of a fresh batch of each group, in fresh slices, without the order of rows.
    pub(super) fn release(&mut self, flow: &mut Flow) -> Result<Vec<NoisyProjections>, Failure> {
        let sphere = Region::sphere(1.0).map_err(Failure::run)?;
        let slices = flow.slices()?;
        let draw = flow.out.draw()?;
        let drawn = match &draw {
            Some(draw) => draw.groups().to_vec(),
            None => flow.sampler.sample(&mut self.plain),
        };
        let d = flow.groups.dim;
        let (mut values, mut sizes) = (Vec::new(), Vec::new());
        for (group, indices) in drawn.iter().enumerate() {
            let latents = &flow.groups.latents[group];
            let mut rows = Vec::with_capacity(indices.len() * d);
            for index in indices {
                let place = index - self.offsets[group];
                rows.extend_from_slice(&latents[place * d..(place + 1) * d]);
            }
            sizes.push(rows.len() / d);
            values.push(project(&rows, &slices, sphere).map_err(Failure::run)?);
        }
        let declared = flow.declared()?;
        let released = flow.out.step(draw, &sizes, Values::of(&values, declared))?;
        released
            .groups
            .into_iter()
            .map(|v| NoisyProjections::from_released(v, slices.clone(), released.deviation))
            .collect::<Result<_, _>>()
            .map_err(Failure::run)
    }
}

/// What every mechanism of many releases keeps in a checkpoint, besides its own files.
pub(super) struct Course {
    pub(super) step: u64,
    pub(super) steps: u64,
    pub(super) strip: Vec<Snapshot>,
    pub(super) distances: Vec<(u64, f64)>,
}

impl Course {
    pub(super) fn new(flow: &Flow) -> Self {
        let records = flow.groups.sizes().iter().sum();
        Self {
            step: 0,
            steps: flow.settings.step_count(records),
            strip: Vec::new(),
            distances: Vec::new(),
        }
    }

    pub(super) fn save(
        &self,
        flow: &mut Flow,
        batches: &PrivateBatches,
        mut files: BTreeMap<String, Vec<u8>>,
    ) -> Result<(), Failure> {
        let state = State {
            public: GeneratorState::of(&flow.public),
            plain: GeneratorState::of(&batches.plain),
            distances: self.distances.clone(),
            strip: self
                .strip
                .iter()
                .map(|s| (s.step, s.rows.clone()))
                .collect(),
        };
        let state = serde_json::to_vec(&state).map_err(Failure::run)?;
        files.insert("state.json".into(), state);
        let noise = flow.out.releaser().map(|r| r.noise().state());
        let releases = flow.out.ledger().releases();
        Checkpoints::of(flow.path()).write(
            self.step,
            releases,
            flow.identity,
            noise.as_ref(),
            &files,
        )
    }

    /// The last checkpoint, with this course put back where it was.
    pub(super) fn restore(
        &mut self,
        flow: &mut Flow,
        batches: &mut PrivateBatches,
    ) -> Result<Option<Checkpoint>, Failure> {
        let checkpoints = Checkpoints::of(flow.path());
        // The latents come from the device, and the generator computes on it.
        let noise = flow.out.releaser().map(|r| r.noise());
        let backend = flow.chosen.backend;
        let Some(checkpoint) = checkpoints.resume(flow.identity, backend, noise)? else {
            return Ok(None);
        };
        let state: State = checkpoint.json("state.json")?;
        flow.public = state.public.generator()?;
        batches.plain = state.plain.generator()?;
        if let Some(releaser) = flow.out.releaser() {
            releaser.at_step(checkpoint.step).map_err(Failure::run)?;
        }
        self.step = checkpoint.step;
        self.distances = state.distances;
        self.strip = state
            .strip
            .into_iter()
            .map(|(step, rows)| Snapshot { step, rows })
            .collect();
        Ok(Some(checkpoint))
    }

    pub(super) fn wants_picture(&self) -> bool {
        strip_steps(self.steps).contains(&self.step)
            && self.strip.last().is_none_or(|s| s.step != self.step)
    }
}

impl Flow<'_> {
    pub(super) fn resampled(&mut self) -> Result<Generated, Failure> {
        let mut batches = PrivateBatches::new(self);
        let mut groups = self.start()?;
        let mut course = Course::new(self);
        if let Some(checkpoint) = course.restore(self, &mut batches)? {
            groups = self.read_particles(&checkpoint)?;
        }
        let size = self.step_size();
        let all: Vec<usize> = (0..self.settings.flow_slices()).collect();
        let total: usize = self.particles.iter().sum();
        let progress = self.progress(course.step, course.steps);
        loop {
            if course.wants_picture() {
                let rows: Vec<Vec<f32>> = groups.iter().map(Particles::rows).collect();
                let rows = self.first(&rows);
                let step = course.step;
                course.strip.push(Snapshot { step, rows });
            }
            if course.step == course.steps {
                break;
            }
            let targets = batches.release(self)?;
            let mut squares = 0.0;
            for (particles, target) in groups.iter_mut().zip(&targets) {
                let squared = particles
                    .step(target, &all, size, &mut self.public)
                    .map_err(Failure::run)?;
                squares += squared * particles.count() as f64 / total as f64;
            }
            course.step += 1;
            if course.step.is_multiple_of((course.steps / 200).max(1)) {
                course.distances.push((course.step, squares));
                progress.message(format!("distance {squares:.5}"));
            }
            progress.step();
            let stop = self.interrupt.asked();
            let last = course.step == course.steps;
            if stop || last || course.step.is_multiple_of(self.checkpoint_every) {
                let rows = groups.iter().flat_map(Particles::rows);
                let files = [(
                    "particles.bin".into(),
                    rows.flat_map(f32::to_le_bytes).collect(),
                )];
                course.save(self, &batches, files.into())?;
            }
            if stop && !last {
                progress.finish();
                return Err(self.stopped(course.step, course.steps));
            }
        }
        progress.finish();
        self.finished(&mut groups, course.strip, course.distances)
    }

    fn read_particles(&self, checkpoint: &Checkpoint) -> Result<Vec<Particles>, Failure> {
        let (words, _) = checkpoint.file("particles.bin")?.as_chunks::<4>();
        let rows: Vec<f32> = words.iter().map(|&w| f32::from_le_bytes(w)).collect();
        let d = self.groups.dim;
        let mut rest = &rows[..];
        let mut groups = Vec::new();
        for &n in &self.particles {
            let (here, after) = rest.split_at_checked(n * d).ok_or_else(|| {
                Failure::input(
                    format!(
                        "the checkpoint {} has too few particles",
                        checkpoint.path.display()
                    ),
                    "remove this folder to go on from the checkpoint before it",
                )
            })?;
            groups.push(Particles::new(here, d).map_err(Failure::run)?);
            rest = after;
        }
        Ok(groups)
    }
}
