//! Every layer: forward, backward, Gram matrices and gradient, on tensors and host kernels.

use std::sync::Arc;

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use dp_core::per_sample::{Layer, Needs, Stack};
use model::latent::{LatentSpace, SmallAutoencoder};
use model::layers::{AvgPool, Conv, LeakyRelu, Linear, Sigmoid, Upsample};
use private_training::Engine;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::reference::{Known, Network};
use super::{Case, TestDevice, Tolerance, wave, wide};

const RECORDS: usize = 3;
const ROWS: usize = 2;

/// Layers, and the same in `f64`.
#[derive(Default)]
struct Built {
    layers: Vec<Box<dyn Layer>>,
    reference: Network,
}

impl Built {
    fn then<L: Layer + Known + Module + 'static>(mut self, layer: L) -> Self {
        self.reference = self.reference.then(&layer);
        self.layers.push(Box::new(layer));
        self
    }
}

type Build = fn(&mut ChaCha20Rng, &Device) -> Built;

/// A layer with something in front of it that has parameters, so that its backward pass is seen.
const LAYERS: [(&str, usize, Build); 6] = [
    ("linear", 5, |rng, on| {
        Built::default()
            .then(Linear::new(5, 4, 2.0, rng, on))
            .then(Linear::new(4, 3, 2.0, rng, on))
    }),
    ("leaky relu", 5, |rng, on| {
        Built::default()
            .then(Linear::new(5, 4, 2.0, rng, on))
            .then(LeakyRelu::new(4, 0.2))
    }),
    ("sigmoid", 5, |rng, on| {
        Built::default()
            .then(Linear::new(5, 4, 2.0, rng, on))
            .then(Sigmoid::new(4, 0.5))
    }),
    ("convolution", 2 * 4 * 4, |rng, on| {
        Built::default()
            .then(Conv::new([2, 3], [4, 4], 2.0, 0.1, rng, on))
            .then(Conv::new([3, 2], [4, 4], 2.0, 0.1, rng, on))
    }),
    ("average pooling", 2 * 4 * 4, |rng, on| {
        Built::default()
            .then(Conv::new([2, 3], [4, 4], 2.0, 0.1, rng, on))
            .then(AvgPool::new(3, 4, 4))
    }),
    ("upsampling", 2 * 4 * 4, |rng, on| {
        Built::default()
            .then(Conv::new([2, 3], [4, 4], 2.0, 0.1, rng, on))
            .then(Upsample::new(3, 4, 4))
    }),
];

const NEEDS: Needs = Needs {
    gram: true,
    input: true,
};

fn built(build: Build, device: &Device) -> Built {
    build(&mut ChaCha20Rng::seed_from_u64(5), device)
}

fn on_tensors(inputs: usize, build: Build, device: &Device) -> Vec<f64> {
    let built = built(build, device);
    let stack = Stack::new(built.layers.iter().map(AsRef::as_ref).collect());
    let upload = |values: Vec<f32>, shape: [usize; 2]| -> Tensor<2> {
        Tensor::from_data(TensorData::new(values, shape), device)
    };
    let activations = stack.forward(upload(wave(RECORDS * inputs), [RECORDS, inputs]));
    let outputs = activations.output().dims()[1];
    let delta = upload(wave(RECORDS * ROWS * outputs), [RECORDS, ROWS * outputs]);
    let pulled = stack.pull_back(&activations, delta.reshape([RECORDS, ROWS, outputs]), NEEDS);
    let weights = upload(wave(RECORDS * ROWS), [RECORDS, ROWS]);
    let mut all: Vec<f64> = activations.output().into_data().iter().collect();
    all.extend(pulled.gram.clone().into_data().iter::<f64>());
    if let Some(input) = pulled.input.clone() {
        all.extend(input.into_data().iter::<f64>());
    }
    for part in stack.gradient(&activations, &pulled, weights) {
        all.extend(part.into_data().iter::<f64>());
    }
    all
}

fn on_host(inputs: usize, build: Build) -> Vec<f64> {
    let built = built(build, &Device::flex());
    let stack = Stack::new(built.layers.iter().map(AsRef::as_ref).collect());
    let host = stack.host().expect("host kernels");
    let activations = host.forward(RECORDS, &wave(RECORDS * inputs));
    let delta = wave(RECORDS * ROWS * host.outputs());
    let pulled = host.pull_back(&activations, ROWS, &delta, NEEDS);
    let mut gradient = vec![0.0; host.parameters()];
    host.add_gradient(&activations, &pulled, &wave(RECORDS * ROWS), &mut gradient);
    let mut all = wide(activations.output().iter().copied());
    all.extend(wide(pulled.gram));
    all.extend(wide(pulled.input));
    all.extend(wide(gradient));
    all
}

/// Outputs, Gram matrices, cotangents of the records, and the weighted gradient, row by row.
fn in_f64(inputs: usize, build: Build) -> Vec<f64> {
    let network = built(build, &Device::flex()).reference;
    let (records, weights) = (wide(wave(RECORDS * inputs)), wide(wave(RECORDS * ROWS)));
    let activations: Vec<_> = records.chunks(inputs).map(|x| network.forward(x)).collect();
    let outputs: Vec<&[f64]> = activations.iter().map(|a| &a[a.len() - 1][..]).collect();
    let width = outputs[0].len();
    let delta = wide(wave(RECORDS * ROWS * width));
    let (mut gram, mut input, mut sum) = (Vec::new(), Vec::new(), Vec::new());
    for (i, activations) in activations.iter().enumerate() {
        let rows = delta[i * ROWS * width..][..ROWS * width].chunks(width);
        let rows: Vec<_> = rows
            .map(|row| network.pull_back(activations, row))
            .collect();
        for (r, (row, before)) in rows.iter().enumerate() {
            let product = |other: &[f64]| row.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
            gram.extend(rows.iter().map(|(other, _)| product(other)));
            input.extend_from_slice(before);
            sum.resize(row.len(), 0.0);
            let entries = sum.iter_mut().zip(row);
            entries.for_each(|(sum, g)| *sum += weights[i * ROWS + r] * g);
        }
    }
    [outputs.concat(), gram, input, sum].concat()
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = LAYERS
        .into_iter()
        .map(|(name, inputs, build)| {
            Case::new(
                "layers",
                name,
                Tolerance::Operation,
                move |test_device: &TestDevice| match test_device.engine {
                    Engine::Host { .. } => on_host(inputs, build),
                    _ => on_tensors(inputs, build, &test_device.device),
                },
                move || in_f64(inputs, build),
            )
        })
        .collect();
    let space = |device: &Device| {
        let mut rng = ChaCha20Rng::seed_from_u64(6);
        SmallAutoencoder::new(1, 8, &mut rng, device)
    };
    let images = Arc::new(wave(2 * 32 * 32));
    let there = images.clone();
    cases.push(Case::new(
        "layers",
        "public autoencoder: encode, decode",
        Tolerance::Operation,
        move |test_device: &TestDevice| {
            let (space, device) = (space(&test_device.device), &test_device.device);
            let shape = [2, 1, 32, 32];
            let data = TensorData::new(there.to_vec(), shape);
            let latents = space.encode(Tensor::from_data(data, device));
            let mut all: Vec<f64> = latents.clone().into_data().iter().collect();
            all.extend(space.decode(latents).into_data().iter::<f64>());
            all
        },
        move || {
            let host = space(&Device::flex()).host().expect("host kernels");
            let latents = host.encode(&images);
            let decoded = host.decode(&latents);
            wide(latents.into_iter().chain(decoded))
        },
    ));
    cases
}
