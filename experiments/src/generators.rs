//! What checkpoints keep of generators in training.

use std::collections::BTreeMap;

use burn::module::Module;
use burn::tensor::Device;
use lab::prelude::*;
use private_synth::images::Generator;
use private_training::TrainingError;
use private_training::adam::ModuleAdam;
use private_training::weights::{from_host, to_host};
use serde::Serialize;
use serde::de::DeserializeOwned;

const WEIGHTS: &str = "weights.bin";
const OPTIMIZER: &str = "optimizer.bin";
const AVERAGE: &str = "average.f32";
const STATE: &str = "state.json";

/// The refusal of a shape that a generator does not have.
pub(crate) fn refused(error: TrainingError) -> Failure {
    Failure::input(error.to_string(), "choose another data set")
}

/// What a checkpoint keeps of a generator, and `state`: what else its steps depend on.
pub(crate) fn files(
    generator: &Generator,
    state: &impl Serialize,
) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    let (weights, optimizer, average) = generator.state();
    let mut files = files_of(&weights, optimizer);
    files.insert(STATE.into(), serde_json::to_vec(state).or_failed()?);
    files.extend(average.map(|average| (AVERAGE.into(), average)));
    Ok(files)
}

/// Takes the place of what a checkpoint holds, and gives the `state` of it.
pub(crate) fn restore<T: DeserializeOwned>(
    generator: &mut Generator,
    checkpoint: &RestoredCheckpoint,
) -> Result<T, Failure> {
    let weights = floats_of_bytes(checkpoint.file(WEIGHTS)?);
    let average = checkpoint.file(AVERAGE).ok();
    let restored = generator.restore(&weights, checkpoint.file(OPTIMIZER)?, average);
    restored.map_err(|e| checkpoint.damaged(&e))?;
    checkpoint.json(STATE)
}

fn files_of(weights: &[f32], optimizer: Vec<u8>) -> BTreeMap<String, Vec<u8>> {
    let weights = floats_to_bytes(weights);
    BTreeMap::from([(WEIGHTS.into(), weights), (OPTIMIZER.into(), optimizer)])
}

/// What a checkpoint keeps of a network in training.
pub(crate) fn kept<M: Module>(network: &M, optimizer: &ModuleAdam) -> BTreeMap<String, Vec<u8>> {
    files_of(&to_host(&network.valid()), optimizer.to_bytes())
}

/// The network with its optimizer that a checkpoint keeps.
pub(crate) fn restored<M: Module>(
    network: &M,
    checkpoint: &RestoredCheckpoint,
    device: &Device,
) -> Result<(M, ModuleAdam), Failure> {
    let damaged = |e: TrainingError| checkpoint.damaged(&e);
    let weights = floats_of_bytes(checkpoint.file(WEIGHTS)?);
    let network = from_host(network.valid(), &weights).map_err(damaged)?;
    let optimizer = ModuleAdam::from_bytes(checkpoint.file(OPTIMIZER)?, device);
    Ok((network.train(), optimizer.map_err(damaged)?))
}
