//! The memory of a private step beside a plain one, for networks of ten million parameters, batch 256.
//!
//! What is printed is the most that the process held so far: first with the network alone, then after a step by
//! burn's autodiff, then after one by clipped gradients. Linux says it (`VmHWM`).

use std::hint::black_box;

use burn::module::Module;
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::{Linear, LinearConfig, PaddingConfig2d};
use burn::optim::GradientsParams;
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor};
use dp_core::per_sample::nn::Chain;
use dp_core::sampling::Sampler;
use lab::diagnostic::{Failure, OrFailed};
use private_training::{Batch, Gradients, Layers, Loss, Network, Objective};

const BATCH: usize = 256;
const CLASSES: usize = 10;

/// Convolutions with stride 2, then fully connected layers, with rectifiers between.
#[derive(Module, Debug)]
struct Large {
    convs: Vec<Conv2d>,
    linears: Vec<Linear>,
}

impl Large {
    const IMAGE: [usize; 3] = [3, 16, 16];

    fn new(channels: &[usize], widths: &[usize], device: &Device) -> Self {
        let conv = |pair: &[usize]| {
            Conv2dConfig::new([pair[0], pair[1]], [3, 3])
                .with_stride([2, 2])
                .with_padding(PaddingConfig2d::Explicit(1, 1, 1, 1))
                .init(device)
        };
        let linear = |pair: &[usize]| LinearConfig::new(pair[0], pair[1]).init(device);
        Self {
            convs: channels.windows(2).map(conv).collect(),
            linears: widths.windows(2).map(linear).collect(),
        }
    }
}

impl Network<4> for Large {
    fn layers(&self) -> Layers<'_, 4> {
        let mut chain = Chain::image(Self::IMAGE);
        for conv in &self.convs {
            chain = chain.conv2d(conv).relu();
        }
        chain = chain.flatten();
        for (index, linear) in self.linears.iter().enumerate() {
            chain = if index > 0 { chain.relu() } else { chain };
            chain = chain.linear(linear);
        }
        Layers::chain(chain)
    }
}

/// The most that the process held, in MiB.
fn most() -> Result<f64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status").or_failed()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
    kib.map(|kib| kib / 1024.0)
        .ok_or_else(|| Failure::failed("the system does not say what memory a process held"))
}

/// Measures and prints one network: a process for each, since what was held once is never given back.
pub(crate) fn print(device: &Device, convolutional: bool) -> Result<(), Failure> {
    let (name, network) = match convolutional {
        true => (
            "convolutional",
            Large::new(&[3, 256, 1024, 832], &[832 * 4, CLASSES], device),
        ),
        false => (
            "fully connected",
            Large::new(&[], &[768, 2500, 2500, 700, CLASSES], device),
        ),
    };
    let parameters = network.num_params();
    let [c, h, w] = Large::IMAGE;
    let images = Tensor::<4>::ones([BATCH, c, h, w], device);
    let targets = Tensor::<1, Int>::zeros([BATCH], device);
    let alone = most()?;
    {
        let network = network.clone().train();
        let output = network
            .forward(images.clone().autodiff())
            .or_failed()?
            .output;
        let loss = -log_softmax(output, 1).narrow(1, 0, 1).mean();
        let gradients = GradientsParams::from_grads(loss.backward(), &network);
        black_box(gradients.len());
    }
    let plain = most()?;
    let batch = Batch::new(images, targets, &[BATCH]).or_failed()?;
    let mut gradients = Gradients::new(Objective::new([Loss::cross_entropy().max_grad_norm(1.0)]));
    let sampler = Sampler::all(BATCH).or_failed()?;
    let (clipped, _) = gradients.clipped(&network, &batch, &sampler).or_failed()?;
    black_box(clipped);
    let private = most()?;
    println!("| network | parameters | alone, MiB | plain, MiB | private, MiB | private / plain |");
    println!("|---|---|---|---|---|---|");
    println!(
        "| {name} | {parameters} | {alone:.0} | {plain:.0} | {private:.0} | {:.2} |",
        private / plain
    );
    Ok(())
}
