//! What correlated noise does for sums of steps, at equal privacy:
//! `cargo run --release --example correlated_noise -p dp-accountant`.
//!
//! Each row is a training of fixed batches in a cycle, under zero-out. A column is a bandwidth: the root mean squared error of
//! sums of steps over the least that any factorization has by the bound of [`least_error`], at the same epsilon, whichever it
//! is; `least` is that bound. The last two columns are independent noise on Poisson samples of the same mean size, which
//! sampling amplifies, for two epsilons at delta 1e-6.

use std::f64::consts::PI;

use dp_accountant::accounting::{
    AccountingError, BandedInverse, BatchDistribution, Event, GaussianAccountant, PldAccountant,
    noise_multiplier_for,
};

const BANDWIDTHS: [u64; 6] = [1, 2, 4, 16, 64, 256];

fn main() -> Result<(), AccountingError> {
    println!("RMSE of sums of steps over a lower bound for every factorization, equal epsilon");
    print!(
        "{:>6} {:>10} {:>7} {:>9}",
        "steps", "separation", "epochs", "least"
    );
    for bandwidth in BANDWIDTHS {
        print!(" {:>7}", format!("p = {bandwidth}"));
    }
    println!(" {:>12} {:>12}", "Poisson at 1", "Poisson at 8");
    for (steps, epochs) in [
        (512, 1),
        (512, 4),
        (512, 16),
        (2000, 1),
        (2000, 10),
        (2000, 20),
        (8000, 80),
    ] {
        let separation = steps / epochs;
        let least = least_error(steps, epochs);
        print!("{steps:>6} {separation:>10} {epochs:>7} {least:>9.5}");
        for bandwidth in BANDWIDTHS {
            let noise = BandedInverse::new(bandwidth, steps)?;
            let error = noise.sensitivity_upper(separation, epochs)? * noise.error_of_sums();
            print!(" {:>7.4}", error / least);
        }
        for epsilon in [1.0, 8.0] {
            let sampled = sampled_error(steps, separation, epsilon)?;
            print!(" {:>12.3}", sampled / least);
        }
        println!();
    }
    Ok(())
}

/// What the error of independent noise on Poisson samples would be divided by the error of a mechanism of sensitivity 1 of
/// this epsilon, to compare with `sensitivity * error_of_sums`.
fn sampled_error(steps: u64, separation: u64, epsilon: f64) -> Result<f64, AccountingError> {
    let noise = |noise_multiplier| Event::Gaussian { noise_multiplier };
    let rate = 1.0 / separation as f64;
    let sampled = |z| {
        noise(z)
            .sampled(BatchDistribution::PoissonZeroOut { rate })
            .repeated(steps)
    };
    let sampled = noise_multiplier_for(&PldAccountant::default(), epsilon, 1e-6, sampled)?;
    let whole = noise_multiplier_for(&GaussianAccountant, epsilon, 1e-6, noise)?;
    Ok(sampled / whole * BandedInverse::new(1, steps)?.error_of_sums())
}

/// A lower bound on `||B||_F / sqrt(T)` times the sensitivity of `C`, of every factorization `A = B C` of the matrix of sums,
/// for records that take part in every `steps / epochs`th step.
///
/// Two of them: signs at random in a cycle at random move `C` by a mean square of `||C||_F^2 epochs / steps`, and
/// `||B||_F ||C||_F` is at least the nuclear norm of `A`; and a record with ones in its steps `u` moves `C` by
/// `||A u|| / ||B||_F` at least.
fn least_error(steps: u64, epochs: u64) -> f64 {
    let (steps_f, epochs_f) = (steps as f64, epochs as f64);
    let singular = |j: u64| 0.5 / ((2 * j + 1) as f64 * PI / (4 * steps + 2) as f64).sin();
    let nuclear = epochs_f.sqrt() / steps_f * (0..steps).map(singular).sum::<f64>();
    let sums = (0..steps).map(|t| ((t / (steps / epochs) + 1) as f64).powi(2));
    let ones = (sums.sum::<f64>() / steps_f).sqrt();
    nuclear.max(ones)
}
