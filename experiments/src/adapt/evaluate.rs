//! What the network says of records.

use burn::tensor::Device;
use dp_core::per_sample::nn::Chain;
use lab::diagnostic::{Failure, OrFailed};
use lab::session::{host, tensor};
use private_training::Engine;
use rayon::prelude::*;

use super::domains::Domain;
use super::network::Path;

/// Records that a core takes at once, and a device.
const CHUNK: [usize; 2] = [32, 500];

/// The outputs of layers for rows of `width`, as plain numbers: `[n, outputs]`.
pub(crate) fn outputs(
    chain: Chain,
    rows: &[f32],
    width: usize,
    device: &Device,
) -> Result<Vec<f32>, Failure> {
    let stack = chain.build().or_failed()?;
    if let Engine::Host { .. } = Engine::for_device(device) {
        let host = stack.host().or_failed()?;
        let parts = rows.par_chunks(CHUNK[0] * width).map(|part| {
            let saved = host.forward(part.len() / width, part);
            saved.output().to_vec()
        });
        return Ok(parts.collect::<Vec<_>>().concat());
    }
    let parts = rows.chunks(CHUNK[1] * width);
    let parts = parts.map(|part| host(stack.output(tensor(part.to_vec(), width, device))));
    Ok(parts.collect::<Vec<_>>().concat())
}

/// How often a record of class `row` is taken for one of class `column`.
#[derive(Clone, PartialEq)]
pub(crate) struct Confusion {
    /// `[classes][classes]`.
    pub counts: Vec<Vec<u64>>,
    /// The mean cross-entropy, in nats.
    pub loss: f64,
}

impl Confusion {
    /// That of test records: each is taken for the class with the largest logit, the first of equals.
    pub(crate) fn of(
        network: &Path,
        test: &Domain,
        classes: usize,
        device: &Device,
    ) -> Result<Self, Failure> {
        let logits = outputs(network.chain(), &test.rows, test.width, device)?;
        let mut counts = vec![vec![0; classes]; classes];
        let mut loss = 0.0;
        for (&label, logits) in test.labels.iter().zip(logits.chunks_exact(classes)) {
            let places = logits.iter().enumerate();
            let (class, largest) = places.fold((0, f32::NEG_INFINITY), |best, (class, &x)| {
                if x > best.1 { (class, x) } else { best }
            });
            counts[label][class] += 1;
            let from_largest = |x: f32| f64::from(x) - f64::from(largest);
            let sum: f64 = logits.iter().map(|&x| from_largest(x).exp()).sum();
            loss -= from_largest(logits[label]) - sum.ln();
        }
        let loss = loss / test.len().max(1) as f64;
        Ok(Self { counts, loss })
    }

    /// The share that is right.
    pub(crate) fn accuracy(&self) -> f64 {
        let right: u64 = self.counts.iter().enumerate().map(|(c, row)| row[c]).sum();
        let all: u64 = self.counts.iter().flatten().sum();
        right as f64 / all as f64
    }
}
