//! A step on host kernels, chunk by chunk.

use std::ops::Range;

use burn::tensor::Device;
use dp_core::mechanism::ParameterGradient;
use dp_core::per_sample::{HostActivations, HostStack, Needs};
use rayon::prelude::*;

use super::weights::Norms;
use super::{Engine, Problem, Stages, Step, StepLosses, identities};
use crate::ModelError;

/// Partial sums of a batch's gradient on the host: each is as large as the model, and no more than
/// this many cores can work on a batch.
const STRANDS: usize = 12;
/// Entries of the partial sums that are added at once.
const SPAN: usize = 1 << 14;

/// The stages' kernels.
struct Host {
    encoder: HostStack,
    head: Option<HostStack>,
}

/// The loss of a chunk, pulled back to the head's input.
struct Below {
    squared: Vec<f32>,
    input: Vec<f32>,
    loss: f64,
}

impl<P: Problem> Step<'_, P> {
    pub(super) fn on_host(
        &self,
        stages: &Stages,
        engine: Engine,
        device: &Device,
    ) -> Result<(ParameterGradient, StepLosses), ModelError> {
        let host = Host {
            encoder: stages.encoder.host()?,
            head: stages.head.as_ref().map(|h| h.host()).transpose()?,
        };
        let chunks = engine.chunks(self.problem.records());
        let encoded: Vec<HostActivations> = chunks
            .par_iter()
            .map(|chunk| {
                let inputs = self.problem.inputs(chunk.clone());
                host.encoder.forward(chunk.len(), inputs)
            })
            .collect();
        let latents = encoded.iter().flat_map(|a| a.output().to_vec()).collect();
        let (cotangents, transport) = self.transport(latents)?;
        let d = self.problem.latent();
        // Each strand adds up its chunks in order, and the strands are added in order, so that the
        // sum does not depend on the threads.
        let parameters =
            host.encoder.parameters() + host.head.as_ref().map_or(0, HostStack::parameters);
        let each = chunks.len().div_ceil(STRANDS).max(1);
        let parts: Vec<(Vec<f32>, f64)> = chunks
            .par_chunks(each)
            .zip(encoded.par_chunks(each))
            .map(|(chunks, encoded)| {
                let mut flat = Vec::new();
                flat.resize(parameters, 0.0f32);
                let mut loss = 0.0;
                for (chunk, encoded) in chunks.iter().zip(encoded) {
                    let cotangents = &cotangents[chunk.start * d..chunk.end * d];
                    loss += self.host_chunk(&host, chunk.clone(), encoded, cotangents, &mut flat);
                }
                (flat, loss)
            })
            .collect();
        let mut flat = vec![0.0f32; parameters];
        flat.par_chunks_mut(SPAN)
            .enumerate()
            .for_each(|(index, span)| {
                for (part, _) in &parts {
                    for (total, value) in span.iter_mut().zip(&part[index * SPAN..]) {
                        *total += value;
                    }
                }
            });
        let loss = parts.iter().map(|(_, loss)| loss).sum();
        let gradient = ParameterGradient::from_host(stages.parameters(), &flat, device)?;
        Ok((gradient, self.losses(loss, transport)))
    }

    /// Adds the gradient of one chunk to `flat`; answers its summed loss.
    fn host_chunk(
        &self,
        host: &Host,
        chunk: Range<usize>,
        encoded: &HostActivations,
        cotangents: &[f32],
        flat: &mut [f32],
    ) -> f64 {
        let (n, d) = (chunk.len(), self.problem.latent());
        let needs = |gram, input| Needs { gram, input };
        let (encoder_part, head_part) = flat.split_at_mut(host.encoder.parameters());
        let head = host.head.as_ref().map(|head| {
            let inputs = self.problem.head_inputs(chunk.clone(), encoded.output());
            let seen = head.forward(n, &inputs);
            let (delta, loss) = self.problem.loss(chunk.clone(), seen.output());
            let pulled = head.pull_back(&seen, 1, &delta, needs(self.clip, true));
            (head, seen, pulled, loss)
        });
        let below = match &head {
            Some((_, _, pulled, loss)) => Below {
                squared: pulled.gram.clone(),
                input: pulled.input.clone(),
                loss: *loss,
            },
            None => {
                let (input, loss) = self.problem.loss(chunk, encoded.output());
                Below {
                    squared: vec![0.0; n],
                    input,
                    loss,
                }
            }
        };
        let weigh = |gram: &[f32]| {
            self.weights(&Norms {
                head: &below.squared,
                inputs: &below.input,
                gram,
                transport: cotangents,
            })
        };
        let head_weights = if self.clip {
            let pulled = host
                .encoder
                .pull_back(encoded, d, &identities(n, d), needs(true, false));
            let (head_weights, encoder_weights) = weigh(&pulled.gram);
            host.encoder
                .add_gradient(encoded, &pulled, &encoder_weights, encoder_part);
            head_weights
        } else {
            let (head_weights, cotangent) = weigh(&[]);
            let pulled = host
                .encoder
                .pull_back(encoded, 1, &cotangent, needs(false, false));
            host.encoder
                .add_gradient(encoded, &pulled, &vec![1.0; n], encoder_part);
            head_weights
        };
        if let Some((head, seen, pulled, _)) = &head {
            head.add_gradient(seen, pulled, &head_weights, head_part);
        }
        below.loss
    }
}
