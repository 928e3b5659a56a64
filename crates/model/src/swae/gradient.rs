//! One step's gradient of the autoencoder, with every record's part bounded: a penalised problem whose
//! head is the decoder, and whose transport term matches each group's latents to the prior.

use std::ops::Range;

use burn::tensor::{Device, Tensor};
use dp_core::mechanism::{ParameterGradient, Sensitivity};

use super::{Batch, Matching, Swae};
use crate::ModelError;
use crate::penalised::{self, Clipped, Engine, Objective, Problem, Stages, StepLosses};

/// The clipped gradient of `L_alpha` on a batch, with its sensitivity.
///
/// # Formal guarantee
///
/// For two batches that differ in one record of one group, the same weights and the same
/// `matching`, the results differ by at most [`sensitivity`] in L2 norm.
///
/// # Errors
///
/// [`ModelError`] for shapes that do not fit and for bounds that are refused.
pub fn bounded_gradient(
    model: &Swae,
    batch: &Batch,
    matching: &Matching,
    objective: &Objective,
    engine: Engine,
    device: &Device,
) -> Result<(Clipped, StepLosses), ModelError> {
    let sensitivity = sensitivity(objective, matching)?;
    let (gradient, losses) = gradient(model, batch, matching, objective, engine, device, true)?;
    let sizes = batch.groups().iter().map(Range::len);
    Ok((Clipped::new(gradient, sensitivity, sizes), losses))
}

/// The ordinary gradient of `L_alpha`: nothing is clipped and nothing is private.
///
/// # Errors
///
/// As [`bounded_gradient`].
pub fn plain_gradient(
    model: &Swae,
    batch: &Batch,
    matching: &Matching,
    objective: &Objective,
    engine: Engine,
    device: &Device,
) -> Result<(ParameterGradient, StepLosses), ModelError> {
    gradient(model, batch, matching, objective, engine, device, false)
}

/// The L2 sensitivity of one step's gradient under replacement of one record of a group:
/// `(1 - alpha) 2C/n + alpha max_c (n_c / n) Delta_SW(n_c)` over the groups of the batch.
///
/// # Errors
///
/// Bounds that are refused.
pub fn sensitivity(objective: &Objective, matching: &Matching) -> Result<Sensitivity, ModelError> {
    let transport = matching.weighted_sensitivity(objective.clipping())?;
    objective.sensitivity(matching.records(), transport)
}

/// The paper's bound for the same step, `(1 - alpha) 2C/n + alpha 12 M L/n` (section 6.2).
pub fn paper_sensitivity(objective: &Objective, records: usize) -> f64 {
    let (n, clipping) = (records as f64, objective.clipping());
    (1.0 - objective.alpha()) * 2.0 * clipping.loss / n
        + objective.alpha() * 12.0 * clipping.activation * clipping.jacobian / n
}

fn gradient(
    model: &Swae,
    batch: &Batch,
    matching: &Matching,
    objective: &Objective,
    engine: Engine,
    device: &Device,
    clip: bool,
) -> Result<(ParameterGradient, StepLosses), ModelError> {
    matching.check(batch, model.latent)?;
    let stages = Stages {
        encoder: model.encoder.stack(),
        head: Some(model.decoder.stack()),
    };
    let problem = Reconstruction {
        batch,
        matching,
        objective,
        latent: model.latent,
        classes: model.classes,
    };
    penalised::gradient(&stages, &problem, objective, engine, device, clip)
}

struct Reconstruction<'a> {
    batch: &'a Batch,
    matching: &'a Matching,
    objective: &'a Objective,
    latent: usize,
    classes: usize,
}

impl Problem for Reconstruction<'_> {
    fn records(&self) -> usize {
        self.batch.records()
    }

    fn features(&self) -> usize {
        self.batch.features()
    }

    fn latent(&self) -> usize {
        self.latent
    }

    fn inputs(&self, range: Range<usize>) -> &[f32] {
        self.batch.pixels(range)
    }

    fn head_inputs(&self, range: Range<usize>, latents: &[f32]) -> Vec<f32> {
        self.batch.decoder_inputs(range, latents, self.classes)
    }

    fn loss(&self, range: Range<usize>, outputs: &[f32]) -> (Vec<f32>, f64) {
        cross_entropy(outputs, self.batch.pixels(range))
    }

    fn device_head_inputs(
        &self,
        range: Range<usize>,
        latents: Tensor<2>,
    ) -> Result<Tensor<2>, ModelError> {
        if self.classes == 0 {
            return Ok(latents);
        }
        let (n, device) = (range.len(), latents.device());
        // Rows of no latent: the labels alone.
        let labels = self.batch.decoder_inputs(range, &[], self.classes);
        let labels = penalised::upload(labels, [n, self.classes], &device);
        Ok(Tensor::cat(vec![latents, labels], 1))
    }

    fn device_loss(
        &self,
        range: Range<usize>,
        outputs: Tensor<2>,
    ) -> Result<(Tensor<2>, Tensor<1>), ModelError> {
        let pixels = self.batch.pixels(range).to_vec();
        let pixels = penalised::upload(pixels, outputs.dims(), &outputs.device());
        Ok(tensor_cross_entropy(outputs, pixels))
    }

    fn transport(&self, latents: &[f32]) -> Result<(Vec<f32>, f64), ModelError> {
        self.matching.cotangents(self.batch, latents)
    }

    fn device_transport(
        &self,
        latents: Tensor<2>,
        bounded: bool,
    ) -> Result<(Tensor<2>, Tensor<1>), ModelError> {
        let clipping = bounded.then(|| self.objective.clipping());
        self.matching
            .device_cotangents(self.batch, latents, clipping)
    }
}

/// The cotangent `sigmoid(z) - x` of the summed binary cross-entropy, and its value
/// `sum max(z, 0) - z x + ln(1 + exp(-|z|))`.
fn cross_entropy(logits: &[f32], pixels: &[f32]) -> (Vec<f32>, f64) {
    let mut loss = 0.0f64;
    let mut delta = Vec::with_capacity(logits.len());
    // One logarithm of a product, at most 2^512, instead of 512 logarithms.
    for (logits, pixels) in logits.chunks(512).zip(pixels.chunks(512)) {
        let mut product = 1.0f64;
        for (&z, &x) in logits.iter().zip(pixels) {
            let e = (-z.abs()).exp();
            loss += f64::from(z.max(0.0) - z * x);
            product *= 1.0 + f64::from(e);
            let sigmoid = if z >= 0.0 {
                1.0 / (1.0 + e)
            } else {
                e / (1.0 + e)
            };
            delta.push(sigmoid - x);
        }
        loss += product.ln();
    }
    (delta, loss)
}

fn tensor_cross_entropy(logits: Tensor<2>, pixels: Tensor<2>) -> (Tensor<2>, Tensor<1>) {
    let delta = burn::tensor::activation::sigmoid(logits.clone()) - pixels.clone();
    let soft = logits.clone().abs().neg().exp().log1p();
    let loss = logits.clone().clamp_min(0.0) - logits * pixels + soft;
    (delta, loss.sum())
}
