//! A private fairness penalty in a burn model of one's own: `cargo run --release --example fair_penalty`.

use burn::{module::Module, tensor::Device};
use dp_core::accounting::{GroupSize, Sampler};
use dp_core::plan::TrainingPlan;
use dp_core::{ledger::Ledger, mechanism::NoiseSource, per_sample::JacobianClip};
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
    // Two groups of public sizes; batches of fixed size from each.
    let batch = [500, 300];
    let group = |records, batch| GroupSize { records, batch };
    let groups = vec![group(5000, 500), group(3000, 300)];
    let sampler = Sampler::KEndGroups { groups };
    let plan = TrainingPlan::within(1.0, 1e-5, 200, sampler).check()?; // refuses what it cannot keep
    let mut mechanism = plan.mechanism(NoiseSource::secret()?)?;
    let place = std::env::temp_dir().join(format!("fair-{}.jsonl", std::process::id()));
    let mut ledger = Ledger::create(&place)?;
    let objective = Objective::new(0.5, Clipping::paper(JacobianClip::Spectral))?;
    let mut adam = ModuleAdam::default();
    for _ in 0..plan.steps() {
        // Your records: a fresh batch of each group, drawn with the mechanism's secret generator.
        let (mut rows, mut labels) = (Vec::new(), Vec::new());
        for i in 0..800 {
            let a = if i < batch[0] { 0.0 } else { 1.0 };
            let x: f32 = mechanism.noise().rng().random();
            rows.extend([x, a]);
            labels.push(if x + 0.3 * a > 0.6 { 1.0 } else { 0.0 });
        }
        let records = GroupedBatch::new(rows, 2, labels, 1, &batch)?;
        let parity = Parity::statistical(batch, swd::Slices::tight(1, 1, &mut public)?)?;
        let stages = Stages::of(vec![&scorer.linear, &scorer.squash]); // the penalty: on the output
        let (terms, engine) = ((TaskLoss::Bernoulli, &parity), Engine::for_device(&device));
        let (bounded, _) = bounded_gradient(&stages, &records, terms, &objective, engine, &device)?;
        let released = mechanism.release(bounded, &mut ledger)?; // the ledger first, then the noise
        scorer = adam.step(0.05, scorer, released.into_params());
    }
    println!(
        "epsilon {}: see {}",
        dp_core::decimal::upper(plan.epsilon_upper()),
        place.display()
    );
    Ok(())
}
