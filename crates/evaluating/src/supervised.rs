//! Fast training of a small classifier on the host.
//!
//! Training takes mini-batches of softmax cross-entropy with [`fit_public`], at a rate that falls to zero. The passes
//! are the host kernels of the layers. A batch is cut into chunks of fixed size, which run in parallel and are added in
//! order, so the result does not depend on the number of threads.

use burn::module::Module;
use burn::tensor::Device;
use dp_core::mechanism::ParameterGradient;
use dp_core::per_sample::LayerError;
use dp_core::per_sample::{HostStack, Needs, Stack};
use private_training::{PublicTraining, TrainingError, fit_public};
use rand::Rng;
use rayon::prelude::*;

use super::EvaluateError;
use super::error::check_asked;
use super::shift::Shift;
use reporting::interrupt::Interrupt;
use reporting::progress::Progress;

/// Records that pass through the network together outside training.
const FORWARD: usize = 64;

/// A network that maps features `[n, d]` to logits `[n, classes]`.
pub(crate) trait LayeredClassifier: Module {
    /// Returns the layers, first to last.
    fn stack(&self) -> Result<Stack<'_>, LayerError>;
}

/// Training examples: `inputs`, `[n, features]`, and a label below `classes` for each.
#[derive(Clone, Copy)]
pub(crate) struct Examples<'a> {
    pub(crate) inputs: &'a [f32],
    pub(crate) labels: &'a [u8],
    pub(crate) features: usize,
    pub(crate) classes: usize,
}

/// Settings of the training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Schedule {
    /// The number of passes over the examples.
    pub(crate) epochs: usize,
    /// The number of examples in a step.
    pub(crate) batch: usize,
    /// The number of examples that pass through all layers together on one core.
    pub(crate) chunk: usize,
    /// Adam's learning rate at the start.
    pub(crate) rate: f64,
    /// The random shift of each image before it is used.
    pub(crate) shift: Option<Shift>,
}

impl Schedule {
    pub(crate) fn check(&self) -> Result<(), EvaluateError> {
        for (name, value) in [
            ("epochs", self.epochs),
            ("batch", self.batch),
            ("chunk", self.chunk),
        ] {
            if value == 0 {
                return Err(EvaluateError::Setting {
                    name,
                    value: 0.0,
                    bound: "at least 1",
                });
            }
        }
        if !(self.rate > 0.0 && self.rate.is_finite()) {
            return Err(EvaluateError::Setting {
                name: "rate",
                value: self.rate,
                bound: "above 0 and finite",
            });
        }
        Ok(())
    }
}

/// Trains `network` on `examples`.
pub(crate) fn train<N: LayeredClassifier, R: Rng>(
    network: N,
    examples: &Examples<'_>,
    schedule: &Schedule,
    rng: &mut R,
    interrupt: &Interrupt,
) -> Result<N, EvaluateError> {
    schedule.check()?;
    let how = PublicTraining {
        epochs: schedule.epochs,
        batch: schedule.batch,
        learning_rate: schedule.rate,
        last: 0.0,
        adam_epsilon: 1e-8,
    };
    let step = |network: &N, batch: &[usize], rng: &mut R| {
        check_asked(interrupt)?;
        let mut inputs = Vec::with_capacity(batch.len() * examples.features);
        for &i in batch {
            let input = &examples.inputs[i * examples.features..(i + 1) * examples.features];
            match schedule.shift {
                Some(shift) => shift.append(input, rng, &mut inputs),
                None => inputs.extend_from_slice(input),
            }
        }
        let labels: Vec<u8> = batch.iter().map(|&i| examples.labels[i]).collect();
        let stack = host(network)?;
        let flat = gradient(&stack, examples, schedule.chunk, &inputs, &labels);
        let slots = network.stack().map_err(TrainingError::from)?.parameters();
        let gradient = ParameterGradient::from_host(slots, &flat, &Device::flex());
        let gradient = gradient.map_err(TrainingError::from)?;
        // No caller reads the loss.
        Ok((gradient.into_params_without_privacy(), f64::NAN))
    };
    let count = examples.labels.len();
    let steps = schedule.epochs * count.div_ceil(schedule.batch.max(1));
    let progress = Progress::new("steps of a classifier", steps as u64);
    let trained = fit_public(&how, network, count, rng, None, step, |_, _| {
        progress.step();
        Ok(())
    });
    progress.finish();
    trained
}

/// Returns the layers of a network as host kernels.
pub(crate) fn host<N: LayeredClassifier>(network: &N) -> Result<HostStack, EvaluateError> {
    let stack = network.stack().and_then(|stack| stack.host());
    Ok(stack.map_err(TrainingError::from)?)
}

/// Returns the gradient of the mean cross-entropy of a batch.
fn gradient(
    stack: &HostStack,
    examples: &Examples<'_>,
    chunk: usize,
    inputs: &[f32],
    labels: &[u8],
) -> Vec<f32> {
    let scale = 1.0 / labels.len() as f32;
    let parts: Vec<Vec<f32>> = inputs
        .par_chunks(chunk * examples.features)
        .zip(labels.par_chunks(chunk))
        .map(|(inputs, labels)| {
            let n = labels.len();
            let activations = stack.forward(n, inputs);
            let mut delta = activations.output().to_vec();
            for (row, &label) in delta.chunks_exact_mut(examples.classes).zip(labels) {
                cross_entropy_cotangent(row, usize::from(label), scale);
            }
            let needs = Needs {
                gram: false,
                input: false,
            };
            let pulled = stack.pull_back(&activations, 1, &delta, needs);
            let mut gradient = vec![0.0; stack.parameters()];
            stack.add_gradient(&activations, &pulled, &vec![1.0; n], &mut gradient);
            gradient
        })
        .collect();
    let mut parts = parts.into_iter();
    let mut sum = parts.next().unwrap_or_default();
    for part in parts {
        for (s, p) in sum.iter_mut().zip(part) {
            *s += p;
        }
    }
    sum
}

/// Replaces logits by `scale (softmax - e_label)`, the gradient of `scale` times the cross-entropy.
fn cross_entropy_cotangent(row: &mut [f32], label: usize, scale: f32) {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut total = 0.0;
    for x in row.iter_mut() {
        *x = (*x - largest).exp();
        total += *x;
    }
    for (class, x) in row.iter_mut().enumerate() {
        let target = if class == label { 1.0 } else { 0.0 };
        *x = scale * (*x / total - target);
    }
}

/// Returns the outputs of a stack, `[n, d_out]`, for `inputs`, `[n, d_in]`.
pub(crate) fn outputs(stack: &HostStack, inputs: &[f32]) -> Vec<f32> {
    let parts: Vec<Vec<f32>> = inputs
        .par_chunks(FORWARD * stack.inputs())
        .map(|chunk| {
            stack
                .forward(chunk.len() / stack.inputs(), chunk)
                .output()
                .to_vec()
        })
        .collect();
    parts.concat()
}

/// Returns the class with the largest logit for each row of `logits`, `[n, classes]`; the first of equals.
pub(crate) fn largest(logits: &[f32], classes: usize) -> Vec<u8> {
    logits
        .chunks_exact(classes)
        .map(|row| {
            let mut best = 0;
            for (class, &x) in row.iter().enumerate() {
                if x > row[best] {
                    best = class;
                }
            }
            best as u8
        })
        .collect()
}

/// Returns the share of `labels` that `predicted` hits.
pub(crate) fn share_correct(predicted: &[u8], labels: &[u8]) -> f64 {
    let correct = predicted.iter().zip(labels).filter(|(p, l)| p == l).count();
    correct as f64 / labels.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cotangent_is_the_derivative_of_the_cross_entropy() {
        let logits = [0.3_f32, -1.2, 80.0, 79.5];
        let loss = |x: &[f64], label: usize| {
            let total: f64 = x.iter().map(|v| (v - 80.0).exp()).sum();
            total.ln() + 80.0 - x[label]
        };
        for label in 0..4 {
            let mut row = logits;
            cross_entropy_cotangent(&mut row, label, 0.5);
            for class in 0..4 {
                let mut up: Vec<f64> = logits.iter().map(|&x| f64::from(x)).collect();
                let mut down = up.clone();
                up[class] += 1e-5;
                down[class] -= 1e-5;
                let slope = 0.5 * (loss(&up, label) - loss(&down, label)) / 2e-5;
                assert!((f64::from(row[class]) - slope).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn the_first_of_equals_is_the_largest() {
        assert_eq!(largest(&[0.0, 2.0, 2.0, 1.0, 1.0, 1.0], 3), [1, 0]);
        assert_eq!(share_correct(&[1, 0], &[1, 2]), 0.5);
    }
}
