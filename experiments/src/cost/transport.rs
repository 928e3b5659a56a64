//! What the sliced distance and its gradient cost on the host.
//!
//! Floor: `2 n k d` multiplications for each of two projections and one gradient, and `2 n k` keys to
//! sort; a radix sort writes a key once and reads it twice, and an entry of twice its size twice each, `88 n k` bytes.
//! `benches/python/sliced_distance.py` is the same in PyTorch.
//!
//! Entropic transport takes `2 n m` exponentials an iteration; `benches/python/sinkhorn.py` is the same in POT.

use std::hint::black_box;

use lab::diagnostic::{Failure, OrFailed};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use swd::sinkhorn::{Cost, Memory, Sinkhorn};
use swd::transport::host::sliced_gradient_and_distance;
use swd::{Slices, UniformBall};

use super::median;

/// Points on each side, and slices.
const SIZES: [(usize, usize); 4] = [(600, 100), (10_000, 50), (100_000, 50), (1_000_000, 50)];
const DIM: usize = 6;

/// Measures and prints, a line a size.
pub(crate) fn print(repeat: u64) -> Result<(), Failure> {
    println!("Sliced distance of two samples with its gradient, d = {DIM}, on the host\n");
    println!("| points | slices | ms |");
    println!("|---|---|---|");
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let ball = UniformBall::new(DIM).or_failed()?;
    for (n, k) in SIZES {
        let slices = Slices::tight(DIM, k, &mut rng).or_failed()?;
        let (u, v) = (ball.sample(n, &mut rng), ball.sample(n, &mut rng));
        let ms = median(repeat, || {
            black_box(sliced_gradient_and_distance(&u, &v, &slices).or_failed()?);
            Ok(())
        })?;
        println!("| {n} | {k} | {ms:.2} |");
    }
    entropic(repeat)
}

/// Entropic transport of two batches of images, as many iterations as asked for, with its gradient.
fn entropic(repeat: u64) -> Result<(), Failure> {
    const POINTS: usize = 400;
    const DIM: usize = 784;
    const ITERATIONS: usize = 400;
    println!(
        "\nEntropic transport of {POINTS} points to {POINTS}, d = {DIM}, {ITERATIONS} iterations, with its gradient\n"
    );
    println!("| cost | costs | ms |");
    println!("|---|---|---|");
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let cube = rand::distr::Uniform::new(0.0_f32, 1.0).or_failed()?;
    let mut draw = || -> Vec<f32> { (&mut rng).sample_iter(cube).take(POINTS * DIM).collect() };
    let (x, y) = (draw(), draw());
    for (cost, lambda) in [(Cost::Manhattan, 1.0), (Cost::SquaredEuclidean, 1.0)] {
        for (memory, iterations) in [(Memory::Dense, ITERATIONS), (Memory::Lazy, 4)] {
            let sinkhorn = Sinkhorn::new(cost, lambda).or_failed()?;
            // Never there before the end: a tolerance of 0 is below every rounding.
            let sinkhorn = sinkhorn
                .iterations(iterations)
                .tolerance(0.0)
                .memory(memory);
            let ms = median(repeat.min(3), || {
                let found = sinkhorn.solve(&x, &y, DIM).or_failed()?;
                black_box(found.gradient());
                Ok(())
            })?;
            let kept = match memory {
                Memory::Dense => "kept".to_owned(),
                Memory::Lazy => format!("computed again, {iterations} iterations"),
            };
            println!("| {cost:?} | {kept} | {ms:.1} |");
        }
    }
    Ok(())
}
