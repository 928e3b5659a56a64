//! Tables of what things cost, in Markdown: ratios on one machine in one run.

mod clipping;
mod transport;

use std::time::Instant;

use clap::Parser;
use lab::backend::{Backend, Choice};
use lab::diagnostic::Failure;

/// Print tables of costs.
#[derive(Debug, Parser)]
#[command(name = "cost", version)]
pub struct Arguments {
    /// Where networks compute.
    #[arg(long, value_name = "BACKEND[:DEVICE]", default_value_t = Choice::from(Backend::Flex))]
    pub backend: Choice,
    /// Repetitions; the median is printed.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u64).range(1..))]
    pub repeat: u64,
}

/// Measures and prints every table.
///
/// # Errors
///
/// [`Failure::BadInput`] for a device that is not there.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let chosen = arguments.backend.choose()?;
    println!("{}\n", chosen.description);
    clipping::print(&chosen.device, arguments.repeat)?;
    println!();
    transport::print(arguments.repeat)
}

/// The median time of `step` in milliseconds, after one run to warm up.
fn median(repeat: u64, mut step: impl FnMut() -> Result<(), Failure>) -> Result<f64, Failure> {
    step()?;
    let mut taken = Vec::new();
    for _ in 0..repeat {
        let start = Instant::now();
        step()?;
        taken.push(start.elapsed().as_secs_f64() * 1e3);
    }
    taken.sort_unstable_by(f64::total_cmp);
    Ok(taken[taken.len() / 2])
}
