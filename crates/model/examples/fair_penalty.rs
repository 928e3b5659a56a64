//! A private fairness penalty in a burn model of one's own: `cargo run --release --example fair_penalty`.

use burn::{module::Module, tensor::Device};
use dp_core::{ledger::Ledger, mechanism::NoiseSource, per_sample::JacobianClip};
use dp_core::{plan::TrainingPlan, sampling::GroupSampler};
use model::fairness::*;
use model::{adam::ModuleAdam, layers::Linear, layers::Sigmoid};
use rand::{RngExt, SeedableRng};

#[derive(Module, Debug)] // a burn module: burn saves it, moves it, and runs it on any backend
struct Scorer {
    linear: Linear,
    squash: Sigmoid,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (device, mut public) = (Device::flex(), rand_chacha::ChaCha20Rng::seed_from_u64(0));
    let linear = Linear::new(2, 1, 1.0, &mut public, &device);
    let squash = Sigmoid::new(1, 0.0);
    let mut scorer = Scorer { linear, squash };
    // Your records: two groups of public sizes; batches of fixed size from each.
    let batch = [500, 300];
    let sampler = GroupSampler::new(vec![(0..5000).collect(), (5000..8000).collect()], &batch)?;
    let plan = TrainingPlan::within(1.0, 1e-5, 200, sampler).check()?; // refuses what it cannot keep
    let mut releaser = plan.releaser(NoiseSource::secret()?);
    let place = std::env::temp_dir().join(format!("fair-{}.jsonl", std::process::id()));
    let mut ledger = Ledger::create(&place)?;
    let objective = Objective::new(0.5, Clipping::paper(JacobianClip::Spectral))?;
    let people: Vec<f32> = (0..8000).map(|_| public.random()).collect();
    let mut adam = ModuleAdam::default();
    for _ in 0..releaser.plan().steps() {
        let draw = releaser.draw()?; // a fresh batch of each group, secretly
        let (mut rows, mut labels) = (Vec::new(), Vec::new());
        for i in draw.indices() {
            let (x, a) = (people[i], if i < 5000 { 0.0 } else { 1.0 });
            rows.extend([x, a]);
            labels.push(if x + 0.3 * a > 0.6 { 1.0 } else { 0.0 });
        }
        let records = GroupedBatch::new(rows, 2, labels, 1, &batch)?;
        let parity = Parity::statistical(batch, swd::Slices::tight(1, 1, &mut public)?)?;
        let stages = Stages::of(vec![&scorer.linear, &scorer.squash]); // the penalty: on the output
        let (terms, engine) = ((TaskLoss::Bernoulli, &parity), Engine::for_device(&device));
        let (clipped, _) = bounded_gradient(&stages, &records, terms, &objective, engine, &device)?;
        let released = releaser.release(clipped.of(draw)?, &mut ledger)?; // the ledger first, then the noise
        scorer = adam.step(0.05, scorer, released.into_params());
    }
    println!(
        "epsilon {}: see {}",
        dp_core::decimal::upper(releaser.plan().epsilon_spent(&ledger.entries()?)?),
        place.display()
    );
    Ok(())
}
