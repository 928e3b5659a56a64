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
///
/// # Errors
///
/// [`Failure::Failed`] for layers that do not fit each other, or a device that gives no answer.
pub fn outputs(
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

/// The class of each record by a classifier: the largest logit, the first of equals.
///
/// # Errors
///
/// As [`outputs`].
pub fn predicted(
    network: &Path,
    rows: &[f32],
    width: usize,
    device: &Device,
) -> Result<Vec<usize>, Failure> {
    let logits = outputs(network.chain(), rows, width, device)?;
    let largest = |row: &[f32]| {
        let places = row.iter().enumerate();
        let best = places.fold((0, f32::NEG_INFINITY), |best, (class, &x)| {
            if x > best.1 { (class, x) } else { best }
        });
        best.0
    };
    let classes = logits.len() * width / rows.len().max(1);
    Ok(logits.chunks_exact(classes).map(largest).collect())
}

/// How often a record of class `row` is taken for one of class `column`.
#[derive(Debug, Clone, PartialEq)]
pub struct Confusion {
    /// `[classes][classes]`.
    pub counts: Vec<Vec<u64>>,
}

impl Confusion {
    /// That of test records.
    ///
    /// # Errors
    ///
    /// As [`outputs`].
    pub fn of(
        network: &Path,
        test: &Domain,
        classes: usize,
        device: &Device,
    ) -> Result<Self, Failure> {
        let predicted = predicted(network, &test.rows, test.width, device)?;
        let mut counts = vec![vec![0; classes]; classes];
        for (&label, found) in test.labels.iter().zip(predicted) {
            counts[label][found] += 1;
        }
        Ok(Self { counts })
    }

    /// The share that is right.
    pub fn accuracy(&self) -> f64 {
        let right: u64 = self.counts.iter().enumerate().map(|(c, row)| row[c]).sum();
        let all: u64 = self.counts.iter().flatten().sum();
        right as f64 / all as f64
    }
}
