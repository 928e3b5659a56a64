//! What one step of a flow costs on the host (Sebag et al. 2023, arXiv 2312.08227, algorithm 1): 30000 particles,
//! 70 slices in 8 dimensions.
//!
//! Floor: two products of 33 million multiplications and additions each, and 2.1 million keys to sort,
//! read and written three times by a radix sort, 100 MB; with smoothing 2.1 million normal draws come on
//! top. `benches/python/flow_step.py` is the same step in PyTorch.

use lab::diagnostic::{Failure, OrFailed};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::flow::StepSize;
use swd::smoothed::NoisyProjections;
use swd::{NormBound, Particles, Slices};

use super::median;

const PARTICLES: usize = 30_000;
const DIM: usize = 8;
const SLICES: usize = 70;

/// Measures and prints, a line a target.
pub(crate) fn print(repeat: u64) -> Result<(), Failure> {
    println!("One step of {PARTICLES} particles, d = {DIM}, k = {SLICES}, on the host\n");
    println!("| rows of the target | sigma | ms |");
    println!("|---|---|---|");
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let sphere = NormBound::sphere(1.0).or_failed()?;
    let size = StepSize {
        step: 1.0,
        diffusion: 1e-3,
    };
    let all: Vec<usize> = (0..SLICES).collect();
    for rows in [250, 30_000] {
        for sigma in [1.0, 0.0] {
            let slices = Slices::tight(DIM, SLICES, &mut rng).or_failed()?;
            let start = Particles::gaussian(rows, DIM, 1.0, &mut rng).or_failed()?;
            // Random rows: there is nothing to keep private.
            let values = sphere.project(&start.rows(), &slices).or_failed()?;
            let target = NoisyProjections::from_released(values, slices, sigma).or_failed()?;
            let mut particles = Particles::gaussian(PARTICLES, DIM, 1.0, &mut rng).or_failed()?;
            let ms = median(repeat, || {
                let moved = particles.step(&target, &all, size, &mut rng);
                moved.map(|_| ()).or_failed()
            })?;
            println!("| {rows} | {sigma} | {ms:.1} |");
        }
    }
    Ok(())
}
