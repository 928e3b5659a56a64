//! A network of one's own with a private fairness penalty: `cargo run --release --example fair_classifier`.

use burn::nn::{Linear, LinearConfig};
use burn::{module::Module, prelude::*};
use private_training::prelude::*;
use rand::{RngExt, SeedableRng};

#[derive(Module, Debug)]
struct Scorer {
    linear: Linear,
}

impl Network<2> for Scorer {
    fn layers(&self) -> Layers<'_, 2> {
        Layers::chain(Chain::features(2).linear(&self.linear).sigmoid())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::flex();
    // Your records: here a score, the group, and a label that favours the second group.
    let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(0);
    let (mut rows, mut labels) = (Vec::new(), Vec::new());
    for i in 0..8000 {
        let (x, group): (f32, f32) = (rng.random(), if i < 5000 { 0.0 } else { 1.0 });
        rows.extend([x, group]);
        labels.push(u8::from(x + 0.3 * group > 0.6));
    }
    let rows = Tensor::<2>::from_data(TensorData::new(rows, [8000, 2]), &device);
    let labels = Tensor::<1, Int>::from_data(TensorData::new(labels, [8000]), &device);
    let linear = LinearConfig::new(2, 1).init(&device);
    let model = Scorer { linear };
    // Two groups of public sizes; batches of fixed size from each.
    let groups = vec![(0..5000).collect(), (5000..8000).collect()];
    let sampler = Sampler::stratified(groups, &[500, 300])?;
    let plan = TrainingPlan::for_epsilon(1.0, 1e-5, 200, sampler).check()?;
    let place = std::env::temp_dir().join(format!("fair-{}.jsonl", std::process::id()));
    let mut ledger = Ledger::create(&place)?;
    let parity = Penalty::between_strata().slices(1);
    let parity = parity.clipping(Clipping::new(1.0, 0.5));
    let loss = Loss::binary_cross_entropy().max_grad_norm(1.0);
    let mut training =
        TrainingConfig::new(Objective::new([loss.weight(0.5)]).penalty(parity.weight(0.5)))
            .learning_rate(0.05)
            .start(model, plan)?;
    while let Some(step) = training.next_step()? {
        step.update_from(&rows, &labels, &mut ledger)?;
    }
    println!("epsilon {}", upper(training.epsilon_spent(&ledger)?));
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
