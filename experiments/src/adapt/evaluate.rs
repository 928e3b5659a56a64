//! What the network says of records.

use burn::tensor::{Device, Tensor, TensorData};
use dp_core::per_sample::nn::Chain;
use lab::diagnostic::Failure;
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
    let stack = chain.build().map_err(Failure::failed)?;
    if let Engine::Host { .. } = Engine::for_device(device) {
        let host = stack.host().map_err(Failure::failed)?;
        let parts = rows.par_chunks(CHUNK[0] * width).map(|part| {
            let saved = host.forward(part.len() / width, part);
            saved.output().to_vec()
        });
        return Ok(parts.collect::<Vec<_>>().concat());
    }
    let mut found = Vec::new();
    for part in rows.chunks(CHUNK[1] * width) {
        let shape = [part.len() / width, width];
        let part = Tensor::<2>::from_data(TensorData::new(part.to_vec(), shape), device);
        let part = stack.output(part).try_into_vec_as::<f32>();
        found.extend(part.map_err(Failure::failed)?);
    }
    Ok(found)
}

/// What a classifier says of a record.
#[derive(Debug, Clone, PartialEq)]
struct Judged {
    /// The class with the largest logit, the first of equals.
    class: usize,
    /// Its logits, with their logarithmic sum of exponentials taken away.
    ln_probabilities: Vec<f64>,
}

impl Judged {
    fn of(logits: &[f32]) -> Self {
        let places = logits.iter().enumerate();
        let (class, largest) = places.fold((0, f32::NEG_INFINITY), |best, (class, &x)| {
            if x > best.1 { (class, x) } else { best }
        });
        let from_largest = logits.iter().map(|&x| f64::from(x) - f64::from(largest));
        let sum: f64 = from_largest.clone().map(f64::exp).sum();
        Self {
            class,
            ln_probabilities: from_largest.map(|x| x - sum.ln()).collect(),
        }
    }
}

/// What a classifier says of each record.
fn judged(
    network: &Path,
    rows: &[f32],
    width: usize,
    device: &Device,
) -> Result<Vec<Judged>, Failure> {
    let logits = outputs(network.chain(), rows, width, device)?;
    let classes = logits.len() * width / rows.len().max(1);
    Ok(logits
        .chunks_exact(classes.max(1))
        .map(Judged::of)
        .collect())
}

/// How often a record of class `row` is taken for one of class `column`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Confusion {
    /// `[classes][classes]`.
    pub counts: Vec<Vec<u64>>,
    /// The mean cross-entropy, in nats.
    pub loss: f64,
}

impl Confusion {
    /// That of test records.
    pub(crate) fn of(
        network: &Path,
        test: &Domain,
        classes: usize,
        device: &Device,
    ) -> Result<Self, Failure> {
        let judged = judged(network, &test.rows, test.width, device)?;
        let mut counts = vec![vec![0; classes]; classes];
        let mut loss = 0.0;
        for (&label, found) in test.labels.iter().zip(&judged) {
            counts[label][found.class] += 1;
            loss -= found.ln_probabilities[label];
        }
        let loss = loss / judged.len().max(1) as f64;
        Ok(Self { counts, loss })
    }

    /// The share that is right.
    pub(crate) fn accuracy(&self) -> f64 {
        let right: u64 = self.counts.iter().enumerate().map(|(c, row)| row[c]).sum();
        let all: u64 = self.counts.iter().flatten().sum();
        right as f64 / all as f64
    }
}
