//! A step on burn tensors, chunk by chunk, that reads nothing back but its two losses.
//!
//! Every bound is tightened by what the device may round in a record's part ([`Rounding`]); a device
//! whose products are coarse is refused.

use std::collections::VecDeque;
use std::ops::Range;

use burn::tensor::{Device, Tensor};
use dp_core::mechanism::ParameterGradient;
use dp_core::per_sample::{Needs, Rounding, finite_rows, norm_clip_weights};

use super::{Engine, Problem, Stages, Step, StepLosses, read, upload};
use crate::ModelError;

impl<P: Problem> Step<'_, P> {
    pub(super) fn on_device(
        &self,
        stages: &Stages,
        engine: Engine,
        device: &Device,
    ) -> Result<(ParameterGradient, StepLosses), ModelError> {
        let encoder = &stages.encoder;
        let d = self.problem.latent();
        // A plain step is not bounded, and may be as coarse as it likes.
        let rounding = match self.clip {
            true => Rounding::of(device)?,
            false => Rounding::SINGLE,
        };
        let chunks = engine.chunks(self.problem.records());
        let forward = |chunk: &Range<usize>| {
            let inputs = self.problem.inputs(chunk.clone()).to_vec();
            let shape = [chunk.len(), self.problem.features()];
            encoder.forward(upload(inputs, shape, device))
        };
        // Where the whole batch weighs no more than one chunk's pull-backs its activations stay;
        // otherwise they are made again chunk by chunk, or a smaller chunk would free nothing.
        let stays = self.problem.records() <= d.max(2) * engine.chunk();
        let mut kept = VecDeque::new();
        let mut outputs = Vec::new();
        for chunk in &chunks {
            let encoded = forward(chunk);
            outputs.push(encoded.output());
            if stays {
                kept.push_back(encoded);
            }
        }
        let latents = Tensor::cat(outputs, 0);
        let (cotangents, transport) = self.device_transport(latents, rounding)?;
        let mut sums: Vec<Tensor<1>> = Vec::new();
        let mut loss = Tensor::<1>::zeros([1], device);
        for chunk in &chunks {
            let encoded = &kept.pop_front().unwrap_or_else(|| forward(chunk));
            let n = chunk.len();
            let transported = cotangents.clone().slice([chunk.clone(), 0..d]);
            let needs = |gram, input| Needs { gram, input };
            let head = match &stages.head {
                None => None,
                Some(head) => {
                    let activation = encoded.output();
                    let inputs = self.problem.device_head_inputs(chunk.clone(), activation)?;
                    let seen = head.forward(inputs);
                    let (delta, part) = self.problem.device_loss(chunk.clone(), seen.output())?;
                    loss = loss + part;
                    let delta = delta.unsqueeze_dim(1);
                    let pulled = head.pull_back(&seen, delta, needs(self.clip, true));
                    Some((head, seen, pulled))
                }
            };
            let (squared, du) = match &head {
                Some((_, _, pulled)) => {
                    let input = pulled.input.clone().map(|x| x.flatten::<2>(1, 2));
                    let du = input
                        .map_or_else(|| Tensor::zeros([n, d], device), |x| x.slice([0..n, 0..d]));
                    (pulled.gram.clone().flatten::<1>(0, 2), du)
                }
                None => {
                    let (delta, part) =
                        self.problem.device_loss(chunk.clone(), encoded.output())?;
                    loss = loss + part;
                    (Tensor::zeros([n], device), delta)
                }
            };
            let (pulled, head_weights, encoder_weights) = if self.clip {
                let rows = Tensor::<2>::eye(d, device)
                    .unsqueeze::<3>()
                    .expand([n, d, d]);
                let pulled = encoder.pull_back(encoded, rows, needs(true, false));
                let gram = pulled.gram.clone();
                let (head_weights, weights) =
                    self.device_weights(squared, du, gram, transported, rounding);
                (pulled, head_weights, weights)
            } else {
                let (share, alpha) = self.shares();
                let row = (du * share + transported * alpha).unsqueeze_dim(1);
                let pulled = encoder.pull_back(encoded, row, needs(false, false));
                let head_weights = Tensor::full([n], share, device);
                (pulled, head_weights, Tensor::ones([n, 1], device))
            };
            let mut parts = encoder.gradient(encoded, &pulled, encoder_weights);
            if let Some((head, seen, pulled)) = &head {
                parts.extend(head.gradient(seen, pulled, head_weights.reshape([n, 1])));
            }
            sums = if sums.is_empty() {
                parts
            } else {
                sums.into_iter().zip(parts).map(|(a, b)| a + b).collect()
            };
        }
        let gradient = ParameterGradient::new(stages.parameters(), sums)?;
        // The only wait of the step, and where a device that has failed says so.
        let losses = read(Tensor::cat(vec![loss, transport], 0))?;
        let [loss, transport] = [losses[0], losses[1]].map(f64::from);
        Ok((gradient, self.losses(loss, transport)))
    }

    /// The weights of the two terms: `(1 - alpha) / n` and `alpha`.
    fn shares(&self) -> (f64, f64) {
        let alpha = self.objective.alpha();
        ((1.0 - alpha) / self.problem.records() as f64, alpha)
    }

    fn device_transport(
        &self,
        latents: Tensor<2>,
        rounding: Rounding,
    ) -> Result<(Tensor<2>, Tensor<1>), ModelError> {
        let latents = if self.clip {
            let radius = self.objective.clipping().activation;
            project_to_ball(latents, rounding.tighten(radius))
        } else {
            latents
        };
        self.problem.device_transport(latents, self.clip)
    }

    /// [`Step::weights`] on tensors: for the head `[n]`, for the encoder `[n, d]`.
    fn device_weights(
        &self,
        squared: Tensor<1>,
        du: Tensor<2>,
        gram: Tensor<3>,
        transported: Tensor<2>,
        rounding: Rounding,
    ) -> (Tensor<1>, Tensor<2>) {
        let [n, d] = du.dims();
        let (share, alpha) = self.shares();
        let clipping = self.objective.clipping();
        let along = (gram.clone() * du.clone().unsqueeze_dim::<3>(1)).sum_dim(2);
        let quadratic = (along.reshape([n, d]) * du.clone()).sum_dim(1);
        let trace = (gram.clone() * Tensor::<2>::eye(d, &du.device()).unsqueeze::<3>())
            .sum_dim(2)
            .sum_dim(1);
        let allowance = trace.reshape([n, 1]) * du.clone().square().sum_dim(1) * rounding.gram;
        let own = squared.mul_scalar(1.0 + rounding.gram);
        let total = own + (quadratic + allowance).reshape([n]);
        let weight = norm_clip_weights(total, clipping.loss, rounding);
        let transported = clipping
            .mode
            .apply_all(gram, transported, clipping.jacobian, rounding);
        // A record of weight zero may have a cotangent that is not finite.
        let dead = weight.clone().equal_elem(0.0).reshape([n, 1]);
        let du = du.mask_fill(dead.expand([n, d]), 0.0);
        let head = weight * share;
        let encoder = du * head.clone().reshape([n, 1]) + transported * alpha;
        (head, encoder)
    }
}

/// Scales each row to norm at most `radius`; a row that is not finite becomes the origin.
fn project_to_ball(rows: Tensor<2>, radius: f64) -> Tensor<2> {
    let shape = rows.dims();
    let norm = rows.clone().square().sum_dim(1).sqrt();
    let lost = finite_rows(norm.clone()).bool_not();
    let outside = norm.clone().greater_elem(radius).expand(shape);
    // First the direction: on a line, where it is 1 or -1, rows beyond the bound then stay equal.
    let bounded = rows.clone() / norm.clamp_min(f32::MIN_POSITIVE) * radius;
    rows.mask_where(outside, bounded)
        .mask_fill(lost.expand(shape), 0.0)
}
