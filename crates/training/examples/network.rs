//! A network that is trained privately, stopped and resumed, judged and saved, as docs/tutorials/network.md tells:
//! `cargo run --release --example network`.

use std::path::Path;

use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::{GroupNorm, GroupNormConfig, Linear, LinearConfig};
use burn::{module::Module, prelude::*};
use data::{Dataset, DatasetKind, LoadOptions, Records};
use private_training::{Checkpoint, prelude::*};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[derive(Module, Debug)]
struct Classifier {
    conv: Conv2d,
    norm: GroupNorm, // over channels of one image; a batch norm would mix images, and is refused
    linear: Linear,
}

impl Classifier {
    fn new(device: &Device) -> Self {
        let conv = Conv2dConfig::new([1, 16], [8, 8]).with_stride([4, 4]);
        Self {
            conv: conv.init(device),
            norm: GroupNormConfig::new(4, 16).init(device),
            linear: LinearConfig::new(16 * 6 * 6, 10).init(device),
        }
    }
}

impl Network<4> for Classifier {
    fn layers(&self) -> Layers<'_, 4> {
        let seen = Chain::image([1, 28, 28]).conv2d(&self.conv);
        let seen = seen.group_norm(&self.norm).relu().flatten();
        Layers::chain(seen.linear(&self.linear))
    }
}

fn tensors(data: &Records, device: &Device) -> Outcome<(Tensor<4>, Tensor<1, Int>)> {
    let n = data.len();
    let pixels = TensorData::new(data.pixels()?.to_vec(), [n, 1, 28, 28]).convert::<f32>();
    let labels = TensorData::new(data.labels().to_vec(), [n]);
    let images = Tensor::<4>::from_data(pixels, device) / 255.0;
    Ok((images, Tensor::from_data(labels, device)))
}

/// A kill leaves the file that was there, or this one.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let part = path.with_extension("part");
    std::fs::write(&part, bytes)?;
    std::fs::rename(part, path)
}

fn train(data: &Records, steps: u64, folder: &Path) -> Outcome<(Classifier, f64)> {
    let device = Device::flex();
    let (images, labels) = tensors(data, &device)?;
    let sampler = Sampler::poisson_zero_out(data.len(), 0.02)?;
    let plan = TrainingPlan::for_epsilon(1.0, 1e-5, steps, sampler).check()?;
    println!("noise multiplier {}", plan.noise_multiplier());
    let loss = Loss::cross_entropy().max_grad_norm(1.0);
    let mut training = TrainingConfig::new(loss)
        .optimizer(Optimizer::sgd())
        .learning_rate(1.0)
        .start(Classifier::new(&device), plan)?;
    let (path, saved) = (folder.join("ledger.jsonl"), folder.join("checkpoint"));
    let mut ledger = match path.exists() {
        true => Ledger::open(&path)?,
        false => Ledger::create(&path)?,
    };
    if saved.exists() {
        let checkpoint = Checkpoint::from_bytes(&std::fs::read(&saved)?)?;
        training.restore(&checkpoint, &ledger)?;
    }
    while let Some(step) = training.next_step()? {
        step.update_from(&images, &labels, &mut ledger)?;
        if training.step().is_multiple_of(25) {
            write(&saved, &training.checkpoint(&ledger).to_bytes()?)?;
        }
    }
    let spent = training.epsilon_spent(&ledger)?;
    Ok((training.network, spent))
}

fn accuracy(model: &Classifier, test: &Records) -> Outcome<f32> {
    let (images, labels) = tensors(test, &Device::flex())?;
    let found = model.forward(images)?.output.argmax(1);
    let right = found.equal(labels.unsqueeze_dim(1));
    Ok(right.float().mean().into_scalar())
}

fn run(data: &Dataset, steps: u64, folder: &Path) -> Outcome<(f32, f64)> {
    std::fs::create_dir_all(folder)?;
    let (model, spent) = train(&data.train, steps, folder)?;
    let accuracy = accuracy(&model, &data.test)?; // public images: they cost nothing
    model.save_file(folder.join("model.bpk"))?;
    Ok((accuracy, spent))
}

fn main() -> Outcome<()> {
    let data = Dataset::load(DatasetKind::Mnist, &LoadOptions::default())?;
    let (accuracy, spent) = run(&data, 100, Path::new("runs/network"))?;
    println!(
        "accuracy {accuracy:.4}, epsilon {} at delta 1e-5",
        upper(spent)
    );
    Ok(())
}

/// What follows the last checkpoint is made again and counted again; the saved weights are those that were judged.
#[test]
fn it_keeps_its_budget_and_counts_what_it_repeats() {
    let options = LoadOptions {
        train: Some(2000),
        test: Some(500),
        ..LoadOptions::default()
    };
    let data = Dataset::load(DatasetKind::Glyphs, &options).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (_, planned) = run(&data, 27, folder.path()).unwrap();
    let (judged, repeated) = run(&data, 27, folder.path()).unwrap();
    assert!(planned <= 1.0 && repeated > planned, "{planned} {repeated}");
    let ledger = Ledger::open(&folder.path().join("ledger.jsonl")).unwrap();
    assert_eq!(ledger.releases(), 29);
    let fresh = Classifier::new(&Device::flex());
    let read = fresh.try_load_file(folder.path().join("model.bpk"));
    assert_eq!(accuracy(&read.unwrap(), &data.test).unwrap(), judged);
}
