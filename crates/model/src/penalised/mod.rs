//! Private gradients of a sum over records and a transport term:
//! `(1 - alpha) (1/n) sum_i l(head(phi(x_i))) + alpha T(phi(x_1), ..., phi(x_n))`.
//!
//! 1. Forward through `phi`; the activations, projected onto the ball of radius `M`, are transported:
//!    cotangents `c_i`.
//! 2. Chunk by chunk: forward and backward through the head for the loss, which gives its squared norm
//!    and its cotangent `du_i` at the activation; then the Gram pass over `phi`, `G_i = J_i J_i^T`. The
//!    loss reaches `phi` only through the activation, so its squared norm there is `du_i^T G_i du_i`.
//! 3. `w_i = min(1, C / norm_i)`, and one weighted sum with the cotangent
//!    `(1 - alpha) w_i du_i / n + alpha f(G_i) c_i` at the activation.
//!
//! What is transported is the [`Problem`]'s: activations to a prior ([`crate::swae`]), or groups to each
//! other ([`crate::fairness`]). The sensitivity of its term is the problem's too.

mod clipped;
mod device;
mod engine;
mod host;
mod objective;
mod weights;

use std::ops::Range;

use burn::tensor::{Device, Tensor, TensorData};
use dp_core::mechanism::ParameterGradient;
use dp_core::per_sample::{Layer, ParameterSlot, Stack};

pub use clipped::Clipped;
pub use engine::Engine;
pub use objective::{Clipping, Objective};

use crate::ModelError;

/// The networks of a problem.
pub struct Stages<'a> {
    /// `phi`: records `[n, d_in]` to activations `[n, d]`.
    pub encoder: Stack<'a>,
    /// Activations to what the loss looks at; none where that is the activation itself.
    pub head: Option<Stack<'a>>,
}

impl<'a> Stages<'a> {
    /// Layers whose last output is penalised, and is what the loss looks at.
    pub fn of(layers: Vec<&'a dyn Layer>) -> Self {
        Self {
            encoder: Stack::new(layers),
            head: None,
        }
    }

    /// All parameters, `phi`'s first.
    pub fn parameters(&self) -> Vec<ParameterSlot> {
        let mut slots = self.encoder.parameters();
        if let Some(head) = &self.head {
            slots.extend(head.parameters());
        }
        slots
    }
}

/// A batch of records with its loss and its transport term.
///
/// # Contract
///
/// Everything but [`Problem::transport`] treats records independently: what a range gives depends on
/// its records alone.
pub trait Problem: Sync {
    /// Records in the batch, public.
    fn records(&self) -> usize;

    /// Scalars of one record.
    fn features(&self) -> usize;

    /// Dimension `d` of the activations that are transported.
    fn latent(&self) -> usize;

    /// Some records, `[range, features]`.
    fn inputs(&self, range: Range<usize>) -> &[f32];

    /// What the head sees of activations `[range, d]`: rows that begin with the activation.
    fn head_inputs(&self, range: Range<usize>, latents: &[f32]) -> Vec<f32> {
        let _ = range;
        latents.to_vec()
    }

    /// The loss of each record, summed over the range, and its cotangent at `outputs`, both without any
    /// weight.
    fn loss(&self, range: Range<usize>, outputs: &[f32]) -> (Vec<f32>, f64);

    /// [`Problem::head_inputs`] for a tensor, on its device; by way of the host unless the problem knows
    /// better, as all three of these are.
    ///
    /// # Errors
    ///
    /// A device that gives no answer.
    fn device_head_inputs(
        &self,
        range: Range<usize>,
        latents: Tensor<2>,
    ) -> Result<Tensor<2>, ModelError> {
        let (n, device) = (range.len(), latents.device());
        let inputs = self.head_inputs(range, &read(latents)?);
        let width = inputs.len() / n.max(1);
        Ok(upload(inputs, [n, width], &device))
    }

    /// [`Problem::loss`] for a tensor; the second answer has one element.
    ///
    /// # Errors
    ///
    /// A device that gives no answer.
    fn device_loss(
        &self,
        range: Range<usize>,
        outputs: Tensor<2>,
    ) -> Result<(Tensor<2>, Tensor<1>), ModelError> {
        let (shape, device) = (outputs.dims(), outputs.device());
        let (delta, loss) = self.loss(range, &read(outputs)?);
        Ok((upload(delta, shape, &device), scalar(loss, &device)))
    }

    /// [`Problem::transport`] for a tensor; the second answer has one element.
    ///
    /// # Contract
    ///
    /// With `bounded`, the cotangents, with the rounding of the device, have the sensitivity that is
    /// declared for those of [`Problem::transport`].
    ///
    /// # Errors
    ///
    /// As [`Problem::transport`].
    fn device_transport(
        &self,
        latents: Tensor<2>,
        bounded: bool,
    ) -> Result<(Tensor<2>, Tensor<1>), ModelError> {
        // The host's are within the declared sensitivity as they are.
        let _ = bounded;
        let (shape, device) = (latents.dims(), latents.device());
        let (cotangents, distance) = self.transport(&read(latents)?)?;
        Ok((
            upload(cotangents, shape, &device),
            scalar(distance, &device),
        ))
    }

    /// The transport term at `latents`, `[n, d]`, and its cotangents, `[n, d]`.
    ///
    /// # Errors
    ///
    /// Latents that do not fit.
    fn transport(&self, latents: &[f32]) -> Result<(Vec<f32>, f64), ModelError>;
}

/// The losses of one step on its private batch. **Not private**: no ledger covers them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepLosses {
    /// Mean of the loss over records.
    pub loss: f64,
    /// The transport term.
    pub transport: f64,
}

/// The gradient of a batch. With `clip` every record's part is bounded: for two batches that differ in
/// one record the results then differ by at most [`Objective::sensitivity`].
pub(crate) fn gradient(
    stages: &Stages,
    problem: &impl Problem,
    objective: &Objective,
    engine: Engine,
    device: &Device,
    clip: bool,
) -> Result<(ParameterGradient, StepLosses), ModelError> {
    let step = Step {
        problem,
        objective,
        clip,
    };
    match engine {
        Engine::Host { .. } => step.on_host(stages, engine, device),
        Engine::Tensor { chunk } => {
            step.on_device(stages, engine, device)
                .map_err(|error| match error {
                    ModelError::Device { message, .. } => ModelError::Device { chunk, message },
                    other => other,
                })
        }
    }
}

/// What chunks share; layers stay outside, because threads cannot share them.
struct Step<'a, P> {
    problem: &'a P,
    objective: &'a Objective,
    clip: bool,
}

impl<P: Problem> Step<'_, P> {
    /// The transport's cotangents and distance for latents `[n, d]` of the whole batch.
    fn transport(&self, mut latents: Vec<f32>) -> Result<(Vec<f32>, f64), ModelError> {
        if self.clip {
            let radius = self.objective.clipping().activation;
            for row in latents.chunks_exact_mut(self.problem.latent()) {
                weights::project_to_ball(row, radius);
            }
        }
        self.problem.transport(&latents)
    }

    fn losses(&self, loss: f64, transport: f64) -> StepLosses {
        StepLosses {
            loss: loss / self.problem.records() as f64,
            transport,
        }
    }
}

/// One number as a tensor.
fn scalar(value: f64, device: &Device) -> Tensor<1> {
    Tensor::from_data(TensorData::new(vec![value as f32], [1]), device)
}

/// `d` unit rows for each of `n` records, `[n, d, d]`.
fn identities(n: usize, d: usize) -> Vec<f32> {
    let mut rows = vec![0.0; n * d * d];
    for i in 0..n {
        for r in 0..d {
            rows[(i * d + r) * d + r] = 1.0;
        }
    }
    rows
}

/// Host rows as a tensor on `device`.
pub fn upload(values: Vec<f32>, shape: [usize; 2], device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// A tensor's values on the host.
///
/// # Errors
///
/// [`ModelError::Device`], of which the step says later how many records there were.
fn read<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>, ModelError> {
    tensor
        .try_into_vec_as::<f32>()
        .map_err(|error| ModelError::Device {
            chunk: 0,
            message: error.to_string(),
        })
}

/// A tensor's rows on the host.
pub fn to_host(tensor: Tensor<2>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}
