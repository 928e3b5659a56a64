//! What attacks on this workspace's own mechanism prove of it, beside what is claimed.
//!
//! The mechanism is the one that every training goes through: a plan's `Releaser`, its sampler, its noise and its
//! ledger. The attacker knows all but the noise, the batches and one record, whose gradient is as long as the declared
//! sensitivity allows, and sees every release. See `dp_audit` for the estimators.
//!
//! `--mechanism training` looks below the noise: whole trainings of a small network are recorded and replayed on
//! neighbours.
//!
//! ```text
//! just audit --epsilon 4
//! just audit --mechanism training
//! ```

mod attacks;
mod final_model;
mod findings;
mod replay;
mod target;
mod training;

use std::process::ExitCode;

use clap::Parser;
use data::DatasetKind;
use dp_core::accounting::{Event, GaussianAccountant, noise_multiplier_for};
use lab::diagnostic::{self, Failure, OrFailed};

pub(crate) use self::findings::Findings;
use self::target::{AuditedMechanism, Mechanism, Sabotage};

/// Attack a mechanism of this workspace, and hold what is proved against what is claimed.
#[derive(Debug, Parser)]
#[command(name = "audit")]
pub(crate) struct Arguments {
    /// What is attacked.
    #[arg(long, value_enum, default_value_t = Mechanism::Gaussian)]
    mechanism: Mechanism,
    /// The epsilon that is claimed.
    #[arg(long, default_value_t = 4.0)]
    epsilon: f64,
    /// The delta that it is claimed at.
    #[arg(long, default_value_t = 1e-5)]
    delta: f64,
    /// Releases of a run.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    steps: u64,
    /// The share of the records in a batch.
    #[arg(long, default_value_t = 0.1)]
    rate: f64,
    /// Runs with the record, and as many without (default: 2000000 of --mechanism gaussian, 1000 of final-model).
    #[arg(long, value_parser = clap::value_parser!(u64).range(100..=20_000_000))]
    runs: Option<u64>,
    /// The images of --mechanism final-model.
    #[arg(long, default_value = "glyphs")]
    dataset: DatasetKind,
    /// How many of them.
    #[arg(long, default_value_t = 1000)]
    records: usize,
    /// Canaries of the attack in one run: the records of the data set.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(100..=1_000_000))]
    canaries: u64,
    /// Pairs of whole runs, each with its plan, its ledger and its noise, after which the sequential test gives up.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(0..=100_000))]
    pairs: u64,
    /// Pairs of neighbours of --mechanism training.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    replays: u64,
    /// The probability with which a true claim is called violated, by all attacks together.
    #[arg(long, default_value_t = 0.01)]
    false_alarm: f64,
    /// Plant a bug, which is to be found.
    #[arg(long, value_enum)]
    sabotage: Option<Sabotage>,
    /// The seed of the coins of the canaries; the noise is secret.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Noise and batches of a known seed, for an audit that repeats itself.
    #[arg(long)]
    insecure_noise_seed: Option<u64>,
}

fn main() -> ExitCode {
    diagnostic::main(|| run(&Arguments::parse())?.verdict())
}

impl Arguments {
    fn check(&self) -> Result<(), Failure> {
        let within = |flag: &str, value: f64, ok: bool, bound: &str| {
            if ok {
                return Ok(());
            }
            let message = format!("--{flag} is {value}, but must be {bound}");
            Err(Failure::input(message, "see --help"))
        };
        let (epsilon, delta, alarm) = (self.epsilon, self.delta, self.false_alarm);
        let ok = epsilon > 0.0 && epsilon.is_finite();
        within("epsilon", epsilon, ok, "positive and finite")?;
        within(
            "delta",
            delta,
            delta > 0.0 && delta < 0.5,
            "above 0 and below 0.5",
        )?;
        within(
            "false-alarm",
            alarm,
            alarm > 0.0 && alarm < 1.0,
            "above 0 and below 1",
        )?;
        if self.mechanism == Mechanism::FinalModel {
            let (records, ok) = (self.records as f64, self.records >= 2);
            return within("records", records, ok, "at least 2");
        }
        let ok = self.rate > 0.0 && self.rate < 1.0;
        within("rate", self.rate, ok, "above 0 and below 1")
    }

    /// Runs of the attack in many runs, of each kind.
    fn runs(&self) -> u64 {
        let default = match self.mechanism {
            Mechanism::FinalModel => 1000,
            _ => 2_000_000,
        };
        self.runs.unwrap_or(default)
    }
}

/// Attacks, and prints what is found.
///
/// # Errors
///
/// [`Failure::BadInput`] for a budget that cannot be.
pub(crate) fn run(arguments: &Arguments) -> Result<Findings, Failure> {
    arguments.check()?;
    let mut findings = Findings::new(arguments);
    if arguments.mechanism == Mechanism::Training {
        let found = training::replays(arguments)?;
        findings.replays(arguments.replays, &found);
        return Ok(findings);
    }
    let mut target = AuditedMechanism::new(arguments)?;
    findings.announce(arguments, &target);
    if arguments.mechanism == Mechanism::FinalModel {
        // A model at a time: neither ten thousand records at once, nor pairs that are looked at one by one.
        attacks::many_runs(&mut target, arguments, &mut findings)?;
        return Ok(findings);
    }
    match target.mu() {
        Some(mu) => {
            attacks::many_runs(&mut target, arguments, &mut findings)?;
            attacks::one_run(&mut target, arguments, mu, &mut findings)?;
        }
        None => {
            // As many guesses as against the Gaussian mechanism of the same claim.
            let event = |noise_multiplier| Event::Gaussian { noise_multiplier };
            let (epsilon, delta) = (arguments.epsilon, arguments.delta);
            let z = noise_multiplier_for(&GaussianAccountant, epsilon, delta, event);
            let mu = 1.0 / z.or_failed()?;
            attacks::one_run(&mut target, arguments, mu, &mut findings)?;
        }
    }
    attacks::pairs(&mut target, arguments, &mut findings)?;
    Ok(findings)
}
