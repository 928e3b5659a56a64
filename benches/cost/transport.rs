//! What the sliced distance and its gradient cost on the host.
//!
//! Floor: `2 n k d` multiplications for each of two projections and one gradient, and `2 n k` keys to
//! sort; a radix sort writes a key once and reads it twice, and an entry of twice its size twice each, `88 n k` bytes.
//! `benches/python/sliced_distance.py` is the same in PyTorch.

use std::hint::black_box;

use lab::diagnostic::{Failure, OrFailed};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
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
    Ok(())
}
