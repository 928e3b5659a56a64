//! An autoencoder of one's own, pulled to a public prior: `cargo run --release --example autoencoder`.

use burn::nn::{Linear, LinearConfig};
use burn::{module::Module, prelude::*};
use data::{Dataset, DatasetKind, LoadOptions};
use private_training::prelude::*;

#[derive(Module, Debug)]
struct Autoencoder {
    shrink: Linear,
    latent: Linear,
    widen: Linear,
    pixels: Linear,
}

impl Network<2> for Autoencoder {
    fn layers(&self) -> Layers<'_, 2> {
        let small = Chain::features(784).linear(&self.shrink).relu();
        let latent = small.linear(&self.latent).mark_latent();
        Layers::chain(latent.linear(&self.widen).relu().linear(&self.pixels))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = Dataset::load(DatasetKind::Glyphs, &LoadOptions::default())?.train;
    let (device, n) = (Device::flex(), data.len());
    let pixels = TensorData::new(data.pixels()?.to_vec(), [n, 784]).convert::<f32>();
    let images = Tensor::<2>::from_data(pixels, &device) / 255.0;
    let linear = |inputs, outputs| LinearConfig::new(inputs, outputs).init(&device);
    let model = Autoencoder {
        shrink: linear(784, 64),
        latent: linear(64, 6),
        widen: linear(6, 64),
        pixels: linear(64, 784),
    };
    let plan = TrainingPlan::for_epsilon(10.0, 1e-6, 50, Sampler::fixed_size(n, 600)?).check()?;
    let place = std::env::temp_dir().join(format!("autoencoder-{}.jsonl", std::process::id()));
    let mut ledger = Ledger::create(&place)?;
    let prior = Penalty::to(Prior::UniformBall).clipping(Clipping::new(1.5, 2.4));
    let loss = Loss::binary_cross_entropy_with_logits().max_grad_norm(1.0);
    let mut training = TrainingConfig::new(Objective::new([loss]).penalty(prior.weight(10.0)))
        .start(model, plan)?;
    while let Some(step) = training.next_step()? {
        step.update_from(&images, &images, &mut ledger)?; // the target of an image is the image
    }
    println!("epsilon {}", upper(training.epsilon_spent(&ledger)?));
    Ok(())
}

#[test]
fn it_runs() {
    main().unwrap();
}
