//! The network and data of Opacus's MNIST example, for comparison with `benches/python/opacus_mnist.py`:
//! `cargo run --release --example opacus_mnist -- [mnist|glyphs] [epsilon] [epochs] [batch] [rate] [seed]`.

use burn::nn::{Linear, LinearConfig, PaddingConfig2d, conv::*, pool::*};
use burn::{module::Module, prelude::*};
use data::{Dataset, DatasetKind, LoadOptions, Records};
use dp_core::{ledger::Ledger, per_sample::nn::Chain, plan::TrainingPlan, sampling::Sampler};
use private_training::{Layers, Loss, Network, Optimizer, TrainingConfig};

#[derive(Module, Debug)]
struct Cnn {
    first: Conv2d,
    second: Conv2d,
    pool: MaxPool2d,
    hidden: Linear,
    last: Linear,
}

impl Network<4> for Cnn {
    // Not needed, and many times faster: the same layers, whose gradients are clipped without being formed.
    fn layers(&self) -> Layers<'_, 4> {
        let first = Chain::image([1, 28, 28])
            .conv2d(&self.first)
            .relu()
            .max_pool2d(&self.pool);
        let second = first
            .conv2d(&self.second)
            .relu()
            .max_pool2d(&self.pool)
            .flatten();
        Layers::chain(second.linear(&self.hidden).relu().linear(&self.last))
    }
}

fn tensors(
    data: &Records,
    device: &Device,
) -> Result<(Tensor<4>, Tensor<1, Int>), data::DataError> {
    let n = data.len();
    let pixels = TensorData::new(data.gather(&(0..n).collect::<Vec<_>>())?, [n, 1, 28, 28]);
    let labels = TensorData::new(data.labels().to_vec(), [n]);
    let images = (Tensor::from_data(pixels, device) - 0.1307) / 0.3081; // public constants
    Ok((images, Tensor::from_data(labels, device)))
}

fn run(args: &[&str]) -> Result<(f32, f64), Box<dyn std::error::Error>> {
    let number = |i: usize, or: f64| args.get(i).map_or(Ok(or), |text| text.parse());
    let (epsilon, epochs, rate) = (number(1, 1.0)?, number(2, 10.0)?, number(4, 1.0)?);
    let kind = if args.first() == Some(&"glyphs") {
        DatasetKind::Glyphs
    } else {
        DatasetKind::Mnist
    };
    let data = Dataset::load(kind, &LoadOptions::default())?;
    let device = Device::flex();
    device.seed(number(5, 0.0)? as u64);
    let (images, labels) = tensors(&data.train, &device)?;
    let conv =
        |channels, kernel: usize| Conv2dConfig::new(channels, [kernel; 2]).with_stride([2, 2]);
    let model = Cnn {
        first: conv([1, 16], 8)
            .with_padding(PaddingConfig2d::Explicit(3, 3, 3, 3))
            .init(&device),
        second: conv([16, 32], 4).init(&device),
        pool: MaxPool2dConfig::new([2, 2]).with_strides([1, 1]).init(),
        hidden: LinearConfig::new(32 * 4 * 4, 32).init(&device),
        last: LinearConfig::new(32, 10).init(&device),
    };
    let records = data.train.len();
    let share = number(3, 2048.0)? / records as f64;
    let steps = (epochs / share).ceil() as u64;
    let sampler = Sampler::poisson_zero_out(records, share)?;
    let plan = TrainingPlan::for_epsilon(epsilon, 1e-5, steps, sampler).check()?;
    let place = std::env::temp_dir().join(format!("dp-sgd-{}.jsonl", std::process::id()));
    let mut ledger = Ledger::create(&place)?;
    let mut training = TrainingConfig::new(Loss::cross_entropy().max_grad_norm(1.0))
        .optimizer(Optimizer::sgd())
        .learning_rate(rate)
        .start(model, plan)?;
    let mut seconds = Vec::new();
    while let Some(step) = training.next_step()? {
        let start = std::time::Instant::now();
        step.update_from(&images, &labels, &mut ledger)?; // secret: only the clipped sum of these records is used
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    println!(
        "seconds of a step (median): {:.4}",
        seconds[seconds.len() / 2]
    );
    println!("{:?} {:?}", training.engine(), training.notes());
    let (images, labels) = tensors(&data.test, &device)?;
    let right = training
        .network
        .forward(images)?
        .output
        .argmax(1)
        .equal(labels.unsqueeze_dim(1));
    Ok((
        right.float().mean().into_scalar(),
        training.epsilon_spent(&ledger)?,
    ))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (accuracy, epsilon) = run(&args.iter().map(String::as_str).collect::<Vec<_>>())?;
    println!(
        "accuracy {accuracy:.4}, epsilon {} at delta 1e-5",
        dp_core::decimal::upper(epsilon)
    );
    Ok(())
}
