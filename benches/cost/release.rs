//! What one release costs: of noisy projections of rows of 28x28 pixels with a one-hot class, a thousand slices; and of what a
//! flow is moved by, where records come block by block.
//!
//! Whole: the draw of the slices where they are sampled anew, rows into the ball, projections, noise from the secret
//! generator, and the line of the ledger on disk. `benches/python/release.py` is the published form in PyTorch, which
//! draws slices, normalises them, and adds noise to a product, without a ledger or secret noise.
//!
//! Floor: `n k` normal draws; and for signs `n k log2 k` additions, for other frames `n k d` multiplications.

use std::hint::black_box;

use dp_core::ledger::Ledger;
use dp_core::mechanism::NoiseSource;
use dp_core::plan::TrainingPlan;
use dp_core::sampling::Sampler;
use lab::diagnostic::{Failure, OrFailed};
use private_queries::marginals::Bins;
use private_queries::{LabelledMarginals, MarginalQuery, Moments, Projections, Query};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::{NormBound, Slices, UniformBall};

use super::median;

const RECORDS: usize = 60_000;
const DIM: usize = 794;

/// Measures and prints, a line a frame and a batch.
pub(crate) fn print(repeat: u64) -> Result<(), Failure> {
    println!("One release of noisy projections, d = {DIM}, on the host\n");
    println!("| rows | slices | ms |");
    println!("|---|---|---|");
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let tight = Slices::tight(DIM, 1000, &mut rng).or_failed()?;
    for batch in [100, 1000] {
        let rows = UniformBall::new(DIM).or_failed()?;
        let rows = rows.sample(batch, &mut rng);
        let ms = one(repeat, &rows, || Ok(tight.clone()))?;
        println!("| {batch} | 1000, a tight frame that was sampled before | {ms:.2} |");
        let ms = one(repeat, &rows, || {
            Slices::signs(DIM, 1024, &mut rng).or_failed()
        })?;
        println!("| {batch} | 1024 signs, sampled anew | {ms:.2} |");
        let signs = Slices::signs(DIM, 1024, &mut rng).or_failed()?;
        let ms = one(repeat, &rows, || Ok(signs.clone()))?;
        println!("| {batch} | 1024 signs that were sampled before | {ms:.2} |");
    }
    blocks(repeat)
}

/// Records of a block, and their numbers.
const BLOCK: usize = 1 << 17;
const LATENT: usize = 64;

/// Measures and prints, a line a query, what a block adds to it.
fn blocks(repeat: u64) -> Result<(), Failure> {
    println!(
        "\nReleases of records of {LATENT} numbers that come in blocks of {BLOCK}, on the host\n"
    );
    println!("| release | values | seconds for a million records |");
    println!("|---|---|---|");
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let ball = UniformBall::new(LATENT).or_failed()?;
    let block = [ball.sample(BLOCK, &mut rng)];
    let moments = Moments::labelled(1, LATENT, 1.0);
    part("moments", &moments, &block, repeat)?;
    for slices in [64, 256] {
        let region = NormBound::ball(1.0).or_failed()?;
        let directions = Slices::tight(LATENT, slices, &mut rng).or_failed()?;
        let bins = Bins::uniform(1.0, 64).or_failed()?;
        let query = MarginalQuery::new(directions, region, bins);
        let query = LabelledMarginals::from_queries(vec![query.or_failed()?]).or_failed()?;
        part(
            &format!("{slices} sliced marginals of 64 bins"),
            &query,
            &block,
            repeat,
        )?;
    }
    Ok(())
}

fn part<Q: Query<Records = [Vec<f32>]>>(
    name: &str,
    query: &Q,
    block: &[Vec<f32>],
    repeat: u64,
) -> Result<(), Failure> {
    let ms = median(repeat, || {
        black_box(query.measure_part(block).or_failed()?);
        Ok(())
    })?;
    let seconds = ms / 1e3 * 1e6 / BLOCK as f64;
    println!("| {name} | {} | {seconds:.2} |", query.len());
    Ok(())
}

fn one(
    repeat: u64,
    rows: &[f32],
    mut slices: impl FnMut() -> Result<Slices, Failure>,
) -> Result<f64, Failure> {
    let (batch, rows) = (rows.len() / DIM, [rows.to_vec()]);
    let folder = tempfile::tempdir().or_failed()?;
    let ledger = Ledger::create(&folder.path().join("ledger.jsonl"));
    let mut ledger = ledger.or_failed()?;
    let sampler = Sampler::fixed_size(RECORDS, batch).or_failed()?;
    let plan = TrainingPlan::with_noise_multiplier(1.0, 1e-6, repeat + 1, sampler);
    let secret = NoiseSource::secret().or_failed()?;
    let mut releaser = plan.check().or_failed()?.releaser(secret);
    let ball = NormBound::ball(1.0).or_failed()?;
    median(repeat, || {
        let draw = releaser.draw().or_failed()?;
        let query = Projections::new(slices()?, ball, vec![batch]);
        let measured = query.measure(&rows).or_failed()?;
        let released = releaser
            .release_step(&measured, &[batch], &draw, &mut ledger)
            .or_failed()?;
        black_box(query.read(&released).or_failed()?);
        Ok(())
    })
}
