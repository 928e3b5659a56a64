//! A step on burn tensors, chunk by chunk.

use burn::tensor::{Device, Tensor};
use dp_core::mechanism::ParameterGradient;
use dp_core::per_sample::{Activations, Needs};

use super::weights::Norms;
use super::{Engine, Problem, Stages, Step, StepLosses, identities, to_host, upload};
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
        let chunks = engine.chunks(self.problem.records());
        let needs = |gram, input| Needs { gram, input };
        let encoded: Vec<Activations> = chunks
            .iter()
            .map(|chunk| {
                let inputs = self.problem.inputs(chunk.clone()).to_vec();
                encoder.forward(upload(
                    inputs,
                    [chunk.len(), self.problem.features()],
                    device,
                ))
            })
            .collect();
        let latents: Vec<f32> = encoded.iter().flat_map(|a| to_host(a.output())).collect();
        let (cotangents, transport) = self.transport(latents.clone())?;
        let mut sums: Vec<Tensor<1>> = Vec::new();
        let mut loss = 0.0;
        for (chunk, encoded) in chunks.iter().zip(&encoded) {
            let n = chunk.len();
            let here = chunk.start * d..chunk.end * d;
            let head = stages.head.as_ref().map(|head| {
                let inputs = self
                    .problem
                    .head_inputs(chunk.clone(), &latents[here.clone()]);
                let width = inputs.len() / n;
                let seen = head.forward(upload(inputs, [n, width], device));
                let (delta, part) = self.problem.device_loss(chunk.clone(), seen.output());
                loss += part;
                let delta = delta.unsqueeze_dim(1);
                let pulled = head.pull_back(&seen, delta, needs(self.clip, true));
                (head, seen, pulled)
            });
            let (squared, du) = match &head {
                Some((_, _, pulled)) => (
                    to_host(pulled.gram.clone().flatten::<2>(1, 2)),
                    pulled
                        .input
                        .clone()
                        .map_or_else(Vec::new, |x| to_host(x.flatten::<2>(1, 2))),
                ),
                None => {
                    let (delta, part) = self.problem.device_loss(chunk.clone(), encoded.output());
                    loss += part;
                    (vec![0.0; n], to_host(delta))
                }
            };
            let weigh = |gram: &[f32]| {
                self.weights(&Norms {
                    head: &squared,
                    inputs: &du,
                    gram,
                    transport: &cotangents[here.clone()],
                })
            };
            let (pulled, head_weights, encoder_weights) = if self.clip {
                let rows = upload(identities(n, d), [n, d * d], device).reshape([n, d, d]);
                let pulled = encoder.pull_back(encoded, rows, needs(true, false));
                let gram = to_host(pulled.gram.clone().flatten::<2>(1, 2));
                let (head_weights, encoder_weights) = weigh(&gram);
                (
                    pulled,
                    head_weights,
                    upload(encoder_weights, [n, d], device),
                )
            } else {
                let (head_weights, cotangent) = weigh(&[]);
                let row = upload(cotangent, [n, d], device).unsqueeze_dim(1);
                let pulled = encoder.pull_back(encoded, row, needs(false, false));
                (pulled, head_weights, Tensor::ones([n, 1], device))
            };
            let mut parts = encoder.gradient(encoded, &pulled, encoder_weights);
            if let Some((head, seen, pulled)) = &head {
                parts.extend(head.gradient(seen, pulled, upload(head_weights, [n, 1], device)));
            }
            sums = if sums.is_empty() {
                parts
            } else {
                sums.into_iter().zip(parts).map(|(a, b)| a + b).collect()
            };
        }
        let gradient = ParameterGradient::new(stages.parameters(), sums)?;
        Ok((gradient, self.losses(loss, transport)))
    }
}
