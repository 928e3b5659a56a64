//! One step of all particles.
//!
//! In parallel over slices: project, sort packed (key, index) entries, scatter the residuals. Then
//! in parallel over blocks of particles: add up the slices' residuals in their order, and move. Sums
//! have a fixed order, and each slice and each block draws from its own generator, so the particles
//! come out bitwise the same on any number of threads.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use super::{BLOCK, FlowTarget, Particles, StepSize};
use crate::SwdError;
use crate::sort::Sorter;

/// The number of slices whose residuals are kept at a time.
const SLICES_AT_ONCE: usize = 128;

/// The generator of one slice or block: a fast one, because a step draws millions of numbers, none of
/// them secret. The caller's generator only seeds it.
pub(super) type Child = Xoshiro256PlusPlus;

/// The working memory of one thread.
#[derive(Default)]
struct Scratch {
    sorter: Sorter,
    cells: Vec<f32>,
}

impl Particles {
    /// Moves the particles one step towards `target` and returns the squared distance before the step.
    ///
    /// `chosen` holds the indices of the slices to use; a slice that is chosen twice counts twice. The result is
    /// `(1/k) sum_l (1/n) sum_i rho_{l,i}^2` over the `k` chosen slices: the squared (smoothed) sliced distance to
    /// the target less the target's variance inside its cells, in squared units of the particles. It is
    /// post-processing of a release, so it may be published.
    ///
    /// `rng` gives one seed a chosen slice if the target is smoothed, and one for each 512 particles if there is
    /// diffusion. Neither noise is secret, because the target is private by itself.
    ///
    /// # Errors
    /// No chosen slices, an index that is out of range, dimensions that differ, a step or diffusion that is
    /// negative or infinite, or particles beyond the range of `f32` (the step is too large).
    pub fn step(
        &mut self,
        target: &impl FlowTarget,
        chosen: &[usize],
        size: StepSize,
        rng: &mut impl Rng,
    ) -> Result<f64, SwdError> {
        size.check()?;
        self.check_target(target, chosen)?;
        let mut smoothing = children(chosen.len(), target.deviation() > 0.0, rng);
        let mut wiener = children(self.count.div_ceil(BLOCK), size.diffusion > 0.0, rng);
        self.drift.clear();
        self.drift.resize(self.blocks.len(), 0.0);
        let mut squares = 0.0;
        for (chosen, smoothing) in chosen
            .chunks(SLICES_AT_ONCE)
            .zip(smoothing.chunks_mut(SLICES_AT_ONCE))
        {
            squares += self.fill_residuals(target, chosen, smoothing);
            self.add_drift(target, chosen);
        }
        let mean = squares / (self.count as f64 * chosen.len() as f64);
        if !mean.is_finite() {
            return Err(SwdError::NotFinite {
                what: "particles of a flow",
                row: 0,
                index: 0,
                value: mean,
            });
        }
        self.advance(chosen.len(), size, &mut wiener);
        Ok(mean)
    }

    fn check_target(&self, target: &impl FlowTarget, chosen: &[usize]) -> Result<(), SwdError> {
        let slices = target.slices();
        if slices.dim() != self.dim {
            return Err(SwdError::Length {
                what: "direction of a slice",
                found: slices.dim(),
                expected: self.dim,
            });
        }
        if chosen.is_empty() {
            return Err(SwdError::Empty {
                what: "number of chosen slices",
            });
        }
        let count = slices.count();
        match chosen.iter().find(|&&l| l >= count) {
            Some(&index) => Err(SwdError::NotThere {
                what: "slice",
                index,
                count,
            }),
            None => Ok(()),
        }
    }

    /// Computes the residuals of the chosen slices, one row of `n` a slice, and returns the sum of their squares.
    fn fill_residuals(
        &mut self,
        target: &impl FlowTarget,
        chosen: &[usize],
        smoothing: &mut [Option<Child>],
    ) -> f64 {
        let (count, dim, blocks) = (self.count, self.dim, &self.blocks);
        self.residuals.resize(chosen.len() * count, 0.0);
        let squares: Vec<f64> = self
            .residuals
            .par_chunks_mut(count)
            .zip(chosen)
            .zip(smoothing)
            .map_init(Scratch::default, |scratch, ((row, &l), rng)| {
                let direction = target.slices().direction(l);
                project(blocks, dim, direction, row);
                if let Some(rng) = rng {
                    let deviation = target.deviation() as f32;
                    for u in row.iter_mut() {
                        let noise: f32 = StandardNormal.sample(rng);
                        *u += deviation * noise;
                    }
                }
                scratch.cells.resize(count, 0.0);
                target.write_cells(l, &mut scratch.cells);
                let keys = scratch.sorter.load(row.iter().copied());
                keys.place(|index, rank| row[index] -= scratch.cells[rank]);
                sum_of_squares(row)
            })
            .collect();
        squares.iter().sum()
    }

    /// Adds `sum_l theta_l rho_l` over the chosen slices to the drift.
    fn add_drift(&mut self, target: &impl FlowTarget, chosen: &[usize]) {
        let (count, dim, residuals) = (self.count, self.dim, &self.residuals);
        self.drift
            .par_chunks_mut(BLOCK * dim)
            .enumerate()
            .for_each(|(block, drift)| {
                let len = drift.len() / dim;
                for (row, &l) in residuals.chunks_exact(count).zip(chosen) {
                    let row = &row[block * BLOCK..][..len];
                    let direction = target.slices().direction(l);
                    for (drift, &t) in drift.chunks_exact_mut(len).zip(direction) {
                        let t = t as f32;
                        drift.iter_mut().zip(row).for_each(|(s, rho)| *s += t * rho);
                    }
                }
            });
    }

    fn advance(&mut self, k: usize, size: StepSize, wiener: &mut [Option<Child>]) {
        let scale = (size.step / k as f64) as f32;
        let spread = (2.0 * size.diffusion * size.step).sqrt() as f32;
        let width = BLOCK * self.dim;
        self.blocks
            .par_chunks_mut(width)
            .zip(self.drift.par_chunks(width))
            .zip(wiener)
            .for_each(|((x, drift), rng)| {
                x.iter_mut().zip(drift).for_each(|(x, s)| *x -= scale * s);
                if let Some(rng) = rng {
                    for x in x {
                        let noise: f32 = StandardNormal.sample(rng);
                        *x += spread * noise;
                    }
                }
            });
    }
}

/// Returns the sum of squares, in eight interleaved sums that do not wait for each other.
fn sum_of_squares(row: &[f32]) -> f64 {
    let mut sums = [0.0; 8];
    let (chunks, rest) = row.as_chunks::<8>();
    for chunk in chunks {
        for (sum, &rho) in sums.iter_mut().zip(chunk) {
            *sum += f64::from(rho) * f64::from(rho);
        }
    }
    let rest = rest.iter().map(|&rho| f64::from(rho) * f64::from(rho));
    sums.iter().sum::<f64>() + rest.sum::<f64>()
}

/// Returns `count` generators, seeded by the given one, or `count` times `None` if they are not wanted.
fn children(count: usize, wanted: bool, rng: &mut impl Rng) -> Vec<Option<Child>> {
    (0..count)
        .map(|_| wanted.then(|| Child::from_rng(rng)))
        .collect()
}

/// Writes `row[i] = <x_i, theta>` for particles in blocks.
fn project(blocks: &[f32], dim: usize, direction: &[f64], row: &mut [f32]) {
    for (row, block) in row.chunks_mut(BLOCK).zip(blocks.chunks(BLOCK * dim)) {
        row.fill(0.0);
        for (column, &t) in block.chunks_exact(row.len()).zip(direction) {
            let t = t as f32;
            row.iter_mut().zip(column).for_each(|(u, x)| *u += t * x);
        }
    }
}
