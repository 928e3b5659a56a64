//! The mechanisms: from private latents to public ones.

mod gaussian;
mod generator;
mod once;
mod public;
mod resampled;
mod steps;

use std::path::Path;

use dp_core::sampling::BatchSampler;
use lab::backend::Chosen;
use lab::checkpoint::Identity;
use lab::diagnostic::Failure;
use lab::interrupt::Interrupt;
use lab::progress::Progress;
use lab::run_folder::RunFolder;
use rand_chacha::ChaCha20Rng;
use swd::Slices;

use super::Settings;
use super::groups::Groups;
use super::release::WayOut;
use super::settings::{Frame, Mechanism, Norm};

pub use once::check;

/// What a mechanism works with.
pub struct Flow<'a> {
    /// The settings.
    pub settings: &'a Settings,
    /// What draws private records in a run without privacy.
    pub sampler: &'a BatchSampler,
    /// Private latents.
    pub groups: &'a Groups,
    /// Particles of each group.
    pub particles: Vec<usize>,
    /// The way out.
    pub out: WayOut,
    /// Public randomness.
    pub public: ChaCha20Rng,
    /// Where a release and checkpoints are kept.
    pub folder: &'a RunFolder,
    /// What the run is, for its checkpoints.
    pub identity: &'a Identity,
    /// Whether to stop.
    pub interrupt: &'a Interrupt,
    /// Steps from one checkpoint to the next.
    pub checkpoint_every: u64,
    /// Where networks compute.
    pub chosen: &'a Chosen,
}

/// Latents that may be published, with labels where there is a flow a class.
pub struct Generated {
    /// `[n, d]` in rows.
    pub rows: Vec<f32>,
    /// The class of each row.
    pub labels: Option<Vec<usize>>,
    /// The same few particles at some steps.
    pub strip: Vec<Snapshot>,
    /// `(step, squared sliced distance to the target)`.
    pub distances: Vec<(u64, f64)>,
}

/// Some particles at one step.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Steps done.
    pub step: u64,
    /// `[m, d]` in rows.
    pub rows: Vec<f32>,
}

/// Particles in the strip over time.
const STRIP: usize = 10;

impl Flow<'_> {
    /// Runs the mechanism of the settings.
    ///
    /// - `public_latents`, `public_labels`: of the public side, for what needs no private record.
    ///
    /// # Errors
    ///
    /// [`Failure::Failed`] and [`Failure::Interrupted`].
    pub fn generate(
        mut self,
        public_latents: impl FnOnce() -> Result<Vec<f32>, Failure>,
        public_labels: &[usize],
    ) -> Result<(Generated, WayOut), Failure> {
        let generated = match self.settings.mechanism {
            Mechanism::Marginals => self.marginals(),
            Mechanism::Fixed => self.fixed(),
            Mechanism::Resampled => self.resampled(),
            Mechanism::Generator => self.generator(),
            Mechanism::Gaussian => self.gaussian(),
            Mechanism::Public => self.public_records(&public_latents()?, public_labels),
        }?;
        Ok((generated, self.out))
    }

    fn slices(&mut self) -> Result<Slices, Failure> {
        let (d, k) = (self.groups.dim, self.settings.flow_slices());
        match self.settings.frame {
            Frame::Tight => Slices::tight(d, k, &mut self.public),
            Frame::Iid => Slices::iid(d, k, &mut self.public),
        }
        .map_err(Failure::run)
    }

    /// The sensitivity that a published setting declares; none for the proved one.
    fn declared(&self) -> Result<Option<f64>, Failure> {
        declared(self.settings, self.groups.dim)?
            .map(|norm| norm.for_radius(1.0).map_err(Failure::run))
            .transpose()
    }

    /// Labels of particles that stand group after group.
    fn labels(&self) -> Option<Vec<usize>> {
        self.groups.classes.as_ref()?;
        Some(
            self.particles
                .iter()
                .enumerate()
                .flat_map(|(g, &n)| std::iter::repeat_n(self.groups.class(g), n))
                .collect(),
        )
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

    fn progress(&self, done: u64, steps: u64) -> Progress {
        Progress::from(done, steps)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// The papers' norm of the settings, if they ask for one.
///
/// # Errors
///
/// [`Failure::BadInput`] where it is refused.
pub fn declared(
    settings: &Settings,
    dim: usize,
) -> Result<Option<swd::smoothed::paper::ProbableNorm>, Failure> {
    let k = settings.flow_slices();
    match settings.sensitivity {
        Norm::Proved => return Ok(None),
        Norm::PaperBernstein => swd::smoothed::paper::paper_bernstein(k, dim, settings.delta),
        Norm::PaperClt => swd::smoothed::paper::paper_clt(k, dim, settings.delta),
    }
    .map(Some)
    .map_err(|e| Failure::input(format!("--sensitivity: {e}"), "say --sensitivity proved"))
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
