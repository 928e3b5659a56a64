//! What one release of noisy projections costs: rows of 28x28 pixels with a one-hot class, a thousand slices.
//!
//! Whole: the draw of the slices where they are sampled anew, rows into the ball, projections, noise from the secret
//! generator, and the line of the ledger on disk. `benches/python/release.py` is the published form in PyTorch, which
//! draws slices, normalises them, and adds noise to a product, without a ledger or secret noise.
//!
//! Floor: `n k` normal draws; and for signs `n k log2 k` additions, for other frames `n k d` multiplications.

use std::hint::black_box;

use dp_core::ledger::Ledger;
use dp_core::mechanism::{BoundedVector, NoiseSource, Sensitivity};
use dp_core::plan::{Noise, TrainingPlan};
use dp_core::sampling::FixedSizeSampler;
use lab::diagnostic::Failure;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;
use swd::smoothed::{NoisyProjections, project};
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
    let batch = rows.len() / DIM;
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
        let slices = slices()?;
        let projected = project(rows, &slices, ball).map_err(Failure::failed)?;
        let sensitivity = Sensitivity::l2(projected.l2_sensitivity_upper());
        let sensitivity = sensitivity.map_err(Failure::failed)?;
        let values = projected.before_noise().to_vec();
        let released = BoundedVector::new(values, sensitivity, &[batch], draw)
            .and_then(|bounded| releaser.release_step_vector(bounded, &mut ledger))
            .map_err(Failure::failed)?;
        let deviation = releaser.deviation(sensitivity);
        let target = NoisyProjections::from_released(released, slices, deviation);
        black_box(target.map_err(Failure::failed)?);
        Ok(())
    })
}
