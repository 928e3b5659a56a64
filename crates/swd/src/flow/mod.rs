//! Particles that flow towards released projections or marginals: Euler-Maruyama steps on the host.
//!
//! `x <- x - h mean_l theta_l (<x, theta_l> + xi - q_{l, rank}) + sqrt(2 lambda h) N(0, I)`. The mean is
//! over the chosen slices, `xi` is the smoothing of the target and `q_l` its quantile cells. The rank is
//! that of `<x, theta_l> + xi` among the particles, in the stable order of [`crate::sort`]. The target is
//! public, so any number of steps costs no privacy.
//!
//! Source: Sebag et al. 2023, arXiv 2312.08227, algorithms 1 and 2, equations 18 to 21 (equation 18 there lacks
//! the leading `x`).
//!
//! ```
//! use rand::SeedableRng;
//! use rand_chacha::ChaCha20Rng;
//! use swd::flow::{StepSize, StoredCells};
//! use swd::{Particles, Slices, UniformBall};
//!
//! let mut rng = ChaCha20Rng::seed_from_u64(1);
//! let (d, n) = (3, 200);
//! let points = UniformBall::new(d)?.sample(1000, &mut rng);
//! let target = StoredCells::of_sample(&points, Slices::tight(d, 12, &mut rng)?, n)?;
//!
//! let mut particles = Particles::gaussian(n, d, 2.0, &mut rng)?;
//! let all: Vec<usize> = (0..12).collect();
//! let size = StepSize { step: d as f64, diffusion: 0.0 };
//! let before = particles.step(&target, &all, size, &mut rng)?;
//! for _ in 0..20 {
//!     particles.step(&target, &all, size, &mut rng)?;
//! }
//! assert!(particles.step(&target, &all, size, &mut rng)? < 0.01 * before);
//! # Ok::<(), swd::SwdError>(())
//! ```

mod step;
mod target;

pub use target::{FlowTarget, StoredCells};

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::check::check_points;
use crate::sort::check_rows;
use crate::{NormBound, SwdError};

/// The number of particles that lie together in memory, one coordinate after the other.
const BLOCK: usize = 512;

/// The step size and the diffusion of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepSize {
    /// The step `h >= 0`. With a tight frame `h = d` moves every particle all the way to its mean
    /// target; from `h = 2 d` on the steps diverge.
    pub step: f64,
    /// The diffusion `lambda >= 0`, in squared units of the particles per unit of `h`.
    pub diffusion: f64,
}

impl StepSize {
    fn check(&self) -> Result<(), SwdError> {
        crate::check::check_bound("step", self.step)?;
        crate::check::check_bound("diffusion", self.diffusion)
    }
}

/// The particles of a flow, and the memory that its steps reuse.
#[derive(Clone)]
pub struct Particles {
    dim: usize,
    count: usize,
    /// Blocks of up to [`BLOCK`] particles, `d` columns each.
    blocks: Vec<f32>,
    drift: Vec<f32>,
    residuals: Vec<f32>,
}

impl std::fmt::Debug for Particles {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Particles");
        shown.field("dim", &self.dim);
        shown.field("count", &self.count);
        shown.finish_non_exhaustive()
    }
}

impl Particles {
    /// Takes particles row by row, `[n, d]`.
    ///
    /// # Errors
    /// No particles, a length that is no multiple of `d`, or a coordinate that is not finite.
    pub fn new(rows: &[f32], dim: usize) -> Result<Self, SwdError> {
        check_points("particles", rows, dim)?;
        let count = rows.len() / dim;
        check_rows(rows.len(), count)?;
        let mut blocks = vec![0.0; rows.len()];
        for (block, rows) in blocks.chunks_mut(BLOCK * dim).zip(rows.chunks(BLOCK * dim)) {
            let len = rows.len() / dim;
            for (i, row) in rows.chunks_exact(dim).enumerate() {
                for (a, &x) in row.iter().enumerate() {
                    block[a * len + i] = x;
                }
            }
        }
        Ok(Self {
            dim,
            count,
            blocks,
            drift: Vec::new(),
            residuals: Vec::new(),
        })
    }

    /// Draws `count` particles from `N(0, deviation^2 I)`, at which a flow starts.
    ///
    /// # Errors
    /// `count` or `dim` is zero, or a deviation is negative or not finite.
    pub fn gaussian(
        count: usize,
        dim: usize,
        deviation: f64,
        rng: &mut impl Rng,
    ) -> Result<Self, SwdError> {
        crate::check::check_bound("deviation of the start", deviation)?;
        let draw = |_| {
            let noise: f64 = StandardNormal.sample(rng);
            (deviation * noise) as f32
        };
        let rows: Vec<f32> = (0..count * dim).map(draw).collect();
        Self::new(&rows, dim)
    }

    /// The dimension `d`.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The number of particles.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the particles row by row, `[n, d]`.
    pub fn rows(&self) -> Vec<f32> {
        let mut rows = vec![0.0; self.blocks.len()];
        let width = BLOCK * self.dim;
        for (block, rows) in self.blocks.chunks(width).zip(rows.chunks_mut(width)) {
            let len = rows.len() / self.dim;
            for (i, row) in rows.chunks_exact_mut(self.dim).enumerate() {
                for (a, x) in row.iter_mut().enumerate() {
                    *x = block[a * len + i];
                }
            }
        }
        rows
    }

    /// Projects every particle onto a region, such as the sphere that the private rows lie on.
    pub fn project_onto(&mut self, region: NormBound) {
        let mut row = vec![0.0; self.dim];
        for block in self.blocks.chunks_mut(BLOCK * self.dim) {
            let len = block.len() / self.dim;
            for i in 0..len {
                for (a, x) in row.iter_mut().enumerate() {
                    *x = block[a * len + i];
                }
                let scale = region.scale(&row).unwrap_or(0.0);
                for (a, &x) in row.iter().enumerate() {
                    block[a * len + i] = (scale * f64::from(x)) as f32;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
