//! Barycentres of two classes of digits by one release of their marginals, and by released gradients of points, beside those of
//! the records themselves.

use std::fmt::Write as _;
use std::path::PathBuf;

use burn::tensor::Device;
use dp_core::ledger::Ledger;
use dp_core::mechanism::NoiseSource;
use dp_core::plan::{ReleaseNoise, TrainingPlan};
use dp_core::sampling::GroupSampler;
use lab::diagnostic::Failure;
use lab::evaluate::transport::sliced_w2_squared;
use lab::run_folder::write_file;
use lab::session::{Ends, bounded, refused_plan, within};
use model::latent::{ImageShape, LatentSpace};
use private_queries::marginals::{Barycentre, Basis, Bins, SlicedMarginals};
use private_queries::{GroupMarginals, MarginalQuery, PointsGradient, Query};
use rand::{Rng, RngExt};
use rand_chacha::ChaCha20Rng;
use swd::flow::{StepSize, StoredCells};
use swd::{Cells, FlowTarget, Particles, Region, Slices};

use crate::cosines::CosineSpace;
use crate::pictures;
use crate::random::stream;
use crate::records;

/// The dimension of the latents: cosines, which learn from nothing.
const DIM: usize = 24;
const SLICES: usize = 96;
const SIZES: [usize; 3] = [300, 1000, 5000];
const EPSILONS: [f64; 3] = [0.2, 1.0, 10.0];
const BINS: [usize; 3] = [16, 32, 64];
const REPEATS: usize = 3;
const PARTICLES: usize = 1000;
const STEPS: u64 = 100;
/// Points that private gradients move, their steps, and the share of the way to its mean target that a point goes in one.
const POINTS: [usize; 3] = [5, 20, 100];
const DESCENT: u64 = 20;
const RATE: f64 = 0.2;
/// Weights of the first class in the rows of the picture, and the release that it is of.
const SHARES: [f64; 5] = [1.0, 0.75, 0.5, 0.25, 0.0];
const PICTURED: (usize, f64, usize) = (5000, 1.0, 32);
const COLUMNS: usize = 10;

/// Say how far private barycentres of two classes of digits are from that of the records
///
/// An experiment on public digits: its noise has a known seed and protects nothing.
#[derive(Debug, clap::Parser)]
#[command(name = "barycentre")]
pub(crate) struct Arguments {
    /// Folder for the picture and the numbers.
    folder: PathBuf,
    /// Digits to have a barycentre of.
    #[arg(long, num_args = 2, default_values_t = [1, 0])]
    classes: Vec<usize>,
    /// Folder with the files of MNIST.
    #[arg(long)]
    data_dir: Option<PathBuf>,
    /// Delta of the guarantees.
    #[arg(long, default_value_t = 1e-5)]
    delta: f64,
    /// Seed of slices, particles and noise.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// What samples all records of two groups of `n`.
fn all_records(n: usize) -> Result<GroupSampler, Failure> {
    let sampler = GroupSampler::new(vec![(0..n).collect(), (n..2 * n).collect()], &[n; 2]);
    sampler.map_err(Failure::failed)
}

/// Marginals of two groups of `n` records, as a release at `epsilon` tells them.
fn released(
    groups: &[Vec<f32>],
    slices: &Slices,
    bins: usize,
    (epsilon, delta): (f64, f64),
    rng: &mut impl Rng,
) -> Result<Vec<SlicedMarginals>, Failure> {
    let n = groups[0].len() / DIM;
    let plan = TrainingPlan::within(epsilon, delta, 0, all_records(n)?);
    let plan = plan.and("marginals", ReleaseNoise::Share(1.0)).check();
    let noise = NoiseSource::insecure(rng.random());
    let mut releaser = plan.map_err(refused_plan)?.releaser(noise);
    let ball = Region::ball(1.0).map_err(Failure::failed)?;
    let bins = Bins::uniform(1.0, bins).map_err(Failure::failed)?;
    let query = MarginalQuery::new(slices.clone(), ball, bins, Basis::Haar);
    let query = query.map_err(Failure::failed)?;
    let query = GroupMarginals::new(vec![query; 2], vec![n; 2]).map_err(Failure::failed)?;
    let measured = query.measure(groups).map_err(Failure::failed)?;
    let (_folder, mut ledger) = ledger()?;
    let noisy = releaser.release_vector("marginals", &measured, &mut ledger);
    let noisy = noisy.map_err(Failure::failed)?;
    query.read(&noisy).map_err(Failure::failed)
}

/// A ledger that nobody reads, in a folder that goes with it.
fn ledger() -> Result<(tempfile::TempDir, Ledger), Failure> {
    let folder = tempfile::tempdir().map_err(Failure::failed)?;
    let ledger = Ledger::create(&folder.path().join("ledger.jsonl")).map_err(Failure::failed)?;
    Ok((folder, ledger))
}

/// Points at the barycentre of two groups of `n` records with equal weights, by gradients of all records with noise.
fn descended(
    groups: &[Vec<f32>],
    slices: &Slices,
    points: usize,
    (epsilon, delta): (f64, f64),
    rng: &mut impl Rng,
) -> Result<Vec<f32>, Failure> {
    let n = groups[0].len() / DIM;
    let plan = TrainingPlan::within(epsilon, delta, DESCENT, all_records(n)?).check();
    let noise = NoiseSource::insecure(rng.random());
    let mut releaser = plan.map_err(refused_plan)?.releaser(noise);
    let (_folder, mut ledger) = ledger()?;
    let ball = Region::ball(1.0).map_err(Failure::failed)?;
    let start = Particles::gaussian(points, DIM, 0.3, rng).map_err(Failure::failed)?;
    let mut rows = start.rows();
    for _ in 0..DESCENT {
        let query = PointsGradient::new(rows.clone(), slices.clone(), ball, &[n; 2], &[1.0; 2]);
        let query = query.map_err(Failure::failed)?;
        let draw = releaser.draw().map_err(Failure::failed)?;
        let measured = query.measure(groups).map_err(Failure::failed)?;
        let noisy = releaser.release_step(&measured, &[n; 2], &draw, &mut ledger);
        let gradient = query.read(&noisy.map_err(Failure::failed)?);
        // A whole step is m d / 2: to where the slices say that the point should be.
        let step = RATE * (points * DIM) as f64 / 2.0;
        let moves = rows.iter_mut().zip(gradient.map_err(Failure::failed)?);
        moves.for_each(|(x, slope)| *x -= (step * slope) as f32);
        ball.restrict(&mut rows, DIM);
    }
    Ok(rows)
}

/// The barycentre of the records themselves, with equal weights.
fn exact(groups: &[Vec<f32>], slices: &Slices) -> Result<StoredCells, Failure> {
    let mut mean = vec![0.0; SLICES * PARTICLES];
    for rows in groups {
        let cells = Cells::of_sample(rows, slices, PARTICLES).map_err(Failure::failed)?;
        let values = mean.iter_mut().zip(cells.values());
        values.for_each(|(mean, cell)| *mean += cell / groups.len() as f64);
    }
    let cells = Cells::from_rows(PARTICLES, mean, vec![0.0; SLICES]).map_err(Failure::failed)?;
    StoredCells::new(slices.clone(), cells).map_err(Failure::failed)
}

/// The root of the mean over slices of `W_2^2` between two targets.
fn apart(a: &impl FlowTarget, b: &impl FlowTarget) -> f64 {
    let mut squares = 0.0;
    for l in 0..SLICES {
        let [mut p, mut q] = [(); 2].map(|()| vec![0.0_f32; PARTICLES]);
        a.write_cells(l, &mut p);
        b.write_cells(l, &mut q);
        let pairs = p.iter().zip(&q);
        squares += pairs.map(|(p, q)| f64::from(p - q).powi(2)).sum::<f64>();
    }
    (squares / (SLICES * PARTICLES) as f64).sqrt()
}

/// Particles at a target.
fn at(target: &impl FlowTarget, seed: u64) -> Result<Vec<f32>, Failure> {
    let mut rng = stream(seed, 1);
    let start = Particles::gaussian(PARTICLES, DIM, 0.3, &mut rng);
    let mut particles = start.map_err(Failure::failed)?;
    let all: Vec<usize> = (0..SLICES).collect();
    let size = StepSize {
        step: DIM as f64,
        diffusion: 0.0,
    };
    for _ in 0..STEPS {
        let moved = particles.step(target, &all, size, &mut rng);
        moved.map_err(Failure::failed)?;
    }
    Ok(particles.rows())
}

/// Prints and writes the errors, and draws barycentres of one release.
pub(crate) fn draw(arguments: &Arguments) -> Result<(), Failure> {
    let &Arguments {
        ref folder,
        ref classes,
        ref data_dir,
        delta,
        seed,
    } = arguments;
    within("delta", delta, 0.0, 1.0, Ends::NEITHER)?;
    let kind = records::kind("dataset", "mnist")?;
    let (data, _) = records::load_private(kind, seed, None, data_dir.as_deref())?;
    let digits = data.train;
    let shape = ImageShape {
        channels: 1,
        side: digits.width(),
    };
    let space = CosineSpace::new(shape, DIM).map_err(Failure::failed)?;
    let device = Device::flex();
    let mut all = Vec::new();
    for &class in classes {
        let places = digits.indices_by_class();
        let of_class = places.get(class).map_or(&[][..], Vec::as_slice);
        let least = SIZES[SIZES.len() - 1];
        bounded(
            "classes",
            class,
            of_class.len() >= least,
            "digits of 0 to 9",
        )?;
        let images = digits.gather(of_class).unwrap_or_default();
        all.push(space.encode_host(&images, &device));
    }
    let first =
        |n: usize| -> Vec<Vec<f32>> { all.iter().map(|rows| rows[..n * DIM].to_vec()).collect() };
    let mut rng: ChaCha20Rng = stream(seed, 0);
    let slices = Slices::tight(DIM, SLICES, &mut rng).map_err(Failure::failed)?;
    let fresh = Slices::tight(DIM, SLICES, &mut rng).map_err(Failure::failed)?;
    let points_apart = |a: &[f32], b: &[f32]| -> Result<f64, Failure> {
        let squared = sliced_w2_squared(a, b, &fresh).map_err(Failure::failed)?;
        Ok(squared.max(0.0).sqrt())
    };
    let whole = exact(&all, &slices)?;
    println!(
        "digits {} and {}: {:.4} apart",
        classes[0],
        classes[1],
        points_apart(&all[0], &all[1])?
    );
    println!("| records of a class | epsilon | release | marginals | points | sampling |");
    println!("|---|---|---|---|---|---|");
    let mut csv = String::from(
        "records of a class,epsilon,release,error of marginals,error of points,sampling\n",
    );
    for n in SIZES {
        let groups = first(n);
        let own = exact(&groups, &slices)?;
        let sampling = apart(&own, &whole);
        let own_points = at(&own, seed)?;
        let mut row = |epsilon: f64, release: &str, marginals: &str, points: f64| {
            println!("| {n} | {epsilon} | {release} | {marginals} | {points:.4} | {sampling:.4} |");
            let row = writeln!(
                csv,
                "{n},{epsilon},{release},{marginals},{points:.4},{sampling:.4}"
            );
            row.map_err(Failure::failed)
        };
        for epsilon in EPSILONS {
            let privacy = (epsilon, delta);
            for bins in BINS {
                let (mut marginals, mut points) = (0.0, 0.0);
                for _ in 0..REPEATS {
                    let released = released(&groups, &slices, bins, privacy, &mut rng)?;
                    let middle = Barycentre::new(&released, &[1.0, 1.0]);
                    let middle = middle.map_err(Failure::failed)?;
                    marginals += apart(&middle, &own) / REPEATS as f64;
                    points += points_apart(&at(&middle, seed)?, &own_points)? / REPEATS as f64;
                }
                row(
                    epsilon,
                    &format!("{bins} bins"),
                    &format!("{marginals:.4}"),
                    points,
                )?;
            }
            for count in POINTS {
                let mut points = 0.0;
                for _ in 0..REPEATS {
                    let rows = descended(&groups, &slices, count, privacy, &mut rng)?;
                    points += points_apart(&rows, &own_points)? / REPEATS as f64;
                }
                row(epsilon, &format!("gradients of {count} points"), "", points)?;
            }
        }
    }
    let path = folder.join("barycentre.csv");
    println!("numbers   {}", path.display());
    write_file(&path, csv.as_bytes())?;
    let (n, epsilon, bins) = PICTURED;
    let released = released(&first(n), &slices, bins, (epsilon, delta), &mut rng)?;
    let mut images = Vec::new();
    for share in SHARES {
        let target = Barycentre::new(&released, &[share, 1.0 - share]);
        let rows = at(&target.map_err(Failure::failed)?, seed)?;
        images.extend(space.decode_host(&rows[..COLUMNS * DIM], &device));
    }
    let path = folder.join("barycentre.png");
    println!("picture   {}", path.display());
    write_file(&path, &pictures::grid(&images, shape, COLUMNS)?)
}
