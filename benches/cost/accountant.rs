//! What the accountant costs, for the 5000 steps of rate 0.01 of the autoencoder of Rodriguez-Vitores et al. (2025) at epsilon 10.
//!
//! Floor: one composition is two Fourier transforms of the lattice of a step's privacy loss in each of two
//! directions, `5 m log2 m` operations each for `m` points (at most 2^22); a calibration repeats it about 18
//! times. `benches/python/accountant.py` is the same beside dp_accounting.

use std::hint::black_box;

use dp_core::accounting::{
    Accountant, BatchDistribution, Event, PldAccountant, noise_multiplier_for,
};
use lab::diagnostic::{Failure, OrFailed};

use super::median;

const DELTA: f64 = 1e-5;

/// Measures and prints, a line a question.
pub(crate) fn print(repeat: u64) -> Result<(), Failure> {
    println!("5000 Gaussian steps, rate 0.01, delta {DELTA}\n");
    println!("| question | sampler | ms |");
    println!("|---|---|---|");
    let pld = PldAccountant::default();
    for (name, sampler) in [
        (
            "without replacement",
            BatchDistribution::WithoutReplacementRate { rate: 0.01 },
        ),
        ("poisson", BatchDistribution::Poisson { rate: 0.01 }),
    ] {
        let steps = |noise_multiplier| {
            Event::Gaussian { noise_multiplier }
                .sampled(sampler.clone())
                .repeated(5_000)
        };
        let epsilon = median(repeat, || {
            black_box(pld.epsilon(black_box(&steps(0.76)), DELTA).or_failed()?);
            Ok(())
        })?;
        println!("| epsilon of noise 0.76 | {name} | {epsilon:.1} |");
        let noise = median(repeat, || {
            black_box(noise_multiplier_for(&pld, black_box(10.0), DELTA, steps).or_failed()?);
            Ok(())
        })?;
        println!("| noise for epsilon 10 | {name} | {noise:.1} |");
    }
    Ok(())
}
