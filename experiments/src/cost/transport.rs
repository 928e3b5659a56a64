//! What the sliced distance and its gradient cost on the host.
//!
//! Floor: `2 n k d` multiplications for each of two projections and one gradient, and `2 n k` keys to
//! sort; the keys alone are read and written three times by a radix sort, `96 n k` bytes.
//! `benches/python/sliced_distance.py` is the same in PyTorch.

use std::hint::black_box;

use lab::diagnostic::Failure;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::transport::host::sliced_cotangents_and_distance;
use swd::{Cells, Slices, UniformBall};

use super::median;

/// Points on each side, and slices.
const SIZES: [(usize, usize); 3] = [(600, 100), (10_000, 50), (100_000, 50)];
const DIM: usize = 6;

/// Measures and prints, a line a size.
///
/// # Errors
///
/// [`Failure::Failed`] where the transport refuses.
pub fn print(repeat: u64) -> Result<(), Failure> {
    println!("Sliced distance of two samples with its gradient, d = {DIM}, on the host\n");
    println!("| points | slices | ms |");
    println!("|---|---|---|");
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let ball = UniformBall::new(DIM).map_err(Failure::failed)?;
    for (n, k) in SIZES {
        let slices = Slices::tight(DIM, k, &mut rng).map_err(Failure::failed)?;
        let (u, v) = (ball.sample(n, &mut rng), ball.sample(n, &mut rng));
        let ms = median(repeat, || {
            let cells = Cells::of_sample(&v, &slices, n).map_err(Failure::failed)?;
            let moved = sliced_cotangents_and_distance(&u, &slices, &cells);
            black_box(moved.map_err(Failure::failed)?);
            Ok(())
        })?;
        println!("| {n} | {k} | {ms:.2} |");
    }
    Ok(())
}
