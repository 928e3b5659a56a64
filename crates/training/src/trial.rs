//! What a network claims, tried before the first step.
//!
//! The records of the first batch are as good as any: nothing of what is found leaves but a refusal of the
//! program that is wrong.

use std::collections::BTreeSet;

use burn::tensor::Tensor;
use dp_core::per_sample::{ParameterSlot, parameters_of};

use crate::engine::read;
use crate::error::same;
use crate::{Batch, Forward, Network, TrainingError};

/// Records that are tried.
const TRIED: usize = 2;

/// How far two ways to the same numbers may differ, against the largest of them.
const TOLERANCE: f64 = 1e-3;

/// The first records of a batch; none where it is empty.
fn first<const D: usize>(batch: &Batch<D>) -> Option<Tensor<D>> {
    let n = batch.records().min(TRIED);
    let inputs = || batch.inputs().clone().without_autodiff().narrow(0, 0, n);
    (n > 0).then(inputs)
}

/// Refuses layers that compute something else than the network.
pub(crate) fn try_layers<const D: usize>(
    network: &impl Network<D>,
    batch: &Batch<D>,
) -> Result<(), TrainingError> {
    let (Some(layers), Some(inputs)) = (network.layers()?, first(batch)) else {
        return Ok(());
    };
    let ids = |slots: Vec<ParameterSlot>| -> BTreeSet<u64> {
        slots.iter().map(|slot| slot.id.val()).collect()
    };
    let (own, all) = (ids(layers.parameters()), ids(parameters_of(network)));
    // A parameter that the layers leave out would stay as it is, and nobody would know.
    if let Some(count) = Some(all.difference(&own).count()).filter(|&count| count > 0) {
        return Err(TrainingError::Shape {
            what: "parameters of the network in its layers",
            expected: all.len(),
            found: all.len() - count,
        });
    }
    let n = inputs.dims()[0];
    let features = inputs.dims()[1..].iter().product::<usize>();
    let own = layers.forward(inputs.clone().reshape([n, features]));
    let theirs = network.valid().forward(inputs);
    compare("the output", own.output, theirs.output)?;
    match (
        own.activations.into_iter().next(),
        theirs.activations.into_iter().next(),
    ) {
        (Some(own), Some(theirs)) => compare("the penalised activation", own, theirs),
        _ => Ok(()),
    }
}

fn compare(what: &'static str, layers: Tensor<2>, forward: Tensor<2>) -> Result<(), TrainingError> {
    same(what, forward.dims()[1], layers.dims()[1])?;
    match differ(&read(layers)?, &read(forward)?) {
        false => Ok(()),
        true => Err(TrainingError::LayersDiffer { what }),
    }
}

/// Whether numbers differ by more than rounding; those that are not finite are passed over.
fn differ(a: &[f32], b: &[f32]) -> bool {
    let sizes = a.iter().chain(b).map(|x| f64::from(x.abs()));
    let largest = sizes.filter(|x| x.is_finite()).fold(0.0, f64::max);
    let pairs = a.iter().zip(b).map(|(&a, &b)| (f64::from(a), f64::from(b)));
    let mut finite = pairs.filter(|(a, b)| a.is_finite() && b.is_finite());
    finite.any(|(a, b)| (a - b).abs() > TOLERANCE * largest)
}

/// The dimension of each activation: of the first record, or of one of zeros where there is none.
pub(crate) fn dimensions<const D: usize>(
    network: &impl Network<D>,
    batch: &Batch<D>,
) -> Result<Vec<usize>, TrainingError> {
    let one = match first(batch) {
        Some(inputs) => inputs.narrow(0, 0, 1),
        None => {
            let mut shape = batch.inputs().dims();
            shape[0] = 1;
            Tensor::zeros(shape, &batch.inputs().device().without_autodiff())
        }
    };
    let forward: Forward = match network.layers()? {
        Some(layers) => {
            let features = one.dims()[1..].iter().product::<usize>();
            layers.forward(one.reshape([1, features]))
        }
        None => network.valid().forward(one),
    };
    Ok(forward
        .activations
        .iter()
        .map(|activation| activation.dims()[1])
        .collect())
}
