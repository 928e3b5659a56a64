//! A classifier of MNIST at equal epsilon with independent noise on Poisson samples, and with independent and correlated noise
//! on fixed batches: `cargo run --release --example correlated_mnist -- [mnist|glyphs] [batch] [passes] [seeds]`.
//!
//! Neighbours have one record blank (zero-out), and delta is 1e-5. Each row takes the learning rate that is best on the test
//! images with the first seed, which favours all rows alike. Noise is of known seeds, so that the numbers come again: nothing here is private.

use std::collections::BTreeMap;

use burn::nn::{Linear, LinearConfig, conv::Conv2d, conv::Conv2dConfig};
use burn::{module::Module, prelude::*};
use data::{Dataset, DatasetKind, LoadOptions, Records};
use dp_core::{mechanism::NoiseSource, sampling::Sampler};
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

#[derive(Clone, Copy, Debug)]
enum Arm {
    WithoutPrivacy,
    Poisson,
    /// Fixed batches in a cycle, noise of this bandwidth; 1 is independent noise.
    Cycle(u64),
}

type Failed = Box<dyn std::error::Error>;

struct Task {
    train: (Tensor<4>, Tensor<1, Int>),
    test: (Tensor<4>, Tensor<1, Int>),
    batch: usize,
    passes: usize,
}

impl Task {
    fn plan(&self, arm: Arm, epsilon: f64) -> Result<TrainingPlan, Failed> {
        let records = self.train.1.dims()[0];
        let steps = (self.passes * records).div_ceil(self.batch) as u64;
        let cycle = || Sampler::cyclic_zero_out(records, self.batch);
        Ok(match arm {
            Arm::Poisson => {
                let sampler =
                    Sampler::poisson_zero_out(records, self.batch as f64 / records as f64)?;
                TrainingPlan::for_epsilon(epsilon, 1e-5, steps, sampler)
            }
            Arm::Cycle(p) => {
                TrainingPlan::for_epsilon(epsilon, 1e-5, steps, cycle()?).correlated(p)
            }
            Arm::WithoutPrivacy => TrainingPlan::for_epsilon(epsilon, 1e-5, steps, cycle()?),
        })
    }

    /// The share of test images that are classified rightly.
    fn accuracy(&self, arm: Arm, epsilon: f64, rate: f64, seed: u64) -> Result<f64, Failed> {
        let device = Device::flex();
        device.seed(seed);
        let conv = Conv2dConfig::new([1, 16], [8, 8]).with_stride([4, 4]);
        let model = Classifier {
            conv: conv.init(&device),
            linear: LinearConfig::new(16 * 6 * 6, 10).init(&device),
        };
        let config = TrainingConfig::new(Loss::cross_entropy().max_grad_norm(1.0))
            .optimizer(Optimizer::sgd())
            .learning_rate(rate);
        let (plan, mut noise) = (self.plan(arm, epsilon)?, NoiseSource::insecure(seed));
        let steps = plan.steps;
        let mut training = match arm {
            Arm::WithoutPrivacy => {
                config.start_without_privacy(model, plan.sampler, noise.rng().clone())?
            }
            _ => config.start_with_noise(model, plan.check()?.releaser(noise))?,
        };
        let folder = tempfile::tempdir()?;
        let mut ledger = Ledger::create(&folder.path().join("ledger.jsonl"))?;
        for _ in 0..steps {
            let step = training.next_step()?.ok_or("steps beyond the plan")?;
            step.update_from(&self.train.0, &self.train.1, &mut ledger)?;
        }
        if training.plan().is_some() {
            assert!(training.epsilon_spent(&ledger)? <= epsilon);
        }
        let (images, labels) = self.test.clone();
        let right = training.network.forward(images)?.output.argmax(1);
        let right = right.equal(labels.unsqueeze_dim(1)).float().mean();
        Ok(f64::from(right.into_scalar::<f32>()))
    }

    /// The power of two that is the best rate with seed 0, and the accuracies of all seeds there.
    fn row(&self, arm: Arm, epsilon: f64, seeds: u64) -> Result<(f64, Vec<f64>), Failed> {
        let with = |power: i32, seed| self.accuracy(arm, epsilon, 2.0_f64.powi(power), seed);
        let mut found = BTreeMap::new();
        let mut best = 0;
        while let Some(next) = [best, best - 1, best + 1]
            .iter()
            .find(|p| !found.contains_key(*p))
        {
            found.insert(*next, with(*next, 0)?);
            if found[next] > found[&best] {
                best = *next;
            }
        }
        let others = (1..seeds).map(|seed| with(best, seed));
        let all = std::iter::once(Ok(found[&best])).chain(others);
        Ok((2.0_f64.powi(best), all.collect::<Result<_, _>>()?))
    }
}

fn tensors(data: &Records) -> Result<(Tensor<4>, Tensor<1, Int>), Failed> {
    let (device, n) = (Device::flex(), data.len());
    let pixels = TensorData::new(data.pixels()?.to_vec(), [n, 1, 28, 28]);
    let labels = TensorData::new(data.labels().to_vec(), [n]);
    let images = Tensor::<4>::from_data(pixels.convert::<f32>(), &device) / 255.0;
    Ok((images, Tensor::from_data(labels, &device)))
}

fn run(args: &[&str]) -> Result<(), Failed> {
    let number = |i: usize, or: usize| args.get(i).map_or(Ok(or), |text| text.parse());
    let kind = match args.first() {
        Some(&"glyphs") => DatasetKind::Glyphs,
        _ => DatasetKind::Mnist,
    };
    let data = Dataset::load(kind, &LoadOptions::default())?;
    let task = Task {
        train: tensors(&data.train)?,
        test: tensors(&data.test)?,
        batch: number(1, 600)?,
        passes: number(2, 10)?,
    };
    let seeds = number(3, 3)? as u64;
    let steps = task.plan(Arm::Poisson, 1.0)?.steps;
    println!("{} steps of {} records, {:?}", steps, task.batch, kind);
    println!("| noise | epsilon | multiplier | rate | accuracy, % |\n|---|---|---|---|---|");
    let arms = [Arm::Poisson, Arm::Cycle(1), Arm::Cycle(8), Arm::Cycle(64)];
    let private = [1.0, 8.0].map(|epsilon| arms.map(|arm| (arm, epsilon)));
    let rows = private.concat().into_iter();
    for (arm, epsilon) in std::iter::once((Arm::WithoutPrivacy, f64::INFINITY)).chain(rows) {
        let z = match arm {
            Arm::WithoutPrivacy => 0.0,
            _ => task.plan(arm, epsilon)?.check()?.noise_multiplier(),
        };
        let (rate, found) = task.row(arm, epsilon, seeds)?;
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        let squares: f64 = found.iter().map(|a| (a - mean).powi(2)).sum();
        let deviation = (squares / (found.len() as f64 - 1.0).max(1.0)).sqrt();
        let (mean, deviation) = (100.0 * mean, 100.0 * deviation);
        println!("| {arm:?} | {epsilon} | {z:.3} | {rate} | {mean:.2} +- {deviation:.2} |");
    }
    Ok(())
}

fn main() -> Result<(), Failed> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    run(&args.iter().map(String::as_str).collect::<Vec<_>>())
}
