//! The distance against the shift of a mean (Rakotomamonjy and Ralaivola 2021, arXiv 2107.01848, figure 2).

use std::path::{Path, PathBuf};

use lab::diagnostic::{Failure, OrFailed};
use lab::figures::{LineChart, Scale, Series};
use lab::run_folder::write_file;
use private_queries::distance::{Directions, Estimate, Side, estimate};
use rand::Rng;
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use serde_json::{Value, json};
use swd::{RADII, Region, Slices};

use crate::random::stream;

/// The dimension.
pub(crate) const DIM: usize = 5;
/// Slices: as many as dimensions, so that the noise of each is one of the figure's sigmas.
const SLICES: usize = 5;
const SIGMAS: [f64; 2] = [1.0, 3.0];
const SIZES: [usize; 3] = [100, 1000, 10_000];
const DRAWS: usize = 5;
/// A ball that holds nothing back.
const EVERYWHERE: f64 = *RADII.end();

/// Normal rows of unit variance around `(c, ..., c)`.
pub(crate) fn normal_rows(rows: usize, shift: f64, rng: &mut impl Rng) -> Vec<f32> {
    let row = (0..rows * DIM).map(|_| {
        let x: f64 = StandardNormal.sample(rng);
        (shift + x) as f32
    });
    row.collect()
}

/// The projections of rows in the slices, those in a ball.
pub(crate) fn projections(rows: &[f32], slices: &Slices, radius: f64) -> Result<Vec<f64>, Failure> {
    let region = Region::ball(radius).or_failed()?;
    region.project(rows, slices).or_failed()
}

/// One comparison of fresh samples, by samples without noise and with it.
fn compare(
    n: usize,
    shift: f64,
    sigma: f64,
    rng: &mut ChaCha20Rng,
) -> Result<[Estimate; 2], Failure> {
    let directions = Directions::draw(DIM, SLICES, rng).or_failed()?;
    let slices = &directions.released;
    let a = projections(&normal_rows(n, 0.0, rng), slices, EVERYWHERE)?;
    let b = projections(&normal_rows(n, shift, rng), slices, EVERYWHERE)?;
    let mut with = |sigma| {
        let [a, b] = [&a, &b].map(|side| Side::public(side, SLICES, sigma, rng));
        estimate([&a, &b], &directions, rng).or_failed()
    };
    Ok([with(0.0)?, with(sigma)?])
}

/// Draw the distance against the shift of a mean, as figure 2 of Rakotomamonjy and Ralaivola (2021) does
///
/// The rows are sampled, and nothing is private.
#[derive(Debug, clap::Parser)]
#[command(name = "figure")]
pub(crate) struct Arguments {
    /// Folder for the charts and their numbers.
    folder: PathBuf,
    /// Seed of rows, slices and noise.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// Draws the figure, a chart a sigma, and writes its numbers.
pub(crate) fn draw(Arguments { folder, seed }: &Arguments) -> Result<(), Failure> {
    let mut numbers = Vec::new();
    println!("| sigma | rows | shift | SWD | DP-SWD | without bias |\n|---|---|---|---|---|---|");
    for (place, sigma) in SIGMAS.into_iter().enumerate() {
        let mut series = Vec::new();
        for n in SIZES {
            let mut curves = [const { Vec::new() }; 3];
            for draw in 0..DRAWS {
                let mut rng = stream(*seed, ((place * SIZES.len() + n) * DRAWS + draw) as u64);
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
            points.for_each(|(_, squared)| *squared = squared.max(0.0).sqrt());
            (corrected.band, corrected.dashed) = (Vec::new(), true);
            for i in 0..=10 {
                let [swd, private, corrected] =
                    [0, 1, 2].map(|line: usize| lines[line].points[i].1);
                let shift = lines[0].points[i].0;
                if i % 5 == 0 {
                    println!(
                        "| {sigma} | {n} | {shift} | {swd:.3} | {private:.3} | {corrected:.3} |"
                    );
                }
                numbers.push(json!({
                    "sigma": sigma, "rows": n, "shift": shift, "swd": swd, "dp_swd": private,
                    "without_bias": corrected,
                }));
            }
            series.extend(lines);
        }
        let chart = LineChart {
            title: format!("sigma {sigma}"),
            x: Scale::linear("shift of each mean"),
            y: Scale::linear("sliced distance"),
            series,
            size: Some((900, 620)),
        };
        picture(folder, &format!("shift-sigma{sigma}"), &chart)?;
    }
    table(folder, "shift", &numbers)
}

/// Writes a chart, and says where.
pub(super) fn picture(folder: &Path, name: &str, chart: &LineChart) -> Result<(), Failure> {
    let path = folder.join(format!("{name}.svg"));
    println!("picture   {}", path.display());
    write_file(&path, &chart.draw()?.bytes)
}

/// Writes the numbers of a chart, and says where.
pub(super) fn table(folder: &Path, name: &str, numbers: &[Value]) -> Result<(), Failure> {
    let path = folder.join(format!("{name}.json"));
    println!("numbers   {}", path.display());
    let text = serde_json::to_string_pretty(numbers).or_failed()?;
    write_file(&path, text.as_bytes())
}
