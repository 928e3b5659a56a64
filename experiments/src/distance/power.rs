//! The power of the two-sample test against the shift of a mean, at a budget and a level.

use std::path::PathBuf;

use lab::diagnostic::{Failure, OrFailed};
use lab::figures::{LineChart, Scale, Series};
use lab::session::{Ends, positive, refused_plan, within};
use private_queries::distance::{Directions, Side, Sides, permutation_test};
use serde_json::json;
use swd::smoothed::projection_sensitivity_upper;

use super::figure::{DIM, normal_rows, picture, projections, table};
use crate::random::stream;

/// The public bound on the norm of a row: four standard deviations of a coordinate.
const RADIUS: f64 = 4.0;
const SIZES: [usize; 3] = [1000, 4000, 16_000];
const SHIFTS: [f64; 6] = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];
const TRIALS: usize = 100;

/// Say how often the two-sample test finds the shift of a mean
///
/// The rows are sampled, and nothing is private.
#[derive(Debug, clap::Parser)]
#[command(name = "power")]
pub(crate) struct Arguments {
    /// Folder for the chart and its numbers.
    folder: PathBuf,
    /// Privacy budget of the release of both sides.
    #[arg(long, default_value_t = 1.0)]
    epsilon: f64,
    /// Delta of the guarantee.
    #[arg(long, default_value_t = 1e-5)]
    delta: f64,
    /// The false-alarm rate of the test, its level.
    #[arg(long, default_value_t = 0.05)]
    false_alarm: f64,
    /// Seed of rows, slices and noise.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// Prints and draws how often the test speaks.
pub(crate) fn draw(arguments: &Arguments) -> Result<(), Failure> {
    let &Arguments {
        ref folder,
        epsilon,
        delta,
        false_alarm: level,
        seed,
    } = arguments;
    positive("epsilon", epsilon)?;
    within("delta", delta, 0.0, 1.0, Ends::NEITHER)?;
    within("false-alarm", level, 0.0, 1.0, Ends::NEITHER)?;
    // As few labellings as the level needs, or 99.
    let permutations = ((1.0 / level).ceil() as u64 - 1).max(99);
    println!(
        "epsilon {epsilon} at delta {delta} for the rows of both sides, level {level}, {TRIALS} trials"
    );
    println!(
        "| rows of a side | noise | {} |",
        SHIFTS.map(|c| format!("shift {c}")).join(" | ")
    );
    println!("|---|---|{}", "---|".repeat(SHIFTS.len()));
    let (mut numbers, mut series) = (Vec::new(), Vec::new());
    for n in SIZES {
        let plan = Sides::plan(&[n, n], epsilon, delta).or_failed()?.check();
        let multiplier = plan.map_err(refused_plan)?.noise_multiplier();
        let mut rng = stream(seed, n as u64);
        let (mut found, mut sigma) = (Vec::new(), 0.0);
        for shift in SHIFTS {
            let mut alarms = 0;
            for _ in 0..TRIALS {
                let directions = Directions::draw(DIM, DIM, &mut rng).or_failed()?;
                let slices = &directions.released;
                let bound = projection_sensitivity_upper(slices, RADIUS).or_failed()?;
                sigma = multiplier * bound;
                let mut side = |shift| {
                    let values = projections(&normal_rows(n, shift, &mut rng), slices, RADIUS)?;
                    Ok::<_, Failure>(Side::public(&values, DIM, sigma, &mut rng))
                };
                let (a, b) = (side(0.0)?, side(shift)?);
                let tested =
                    permutation_test([&a, &b], &directions, permutations, &mut rng).or_failed()?;
                alarms += usize::from(tested.p_value <= level);
            }
            let power = alarms as f64 / TRIALS as f64;
            found.push((shift, power));
            numbers.push(json!({"rows": n, "shift": shift, "power": power, "noise": sigma}));
        }
        let cells: Vec<String> = found.iter().map(|(_, p)| format!("{p:.2}")).collect();
        println!("| {n} | {sigma:.1} | {} |", cells.join(" | "));
        series.push(Series::new(format!("{n} rows a side"), found));
    }
    let chart = LineChart {
        title: format!("epsilon {epsilon}, level {level}"),
        x: Scale::linear("shift of each mean"),
        y: Scale::linear("share of tests that speak"),
        series,
        ..LineChart::default()
    };
    let name = format!("power-eps{epsilon}");
    picture(folder, &name, &chart)?;
    table(folder, &name, &numbers)
}
