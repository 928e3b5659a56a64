//! One step's gradient with every record's part bounded, for records of any group.

use std::ops::Range;

use burn::tensor::{Device, Tensor};
use dp_core::mechanism::{ParameterGradient, Sensitivity};

use super::{GroupedBatch, Parity, TaskLoss};
use crate::ModelError;
use crate::penalised::{self, Clipped, Clipping, Engine, Objective, Problem, Stages, StepLosses};

/// The clipped gradient of `L_alpha` on a batch, with its sensitivity.
///
/// # Formal guarantee
///
/// For two batches that differ in one record of one group, the same weights and the same `parity`,
/// the results differ by at most [`sensitivity`] in L2 norm.
///
/// # Errors
///
/// [`ModelError`] for shapes that do not fit and for bounds that are refused.
pub fn bounded_gradient(
    stages: &Stages,
    batch: &GroupedBatch,
    (loss, parity): (TaskLoss, &Parity),
    objective: &Objective,
    engine: Engine,
    device: &Device,
) -> Result<(Clipped, StepLosses), ModelError> {
    let sensitivity = sensitivity(objective, parity)?;
    let terms = (loss, parity);
    let (gradient, losses) = gradient(stages, batch, terms, objective, engine, device, true)?;
    let sizes = batch.groups().iter().map(Range::len);
    Ok((Clipped::new(gradient, sensitivity, sizes), losses))
}

/// The ordinary gradient of `L_alpha`: nothing is clipped and nothing is private.
///
/// # Errors
///
/// As [`bounded_gradient`].
pub fn plain_gradient(
    stages: &Stages,
    batch: &GroupedBatch,
    terms: (TaskLoss, &Parity),
    objective: &Objective,
    engine: Engine,
    device: &Device,
) -> Result<(ParameterGradient, StepLosses), ModelError> {
    gradient(stages, batch, terms, objective, engine, device, false)
}

/// The L2 sensitivity of a step: `(1 - alpha) 2C/n + alpha Delta_P`
/// ([`Parity::sensitivity_upper`]).
///
/// # Errors
///
/// Bounds that are refused.
pub fn sensitivity(objective: &Objective, parity: &Parity) -> Result<Sensitivity, ModelError> {
    let penalty = parity.sensitivity_upper(objective.clipping())?;
    objective.sensitivity(parity.records(), penalty)
}

/// The paper's bound for the same step, with `16 M L / min(n_0, n_1)` (corollary C.1).
pub fn paper_sensitivity(objective: &Objective, parity: &Parity) -> f64 {
    let clipping = objective.clipping();
    (1.0 - objective.alpha()) * 2.0 * clipping.loss / parity.records() as f64
        + objective.alpha() * parity.paper_sensitivity_upper(clipping)
}

fn gradient(
    stages: &Stages,
    batch: &GroupedBatch,
    (loss, parity): (TaskLoss, &Parity),
    objective: &Objective,
    engine: Engine,
    device: &Device,
    clip: bool,
) -> Result<(ParameterGradient, StepLosses), ModelError> {
    parity.check(batch)?;
    let problem = Task {
        batch,
        loss,
        parity,
        clipping: objective.clipping(),
    };
    penalised::gradient(stages, &problem, objective, engine, device, clip)
}

struct Task<'a> {
    batch: &'a GroupedBatch,
    loss: TaskLoss,
    parity: &'a Parity,
    clipping: &'a Clipping,
}

impl Problem for Task<'_> {
    fn records(&self) -> usize {
        self.batch.records()
    }

    fn features(&self) -> usize {
        self.batch.features()
    }

    fn latent(&self) -> usize {
        self.parity.slices().dim()
    }

    fn inputs(&self, range: Range<usize>) -> &[f32] {
        self.batch.inputs(range)
    }

    fn loss(&self, range: Range<usize>, outputs: &[f32]) -> (Vec<f32>, f64) {
        self.loss.cotangents(outputs, self.batch.targets(range))
    }

    fn device_loss(
        &self,
        range: Range<usize>,
        outputs: Tensor<2>,
    ) -> Result<(Tensor<2>, Tensor<1>), ModelError> {
        let targets = self.batch.targets(range).to_vec();
        let targets = penalised::upload(targets, outputs.dims(), &outputs.device());
        Ok(self.loss.device_cotangents(outputs, targets))
    }

    fn device_transport(
        &self,
        latents: Tensor<2>,
        bounded: bool,
    ) -> Result<(Tensor<2>, Tensor<1>), ModelError> {
        let clipping = bounded.then_some(self.clipping);
        self.parity
            .device_cotangents(self.batch.groups(), latents, clipping)
    }

    fn transport(&self, latents: &[f32]) -> Result<(Vec<f32>, f64), ModelError> {
        self.parity.cotangents(self.batch.groups(), latents)
    }
}
