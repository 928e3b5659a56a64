//! Five Gaussians in the plane (Sebag et al. 2023, figure 1): what smoothing does to a flow.
//!
//! ```text
//! cargo run --release --locked -p swd --example toy -- FOLDER [SEED]
//! ```
//!
//! Prints the sliced distance that is left after 200 steps, and draws the particles into `FOLDER/toy.svg`. The points are
//! synthetic, and nothing is private: the noise is that of the published figure, which is calibrated for no budget.

use std::error::Error;
use std::path::Path;

use data::Gaussians;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};
use reporting::figures::{Chart, Mark, Series, panels};
use reporting::run_folder::write_file;
use swd::flow::StepSize;
use swd::smoothed::NoisyProjections;
use swd::transport::host::sliced_gradient_and_distance;
use swd::{NormBound, Particles, Slices};

const POINTS: usize = 3000;
const SLICES: usize = 200;
const STEPS: u64 = 200;
const SIZE: StepSize = StepSize {
    step: 1.0,
    diffusion: 0.001,
};
/// Points further out than this are pulled in; the mixture has none.
const RADIUS: f64 = 8.0;
/// Deviations of the noise on each projection, with the published sliced distances; there is none for the last.
const SIGMAS: [(f64, &str); 3] = [(0.0, "0.08"), (0.5, "0.81"), (1.0, "")];
/// Steps that are drawn.
const SEEN: [u64; 3] = [1, 10, 200];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("name a folder for the picture")?;
    let seed = arguments.next().map_or(Ok(0), |seed| seed.parse())?;
    draw(Path::new(&folder), seed)?;
    Ok(())
}

/// Draws the figure, and gives the distance at each sigma.
fn draw(folder: &Path, seed: u64) -> Result<Vec<f64>, Box<dyn Error>> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mixture = Gaussians::five();
    let target = mixture.sample(POINTS, &mut rng)?.values;
    let fresh = mixture.sample(POINTS, &mut rng)?.values;
    let (mut seen, mut distances) = (Vec::new(), Vec::new());
    println!("| sigma | sliced distance after {STEPS} steps | theirs |\n|---|---|---|");
    for (sigma, theirs) in SIGMAS {
        let mut particles = Particles::gaussian(POINTS, 2, 1.0, &mut rng)?;
        for step in 1..=STEPS {
            let smoothed = smoothed(&target, sigma, &mut rng)?;
            let all: Vec<usize> = (0..SLICES).collect();
            particles.step(&smoothed, &all, SIZE, &mut rng)?;
            if SEEN.contains(&step) {
                let points = Series::of(Mark::Dots, "", in_plane(&particles.rows()));
                seen.push((format!("sigma {sigma}, step {step}"), points));
            }
        }
        let slices = Slices::tight(2, SLICES, &mut rng)?;
        let (_, squared) = sliced_gradient_and_distance(&particles.rows(), &fresh, &slices)?;
        // As POT gives it: the root of the mean square.
        let distance = squared.sqrt();
        println!("| {sigma} | {distance:.3} | {theirs} |");
        distances.push(distance);
    }
    let side = 5.0;
    let density = |x: f64, y: f64| mixture.density([x, y]);
    let [x, y] = mixture.centres()[0];
    let levels = [0.1, 0.4, 0.7].map(|share| share * density(x, y));
    let levels = Series::level_sets(side, &levels, density);
    let charts = seen.into_iter();
    let charts =
        charts.map(|(title, points)| Chart::plane(title, side, vec![points, levels.clone()]));
    let figure = panels(&charts.collect::<Vec<_>>(), SEEN.len())?;
    let path = folder.join("toy.svg");
    write_file(&path, &figure.bytes)?;
    println!("picture   {}", path.display());
    Ok(distances)
}

/// The projections of the points in fresh slices, with noise.
fn smoothed(
    points: &[f32],
    sigma: f64,
    rng: &mut ChaCha20Rng,
) -> Result<NoisyProjections, Box<dyn Error>> {
    let slices = Slices::tight(2, SLICES, rng)?;
    let values = NormBound::ball(RADIUS)?.project(points, &slices)?;
    let noisy = values
        .iter()
        .map(|value| {
            let noise: f64 = StandardNormal.sample(rng);
            value + sigma * noise
        })
        .collect();
    Ok(NoisyProjections::from_released(noisy, slices, sigma)?)
}

fn in_plane(rows: &[f32]) -> Vec<(f64, f64)> {
    let points = rows.chunks_exact(2).take(600);
    points.map(|p| (f64::from(p[0]), f64::from(p[1]))).collect()
}

#[test]
fn the_toy_draws_its_panels() {
    let folder = std::env::temp_dir().join(format!("toy-{}", std::process::id()));
    let distances = draw(&folder, 0).unwrap();
    // Without smoothing the flow arrives; the more smoothing, the further off it stays.
    assert!(distances[0] < 0.15 && distances[0] < distances[2]);
    assert!(folder.join("toy.svg").exists());
    std::fs::remove_dir_all(folder).unwrap();
}
