//! Five Gaussians in the plane (Sebag et al. 2023, figure 1): what smoothing does to a flow.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use data::Gaussians;
use lab::diagnostic::{Failure, OrFailed};
use lab::evaluate::transport::sliced_w2_squared;
use lab::figures::{Field, Particles as Panels, Snapshot};
use lab::progress::Progress;
use lab::report::{Better, FigureFile, Metric, RunFile, this_command, timestamp};
use lab::run_folder::RunFolder;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use serde_json::json;
use swd::flow::StepSize;
use swd::smoothed::NoisyProjections;
use swd::{Particles, Region, Slices};

const POINTS: usize = 3000;
const SLICES: usize = 200;
const STEPS: u64 = 200;
const SIZE: StepSize = StepSize {
    step: 1.0,
    diffusion: 0.001,
};
/// Points further out than this are pulled in; the mixture has none.
const RADIUS: f64 = 8.0;
const SIGMAS: [f64; 3] = [0.0, 0.5, 1.0];
const SEEN: [u64; 3] = [1, 10, 200];
/// The published sliced distances at these sigmas; it has none for the last.
const PAPER: [Option<f64>; 3] = [Some(0.08), Some(0.81), None];

/// Move particles towards five Gaussians in the plane, by the settings of figure 1 of Sebag et al. (2023)
///
/// The points are synthetic, and nothing is private.
#[derive(Debug, clap::Parser)]
#[command(name = "toy")]
pub(crate) struct Arguments {
    /// Seed of the points, the slices and the noise.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Run folder to create (default: one in `runs/flow`).
    #[arg(long)]
    out: Option<PathBuf>,
    /// Like --out, but a run that is done stays as it is.
    #[arg(long, value_name = "RUN", conflicts_with = "out")]
    run: Option<PathBuf>,
}

/// Runs the toy.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (seed, place) = (arguments.seed, &arguments.run);
    let place = arguments.out.as_ref().or(place.as_ref()).cloned();
    let place = place.unwrap_or_else(|| RunFolder::unused(Path::new("runs/flow/toy")));
    let started = arguments.run.is_some() && place.join("config.toml").exists();
    if started && place.join("run.json").exists() {
        println!("done      {}", place.join("report.html").display());
        return Ok(());
    }
    // Seconds of work and nothing private: a run that was cut off is made again.
    let folder = if started {
        RunFolder::open(&place)?
    } else {
        RunFolder::create(&place)?
    };
    folder.write(
        "config.toml",
        format!("mechanism = \"toy\"\nseed = {seed}\n").as_bytes(),
    )?;
    folder.write("ledger.jsonl", b"")?;
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mixture = Gaussians::five();
    let target = mixture.sample(POINTS, &mut rng).or_failed()?.values;
    let fresh = mixture.sample(POINTS, &mut rng).or_failed()?.values;
    let progress = Progress::new(STEPS * SIGMAS.len() as u64);
    let mut panels = Vec::new();
    let mut metrics = Vec::new();
    for (sigma, paper) in SIGMAS.into_iter().zip(PAPER) {
        let mut particles = Particles::gaussian(POINTS, 2, 1.0, &mut rng).or_failed()?;
        for step in 1..=STEPS {
            let smoothed = smoothed(&target, sigma, &mut rng)?;
            let all: Vec<usize> = (0..SLICES).collect();
            particles
                .step(&smoothed, &all, SIZE, &mut rng)
                .or_failed()?;
            progress.step();
            if SEEN.contains(&step) {
                panels.push(Snapshot {
                    title: format!("sigma {sigma}, step {step}"),
                    groups: vec![in_plane(&particles.rows())],
                });
            }
        }
        let distance = distance(&particles.rows(), &fresh, &mut rng)?;
        let metric = Metric::new(
            format!("Sliced distance after {STEPS} steps, sigma {sigma}"),
            distance,
        )
        .better(Better::Lower);
        metrics.push(match paper {
            Some(value) => metric.paper(value, "Sebag et al. 2023, section 4.1"),
            None => metric,
        });
    }
    progress.finish();
    finish(&folder, panels, metrics, &mixture)
}

/// The projections of the points in fresh slices, with noise.
fn smoothed(
    points: &[f32],
    sigma: f64,
    rng: &mut ChaCha20Rng,
) -> Result<NoisyProjections, Failure> {
    let slices = Slices::tight(2, SLICES, rng).or_failed()?;
    let ball = Region::ball(RADIUS).or_failed()?;
    let values = ball.project(points, &slices).or_failed()?;
    let noisy = values
        .iter()
        .map(|value| {
            let noise: f64 = StandardNormal.sample(rng);
            value + sigma * noise
        })
        .collect();
    NoisyProjections::from_released(noisy, slices, sigma).or_failed()
}

/// The sliced distance as POT gives it: the root of the mean square.
fn distance(a: &[f32], b: &[f32], rng: &mut ChaCha20Rng) -> Result<f64, Failure> {
    let slices = Slices::tight(2, SLICES, rng).or_failed()?;
    let squared = sliced_w2_squared(a, b, &slices);
    squared.map(f64::sqrt).or_failed()
}

fn in_plane(rows: &[f32]) -> Vec<(f64, f64)> {
    rows.chunks_exact(2)
        .take(600)
        .map(|p| (f64::from(p[0]), f64::from(p[1])))
        .collect()
}

fn finish(
    folder: &RunFolder,
    snapshots: Vec<Snapshot>,
    metrics: Vec<Metric>,
    mixture: &Gaussians,
) -> Result<(), Failure> {
    let side = 5.0;
    let density = |x: f64, y: f64| mixture.density([x, y]);
    let field = Field::of(-side..side, -side..side, 121, density);
    let highest = density(mixture.centres()[0][0], mixture.centres()[0][1]);
    let figure = Panels {
        snapshots,
        names: Vec::new(),
        density: Some(field),
        levels: [0.1, 0.4, 0.7].map(|share| share * highest).to_vec(),
        x: -side..side,
        y: -side..side,
        columns: SEEN.len(),
    };
    folder.write("toy.svg", &figure.draw()?.bytes)?;
    for metric in &metrics {
        println!(
            "score     {}: {:.3}",
            metric.name,
            metric.value.unwrap_or(f64::NAN)
        );
    }
    let file = RunFile {
        experiment: "flow".into(),
        title: Some("A flow towards five Gaussians".into()),
        version: env!("CARGO_PKG_VERSION").into(),
        device: "host".into(),
        privacy: "Nothing private is read: the points are synthetic. The noise is that of \
                  the published figure, not one that is calibrated for a budget."
            .into(),
        command: Some(this_command()),
        figures: vec![FigureFile::new(
            "toy.svg",
            "Particles after 1, 10 and 200 steps (columns) for sigma 0, 0.5 and 1 (rows), over level \
             sets of the target (Sebag et al. 2023, figure 1)",
        )],
        settings: [
            ("points", json!(POINTS)),
            ("slices", json!(SLICES)),
            ("learning-rate", json!(SIZE.step)),
            ("diffusion", json!(SIZE.diffusion)),
        ]
        .into_iter()
        .map(|(key, value)| (key.to_string(), value))
        .collect(),
        metrics,
        finished: Some(timestamp(SystemTime::now())),
        ..RunFile::default()
    };
    folder.write_json("run.json", &file)?;
    let page: PathBuf = lab::report::write_in(folder)?;
    println!("picture   {}", folder.file("toy.svg").display());
    println!("report    {}", page.display());
    Ok(())
}
