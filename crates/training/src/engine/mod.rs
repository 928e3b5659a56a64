//! The clipped gradient of a batch.
//!
//! For layers that know their per-record gradients, `head(encoder(x))`:
//!
//! 1. A forward pass through the encoder gives the activations. They are projected onto the ball of radius `M` and
//!    transported, which gives the cotangents `c_i` of each penalty.
//! 2. Chunk by chunk, a forward and backward pass through the head gives the losses' squared norms there and their cotangents
//!    `du_i` at the activation. Then the Gram pass over the encoder gives `G_i = J_i J_i^T`. A loss reaches the encoder only
//!    through the activation, so its squared norm there is `du_i^T G_i du_i`.
//! 3. The weights are `w_i = min(1, C / norm_i)` for each loss. One weighted sum has the cotangent
//!    `sum_k w_k w_ik du_ik / n + sum_p v_p f_p(G_i) c_ip` at the activation.
//!
//! Without penalties, the losses' cotangents are pulled back through all layers. For `Layers::any`, `alone` takes one record at
//! a time through burn's autodiff.

mod autodiff;
mod chunks;
mod device;
mod host;
mod weights;

use std::collections::BTreeSet;

use burn::tensor::{Device, Tensor, TensorData};
use dp_core::mechanism::ParameterGradient;
use dp_core::per_sample::{ParameterSlot, parameters_of};

pub use chunks::Engine;
pub(crate) use device::project_to_ball as project_rows_to_ball;
pub(crate) use weights::project_to_ball;

use crate::error::same;
use crate::ranks::Shared;
use crate::{Batch, KnownLayers, Network, StepObjective, TrainingError};

/// The losses of one step on its private batch. They are **not private**: no ledger covers them.
#[derive(Clone, PartialEq)]
pub struct StepLosses {
    /// The mean of each loss over its records, before its weight.
    pub losses: Vec<f64>,
    /// The value of each penalty, before its weight.
    pub penalties: Vec<f64>,
    /// The records within each adaptive clipping norm minus those beyond it, in halves.
    pub(crate) counts: Vec<f64>,
}

impl std::fmt::Debug for StepLosses {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("StepLosses");
        shown.field("losses", &self.losses.len());
        shown.field("penalties", &self.penalties.len());
        shown.finish_non_exhaustive()
    }
}

/// The computation of one batch's gradient.
pub(crate) struct Pass<'a, const D: usize> {
    objective: &'a StepObjective,
    batch: &'a Batch<D>,
    /// The weights of each record in each loss, before any clipping.
    shares: Vec<Vec<f64>>,
    clip: bool,
    /// The other ranks, if they hold other records of the batch.
    shared: Option<&'a Shared>,
    engine: Engine,
}

impl<'a, const D: usize> Pass<'a, D> {
    pub(crate) fn new(objective: &'a StepObjective, batch: &'a Batch<D>, clip: bool) -> Self {
        Self {
            shares: objective.shares(batch.strata()),
            objective,
            batch,
            clip,
            shared: None,
            engine: Engine::Autodiff,
        }
    }

    /// Computes the gradient for this rank's records of a batch.
    pub(crate) fn over(mut self, shared: Option<&'a Shared>) -> Self {
        self.shared = shared;
        self
    }

    pub(crate) fn run(
        mut self,
        network: &impl Network<D>,
        engine: Engine,
        device: &Device,
    ) -> Result<(ParameterGradient, StepLosses), TrainingError> {
        self.engine = engine;
        let layers = match engine {
            Engine::Autodiff => None,
            Engine::Host { .. } | Engine::Tensor { .. } => network.layers().known()?,
        };
        if let (Some(_), Some(_)) = (self.shared, self.batch.fixed()) {
            return Err(TrainingError::Unbounded {
                what:
                    "a penalty to a private sample is computed by one process, not by several ranks"
                        .into(),
            });
        }
        if self.batch.records() == 0 {
            let slots = layers.map_or_else(|| parameters_of(network), |l| l.parameters());
            return self.empty(slots, device);
        }
        let Some(layers) = layers else {
            return self.alone(network, device);
        };
        if let Some(other) = self.objective.terms.iter().find(|p| p.activation > 0) {
            return Err(TrainingError::OutOfRange {
                name: "the activation of a penalty",
                value: other.activation as f64,
                bound: "0: layers have one activation".into(),
            });
        }
        refuse_shared(&layers.parameters())?;
        let flat = self.batch.flat();
        let flat = Pass {
            objective: self.objective,
            batch: &flat,
            shares: self.shares,
            clip: self.clip,
            shared: self.shared,
            engine,
        };
        flat.of_layers(&layers, engine, device)
    }
}

/// Refuses layers that share a parameter: its gradient's norm does not follow from the norms of the layers' parts.
fn refuse_shared(slots: &[ParameterSlot]) -> Result<(), TrainingError> {
    let mut seen = BTreeSet::new();
    match slots.iter().find(|slot| !seen.insert(slot.id.val())) {
        None => Ok(()),
        Some(slot) => Err(TrainingError::Unbounded {
            what: format!(
                "a parameter of shape {:?} stands in two layers, so that the norm of its gradient is not made of \
                 theirs: take Layers::any",
                slot.shape
            ),
        }),
    }
}

impl Pass<'_, 2> {
    fn of_layers(
        &self,
        layers: &KnownLayers,
        engine: Engine,
        device: &Device,
    ) -> Result<(ParameterGradient, StepLosses), TrainingError> {
        match engine {
            Engine::Host { .. } => self.on_host(layers, engine, device),
            _ => self
                .on_device(layers, engine, device)
                .map_err(|error| match error {
                    TrainingError::Device { message, .. } => TrainingError::Device {
                        chunk: engine.chunk(),
                        message,
                    },
                    other => other,
                }),
        }
    }

    /// The number of features of one record that the encoder sees.
    fn features(&self, layers: &KnownLayers) -> Result<usize, TrainingError> {
        let all = self.batch.inputs().dims()[1];
        if layers.conditioning < all {
            return Ok(all - layers.conditioning);
        }
        same(
            "features of a record, without those that pass by",
            layers.conditioning + 1,
            all,
        )?;
        Ok(all - layers.conditioning)
    }
}

impl<const D: usize> Pass<'_, D> {
    /// Refuses targets that do not fit the outputs, before they are used.
    fn check_targets(&self, outputs: usize) -> Result<(), TrainingError> {
        let mut losses = self.objective.losses.iter();
        losses.try_for_each(|loss| loss.check_targets(outputs, self.batch.targets()))
    }

    /// The cotangents, `[n, d]`, of the penalty with index `penalty` at this batch's `activations`, and its value. If there is a
    /// ball, the activations lie in it.
    fn transport(
        &self,
        penalty: usize,
        activations: &[f32],
        d: usize,
    ) -> Result<(Vec<f32>, f64), TrainingError> {
        let penalty = self.objective.penalties.get(penalty);
        match (self.shared, penalty) {
            (Some(shared), _) => shared.cotangents(penalty, activations, d),
            (None, Some(penalty)) => {
                penalty.cotangents(self.batch.strata(), self.batch.fixed(), activations)
            }
            (None, None) => Ok((vec![0.0; activations.len()], 0.0)),
        }
    }

    /// The whole gradient and the sums of the losses, added up over all ranks.
    fn total(&self, gradient: Vec<f64>, losses: &mut [f64]) -> Result<Vec<f64>, TrainingError> {
        let Some(shared) = self.shared else {
            return Ok(gradient);
        };
        let parameters = gradient.len();
        let mut all = gradient;
        all.extend_from_slice(losses);
        let mut all = shared.sum(all, self.engine)?;
        losses.copy_from_slice(&all[parameters..]);
        all.truncate(parameters);
        Ok(all)
    }

    /// Rounds a part of the gradient before it is added to others, if there is a grid.
    fn rounded(&self, value: f64) -> f64 {
        match self.shared.and_then(Shared::grid) {
            Some(grid) => (value / grid).round() * grid,
            None => value,
        }
    }

    /// The gradient of a batch without records.
    fn empty(
        &self,
        slots: Vec<ParameterSlot>,
        device: &Device,
    ) -> Result<(ParameterGradient, StepLosses), TrainingError> {
        let mut distances = Vec::new();
        // Other ranks may have records and wait.
        for penalty in 0..self.objective.terms.len() {
            let d = self.objective.penalties.get(penalty);
            let d = d.map_or(0, |penalty| penalty.width());
            distances.push(self.transport(penalty, &[], d)?.1);
        }
        let zeros = vec![0.0; slots.iter().map(ParameterSlot::len).sum()];
        let mut sums = vec![0.0; 2 * self.shares.len()];
        let total = self.total(zeros, &mut sums)?;
        let total: Vec<f32> = total.into_iter().map(|x| x as f32).collect();
        let device = device.clone().without_autodiff();
        let gradient = ParameterGradient::from_host(slots, &total, &device)?;
        Ok((gradient, self.losses(&sums, distances)))
    }

    /// The means of the losses from their sums over records; the counts follow the sums.
    fn losses(&self, sums: &[f64], penalties: Vec<f64>) -> StepLosses {
        let losses = self.objective.losses.iter().zip(sums);
        StepLosses {
            losses: losses
                .map(|(loss, sum)| {
                    let share = loss.weight / self.objective.sizes.records(loss);
                    if share > 0.0 {
                        sum * share / loss.weight
                    } else {
                        0.0
                    }
                })
                .collect(),
            penalties,
            counts: sums[self.shares.len()..].to_vec(),
        }
    }
}

/// The unit rows of dimension `d` for each of `n` records, `[n, d, d]`.
fn identities(n: usize, d: usize) -> Vec<f32> {
    let mut rows = vec![0.0; n * d * d];
    for i in 0..n {
        for r in 0..d {
            rows[(i * d + r) * d + r] = 1.0;
        }
    }
    rows
}

/// Copies host rows to `device`.
fn upload(values: Vec<f32>, shape: [usize; 2], device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Copies a tensor's values to the host.
pub(crate) fn read<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>, TrainingError> {
    tensor.try_into_vec_as().map_err(unread)
}

fn unread(error: impl std::fmt::Display) -> TrainingError {
    TrainingError::Device {
        chunk: 0,
        message: error.to_string(),
    }
}
