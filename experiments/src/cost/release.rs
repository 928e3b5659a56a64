//! What one release of noisy projections costs: rows of 28x28 pixels with a one-hot class, a thousand slices.
//!
//! Whole: the draw of the slices where they are sampled anew, rows into the ball, projections, noise from the secret
//! generator, and the line of the ledger on disk. `benches/python/release.py` is the published form in PyTorch, which
//! draws slices, normalises them, and adds noise to a product, without a ledger or secret noise.
//!
//! Floor: `n k` normal draws; and for signs `n k log2 k` additions, for other frames `n k d` multiplications.

use std::hint::black_box;

use dp_core::ledger::Ledger;
use dp_core::mechanism::NoiseSource;
use dp_core::plan::{Noise, TrainingPlan};
use dp_core::sampling::FixedSizeSampler;
use lab::diagnostic::Failure;
use private_queries::{Projections, Query};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::{Region, Slices, UniformBall};

use super::median;

const RECORDS: usize = 60_000;
const DIM: usize = 794;

/// Measures and prints, a line a frame and a batch.
pub(crate) fn print(repeat: u64) -> Result<(), Failure> {
    println!("One release of noisy projections, d = {DIM}, on the host\n");
    println!("| rows | slices | ms |");
    println!("|---|---|---|");
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let tight = Slices::tight(DIM, 1000, &mut rng).map_err(Failure::failed)?;
    for batch in [100, 1000] {
        let rows = UniformBall::new(DIM).map_err(Failure::failed)?;
        let rows = rows.sample(batch, &mut rng);
        let ms = one(repeat, &rows, || Ok(tight.clone()))?;
        println!("| {batch} | 1000, a tight frame that was sampled before | {ms:.2} |");
        let ms = one(repeat, &rows, || {
            Slices::signs(DIM, 1024, &mut rng).map_err(Failure::failed)
        })?;
        println!("| {batch} | 1024 signs, sampled anew | {ms:.2} |");
        let signs = Slices::signs(DIM, 1024, &mut rng).map_err(Failure::failed)?;
        let ms = one(repeat, &rows, || Ok(signs.clone()))?;
        println!("| {batch} | 1024 signs that were sampled before | {ms:.2} |");
    }
    Ok(())
}

fn one(
    repeat: u64,
    rows: &[f32],
    mut slices: impl FnMut() -> Result<Slices, Failure>,
) -> Result<f64, Failure> {
    let (batch, rows) = (rows.len() / DIM, [rows.to_vec()]);
    let folder = tempfile::tempdir().map_err(Failure::failed)?;
    let ledger = Ledger::create(&folder.path().join("ledger.jsonl"));
    let mut ledger = ledger.map_err(Failure::failed)?;
    let sampler = FixedSizeSampler::new(RECORDS, batch).map_err(Failure::failed)?;
    let plan = TrainingPlan::of(Noise::Multiplier(1.0), 1e-6, repeat + 1, sampler);
    let secret = NoiseSource::secret().map_err(Failure::failed)?;
    let mut releaser = plan.check().map_err(Failure::failed)?.releaser(secret);
    let ball = Region::ball(1.0).map_err(Failure::failed)?;
    median(repeat, || {
        let draw = releaser.draw().map_err(Failure::failed)?;
        let query = Projections::new(slices()?, ball, vec![batch]);
        let measured = query.measure(&rows).map_err(Failure::failed)?;
        let released = releaser
            .release_step(&measured, &[batch], &draw, &mut ledger)
            .map_err(Failure::failed)?;
        black_box(query.read(&released).map_err(Failure::failed)?);
        Ok(())
    })
}
