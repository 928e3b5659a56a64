//! Tables of what things cost, in Markdown: ratios on one machine in one run.
//!
//! ```text
//! just bench-table --only clipping
//! just bench-table --backend wgpu --only device
//! ```

mod accountant;
mod clipping;
mod device;
mod flow;
mod memory;
mod operations;
mod peak;
mod release;
mod step;
mod transport;

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use burn::tensor::Device;
use clap::{Parser, ValueEnum};
use dp_core::per_sample::JacobianClip;
use lab::backend::{Backend, Choice};
use lab::diagnostic::{self, Failure, OrFailed};
use private_training::{Batch, Engine, Network, StepObjective, TrainingError};

/// Print tables of costs.
#[derive(Debug, Parser)]
#[command(name = "cost")]
pub(crate) struct Arguments {
    /// Where networks compute.
    #[arg(long, value_name = "BACKEND[:DEVICE]", default_value_t = Choice::from(Backend::Flex))]
    backend: Choice,
    /// Which tables, several times for several; all of them unless named.
    #[arg(long, value_name = "TABLE")]
    only: Vec<Table>,
    /// The most numbers of one tensor in the tables of the device: less for a software GPU.
    #[arg(long, default_value_t = 50_000_000)]
    most_keys: usize,
    /// Repetitions; the median is printed.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u64).range(1..))]
    repeat: u64,
}

/// One of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Table {
    /// Inner clipping by the width of a network (Rodriguez-Vitores et al. 2025, arXiv 2502.01701, table 5).
    Clipping,
    /// A private step of the autoencoder of Rodriguez-Vitores et al. beside a plain one.
    Step,
    /// Sort-and-rank and the sliced distance on the device.
    Device,
    /// The sliced distance on the host.
    Transport,
    /// A step of a flow on the host.
    Flow,
    /// A release of noisy projections.
    Release,
    /// Memory of a private step of a fully connected network of ten million parameters; only by itself.
    Memory,
    /// The same of a convolutional one; only by itself.
    MemoryConv,
    /// A composition and a calibration.
    Accountant,
}

fn main() -> ExitCode {
    lab::backend::quiet_drivers();
    diagnostic::main(|| run(&Arguments::parse()))
}

/// Measures and prints the tables.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let chosen = arguments.backend.choose()?;
    println!("{}", chosen.description);
    for &table in Table::value_variants() {
        // What another table held before would count as held by the step.
        let alone = matches!(table, Table::Memory | Table::MemoryConv);
        let asked = arguments.only.contains(&table) || arguments.only.is_empty() && !alone;
        if !asked || alone && arguments.only.len() > 1 {
            continue;
        }
        println!();
        let (device, repeat) = (&chosen.device, arguments.repeat);
        if matches!(table, Table::Clipping | Table::Step)
            && let Err(failure) = chosen.supports_private_steps()
        {
            println!("No private steps: {failure}");
            continue;
        }
        match table {
            Table::Clipping => clipping::print(device, repeat)?,
            Table::Step => step::print(device, repeat, arguments.most_keys)?,
            Table::Device => device::print(device, repeat, arguments.most_keys)?,
            Table::Transport => transport::print(repeat)?,
            Table::Flow => flow::print(repeat)?,
            Table::Release => release::print(repeat)?,
            Table::Memory => memory::print(device, false)?,
            Table::MemoryConv => memory::print(device, true)?,
            Table::Accountant => accountant::print(repeat)?,
        }
    }
    Ok(())
}

/// The median time of `step` in milliseconds, after one run to warm up.
fn median(repeat: u64, mut step: impl FnMut() -> Result<(), Failure>) -> Result<f64, Failure> {
    let [median] = medians(repeat, [()], |()| step())?;
    Ok(median)
}

/// The median times of one gradient: without privacy, clipped by rows, clipped by singular values.
///
/// `objective` draws a step with its way to clip.
fn gradients<const D: usize>(
    repeat: u64,
    network: &impl Network<D>,
    batch: &Batch<D>,
    engine: Engine,
    device: &Device,
    mut objective: impl FnMut(JacobianClip) -> Result<StepObjective, TrainingError>,
) -> Result<[f64; 3], Failure> {
    let forms = [None, Some(JacobianClip::Rows), Some(JacobianClip::Spectral)];
    medians(repeat, forms, |mode: Option<JacobianClip>| {
        let step = objective(mode.unwrap_or(JacobianClip::Rows)).or_failed()?;
        let gradient = if mode.is_some() {
            step.clipped_gradient(network, batch, engine, device)
                .map(|(bounded, _)| bounded.before_noise())
        } else {
            step.gradient_without_privacy(network, batch, engine, device)
                .map(|(gradient, _)| gradient.to_host())
        };
        black_box(gradient.or_failed()?);
        Ok(())
    })
}

/// The median times of `step` for each of `forms`, in milliseconds, after one run of each to warm up.
///
/// They take turns, so that a machine with other work slows them alike.
fn medians<F: Copy, const N: usize>(
    repeat: u64,
    forms: [F; N],
    mut step: impl FnMut(F) -> Result<(), Failure>,
) -> Result<[f64; N], Failure> {
    let mut taken = [const { Vec::new() }; N];
    for round in 0..=repeat {
        for (form, taken) in forms.into_iter().zip(&mut taken) {
            let start = Instant::now();
            step(form)?;
            if round > 0 {
                taken.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    Ok(taken.map(|mut times| {
        times.sort_unstable_by(f64::total_cmp);
        times[times.len() / 2]
    }))
}
