//! Two normal distributions whose means are apart: the distance (Rakotomamonjy and Ralaivola 2021, arXiv 2107.01848, figure 2),
//! and how often the two-sample test finds the shift.
//!
//! ```text
//! cargo run --release --locked -p private-queries --example distance_figures -- FOLDER [SEED [EPSILON]]
//! ```
//!
//! Prints and writes the rows, and draws them. The rows are sampled, and nothing is private.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use private_queries::distance::{Directions, Estimate, Side, Sides, estimate, permutation_test};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use reporting::figures::{Chart, Mark, Scale, Series};
use reporting::run_folder::write_file;
use swd::smoothed::projection_sensitivity_upper;
use swd::{NormBound, RADII, Slices};

/// The dimension, and the slices, as many: so the noise of each is one of the figure's sigmas.
const DIM: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("name a folder for the charts")?;
    let seed = arguments.next().map_or(Ok(0), |seed| seed.parse())?;
    let epsilon = arguments
        .next()
        .map_or(Ok(1.0), |epsilon| epsilon.parse())?;
    shift(Path::new(&folder), seed)?;
    power(Path::new(&folder), seed, epsilon)
}

fn stream(seed: u64, number: u64) -> ChaCha20Rng {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    rng.set_stream(number);
    rng
}

/// Normal rows of unit variance around `(shift, ..., shift)`.
fn normal_rows(rows: usize, shift: f64, rng: &mut impl Rng) -> Vec<f32> {
    let row = (0..rows * DIM).map(|_| {
        let x: f64 = StandardNormal.sample(rng);
        (shift + x) as f32
    });
    row.collect()
}

/// The projections of rows in the slices, those in a ball.
fn projections(rows: &[f32], slices: &Slices, radius: f64) -> Result<Vec<f64>, Box<dyn Error>> {
    Ok(NormBound::ball(radius)?.project(rows, slices)?)
}

/// One comparison of fresh samples, by samples without noise and with it.
fn compare(
    n: usize,
    shift: f64,
    sigma: f64,
    rng: &mut ChaCha20Rng,
) -> Result<[Estimate; 2], Box<dyn Error>> {
    // A ball that holds nothing back.
    let everywhere = *RADII.end();
    let directions = Directions::draw(DIM, DIM, rng)?;
    let slices = &directions.released;
    let a = projections(&normal_rows(n, 0.0, rng), slices, everywhere)?;
    let b = projections(&normal_rows(n, shift, rng), slices, everywhere)?;
    let mut with = |sigma| {
        let [a, b] = [&a, &b].map(|side| Side::public(side, DIM, sigma, rng));
        estimate([&a, &b], &directions, rng)
    };
    Ok([with(0.0)?, with(sigma)?])
}

/// The distance against the shift of the means: a chart for each sigma.
fn shift(folder: &Path, seed: u64) -> Result<(), Box<dyn Error>> {
    const SIGMAS: [f64; 2] = [1.0, 3.0];
    const SIZES: [usize; 3] = [100, 1000, 10_000];
    const DRAWS: usize = 5;
    let mut csv = String::from("sigma,rows,shift,swd,dp_swd,without bias\n");
    for (place, sigma) in SIGMAS.into_iter().enumerate() {
        let mut series = Vec::new();
        for n in SIZES {
            let mut curves = [const { Vec::new() }; 3];
            for draw in 0..DRAWS {
                let mut rng = stream(seed, ((place * SIZES.len() + n) * DRAWS + draw) as u64);
                for step in 0..=10 {
                    let shift = f64::from(step) / 10.0;
                    let [plain, noisy] = compare(n, shift, sigma, &mut rng)?;
                    let values = [plain.plug_in.sqrt(), noisy.plug_in.sqrt(), noisy.squared];
                    for (curve, value) in curves.iter_mut().zip(values) {
                        curve.push((shift, value));
                    }
                }
            }
            let names = ["SWD", "DP-SWD", "without bias"].map(|name| format!("{name}, {n} rows"));
            let lines = names.into_iter().zip(curves);
            let lines = lines.map(|(name, curve)| Series::mean_and_deviation(name, &[curve]));
            let mut lines: Vec<Series> = lines.collect();
            // The mean of squares first: one that is negative has no root.
            let corrected = &mut lines[2];
            let points = corrected.points.iter_mut();
            points.for_each(|point| *point = (point.x, point.y.max(0.0).sqrt()).into());
            corrected.mark = Mark::Dashed;
            for i in [0, 5, 10] {
                let shift = lines[0].points[i].x;
                let [swd, private, corrected] =
                    [0, 1, 2].map(|line: usize| lines[line].points[i].y);
                writeln!(
                    csv,
                    "{sigma},{n},{shift},{swd:.3},{private:.3},{corrected:.3}"
                )?;
            }
            series.extend(lines);
        }
        let chart = Chart {
            title: format!("sigma {sigma}"),
            x: Scale::linear("shift of each mean"),
            y: Scale::linear("sliced distance"),
            series,
            size: Some((900.0, 620.0)),
            ..Chart::default()
        };
        picture(folder, &format!("distance-shift-sigma{sigma}"), &chart)?;
    }
    table(folder, "distance-shift", &csv)
}

/// How often the test finds the shift, at a budget for the rows of both sides.
fn power(folder: &Path, seed: u64, epsilon: f64) -> Result<(), Box<dyn Error>> {
    const DELTA: f64 = 1e-5;
    /// The false-alarm rate of the test, and labellings enough for it.
    const LEVEL: f64 = 0.05;
    const PERMUTATIONS: u64 = 99;
    /// The public bound on the norm of a row: four standard deviations of a coordinate.
    const RADIUS: f64 = 4.0;
    const SIZES: [usize; 3] = [1000, 4000, 16_000];
    const SHIFTS: [f64; 6] = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];
    const TRIALS: usize = 100;
    let shifts = SHIFTS.map(|c| format!("shift {c}")).join(",");
    let mut csv = format!("epsilon,rows of a side,noise,{shifts}\n");
    let mut series = Vec::new();
    for n in SIZES {
        let plan = Sides::plan(&[n, n], epsilon, DELTA)?.check()?;
        let multiplier = plan.noise_multiplier();
        let mut rng = stream(seed, n as u64);
        let (mut found, mut sigma) = (Vec::new(), 0.0);
        for shift in SHIFTS {
            let mut alarms = 0;
            for _ in 0..TRIALS {
                let directions = Directions::draw(DIM, DIM, &mut rng)?;
                let slices = &directions.released;
                sigma = multiplier * projection_sensitivity_upper(slices, RADIUS)?;
                let mut side = |shift| {
                    let values = projections(&normal_rows(n, shift, &mut rng), slices, RADIUS)?;
                    Ok::<_, Box<dyn Error>>(Side::public(&values, DIM, sigma, &mut rng))
                };
                let (a, b) = (side(0.0)?, side(shift)?);
                let tested = permutation_test([&a, &b], &directions, PERMUTATIONS, &mut rng)?;
                alarms += usize::from(tested.p_value <= LEVEL);
            }
            found.push((shift, alarms as f64 / TRIALS as f64));
        }
        let cells: Vec<String> = found.iter().map(|(_, p)| format!("{p:.2}")).collect();
        writeln!(csv, "{epsilon},{n},{sigma:.1},{}", cells.join(","))?;
        series.push(Series::new(format!("{n} rows a side"), found));
    }
    let chart = Chart {
        title: format!("epsilon {epsilon}, level {LEVEL}"),
        x: Scale::linear("shift of each mean"),
        y: Scale::linear("share of tests that reject"),
        series,
        ..Chart::default()
    };
    let name = format!("distance-power-eps{epsilon}");
    picture(folder, &name, &chart)?;
    table(folder, &name, &csv)
}

/// Writes a chart, and says where.
fn picture(folder: &Path, name: &str, chart: &Chart) -> Result<(), Box<dyn Error>> {
    let path = folder.join(format!("{name}.svg"));
    println!("picture   {}", path.display());
    Ok(write_file(&path, &chart.draw()?.bytes)?)
}

/// Prints and writes the numbers of a chart, and says where.
fn table(folder: &Path, name: &str, csv: &str) -> Result<(), Box<dyn Error>> {
    let path = folder.join(format!("{name}.csv"));
    println!("{csv}\nnumbers   {}", path.display());
    Ok(write_file(&path, csv.as_bytes())?)
}
