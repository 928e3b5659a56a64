//! Training on public records: batches in a random order, Adam, and a learning rate that falls along a cosine.

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::Device;
use rand::Rng;
use rand::seq::SliceRandom;

use crate::TrainingError;
use crate::adam::ModuleAdam;
use crate::optimizer::cosine;
use crate::weights::{from_host, to_host};

/// The settings of a training on public records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PublicTraining {
    /// The number of passes over the records.
    pub epochs: usize,
    /// The number of records in a batch.
    pub batch: usize,
    /// Adam's learning rate at the start.
    pub learning_rate: f64,
    /// The fraction of the learning rate at the end.
    pub last: f64,
    /// The number that Adam adds to the root of its second moment: 1e-5 is burn's default, 1e-8 is in Kingma and Ba 2015,
    /// algorithm 1.
    pub adam_epsilon: f32,
}

/// The progress of a training after a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrainingStep {
    /// The number of steps done.
    pub done: usize,
    /// The number of steps in all.
    pub steps: usize,
    /// The loss of the step, as `gradient` returned it.
    pub loss: f64,
}

/// The state of a training after a step, from which it can resume.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingState {
    /// The number of steps done.
    pub done: usize,
    /// The weights, from [`to_host`].
    pub weights: Vec<f32>,
    /// The optimizer, from [`ModuleAdam::to_bytes`].
    pub optimizer: Vec<u8>,
}

/// Trains `network` on `count` public records. **Nothing is private here.**
///
/// - `rng`: orders the records, and is passed to `gradient`. To resume, pass it as it was at the start; the weights then come out
///   the same only if `gradient` does not use it;
/// - `from`: the state in which an earlier training on the same records stopped;
/// - `gradient`: returns the gradient of the loss of the records with these indices, and the loss;
/// - `each`: called after every step with a function that returns the state; its error ends the training.
///
/// # Errors
///
/// [`TrainingError::OutOfRange`] without records, epochs or a batch size; a state that does not fit `network`; any error of
/// `gradient` and `each`.
pub fn fit_public<M: Module, R: Rng, E: From<TrainingError>>(
    how: &PublicTraining,
    mut network: M,
    count: usize,
    rng: &mut R,
    from: Option<&TrainingState>,
    mut gradient: impl FnMut(&M, &[usize], &mut R) -> Result<(GradientsParams, f64), E>,
    mut each: impl FnMut(TrainingStep, &dyn Fn() -> TrainingState) -> Result<(), E>,
) -> Result<M, E> {
    for (name, value) in [
        ("public records", count),
        ("epochs", how.epochs),
        ("batch", how.batch),
    ] {
        if value == 0 {
            return Err(E::from(TrainingError::OutOfRange {
                name,
                value: 0.0,
                bound: "at least 1".into(),
            }));
        }
    }
    let (mut optimizer, mut before) = (ModuleAdam::default(), 0);
    if let Some(state) = from {
        let device = network.devices().pop().unwrap_or_else(Device::flex);
        network = from_host(network.valid(), &state.weights)?;
        if device.is_autodiff() {
            network = network.train();
        }
        optimizer = ModuleAdam::from_bytes(&state.optimizer, &device.inner())?;
        before = state.done;
    }
    optimizer = optimizer.with_epsilon(how.adam_epsilon);
    let steps = how.epochs * count.div_ceil(how.batch);
    let mut order: Vec<usize> = (0..count).collect();
    let mut done = 0;
    for _ in 0..how.epochs {
        order.shuffle(rng);
        for places in order.chunks(how.batch) {
            done += 1;
            if done <= before {
                continue;
            }
            let (gradients, loss) = gradient(&network, places, rng)?;
            let rate = how.learning_rate * cosine(done as u64 - 1, steps as u64, how.last);
            network = optimizer.step(rate, network, gradients);
            let state = || TrainingState {
                done,
                weights: to_host(&network.valid()),
                optimizer: optimizer.to_bytes(),
            };
            each(TrainingStep { done, steps, loss }, &state)?;
        }
    }
    Ok(network)
}
