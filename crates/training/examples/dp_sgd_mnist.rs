//! A classifier of MNIST by DP-SGD, with burn's own layers: `cargo run --release --example dp_sgd_mnist`.

use burn::nn::{Linear, LinearConfig, conv::Conv2d, conv::Conv2dConfig};
use burn::{module::Module, prelude::*};
use data::{Dataset, DatasetKind, LoadOptions};
use private_training::prelude::*;

#[derive(Module, Debug)]
struct Classifier {
    conv: Conv2d,
    linear: Linear,
}

impl Network<4> for Classifier {
    fn layers(&self) -> Layers<'_, 4> {
        let seen = Chain::image([1, 28, 28]).conv2d(&self.conv).relu();
        Layers::chain(seen.flatten().linear(&self.linear))
    }
}

fn run(kind: DatasetKind, steps: u64) -> Result<f64, Box<dyn std::error::Error>> {
    let data = Dataset::load(kind, &LoadOptions::default())?.train;
    let (device, n) = (Device::flex(), data.len());
    let pixels = TensorData::new(data.pixels()?.to_vec(), [n, 1, 28, 28]);
    let images = Tensor::<4>::from_data(pixels.convert::<f32>(), &device) / 255.0;
    let labels = TensorData::new(data.labels().to_vec(), [n]);
    let labels = Tensor::<1, Int>::from_data(labels, &device);
    let linear = LinearConfig::new(16 * 6 * 6, 10).init(&device);
    let conv = Conv2dConfig::new([1, 16], [8, 8]).with_stride([4, 4]);
    let conv = conv.init(&device);
    let model = Classifier { conv, linear };
    let path = std::env::temp_dir().join(format!("dp-sgd-{}.jsonl", std::process::id()));
    let sampler = Sampler::poisson_zero_out(n, 0.02)?; // samples the batches, and is what is accounted
    let plan = TrainingPlan::for_epsilon(1.0, 1e-5, steps, sampler).check()?; // refuses what it cannot keep
    let mut ledger = Ledger::create(&path)?;
    let loss = Loss::cross_entropy().max_grad_norm(1.0);
    let mut training = TrainingConfig::new(loss).start(model, plan)?; // Adam, unless told otherwise
    while let Some(step) = training.next_step()? {
        step.update_from(&images, &labels, &mut ledger)?; // clip, sum, ledger, noise, optimizer
    }
    Ok(training.epsilon_spent(&ledger)?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("epsilon {}", upper(run(DatasetKind::Mnist, 100)?));
    Ok(())
}

#[test]
fn it_keeps_its_budget() {
    assert!(run(DatasetKind::Glyphs, 3).unwrap() <= 1.0);
}
