//! One step's gradient, with every record's part bounded.
//!
//! 1. Forward through the encoder; the latents, projected onto the ball of radius `M`, are
//!    transported: cotangents `c_i`.
//! 2. Chunk by chunk: forward and backward through the decoder for the reconstruction, which gives
//!    its squared norm and its cotangent `du_i` at the latent; then the Gram pass over the encoder,
//!    `G_i = J_i J_i^T`. The reconstruction reaches the encoder only through the latent, so its
//!    squared norm there is `du_i^T G_i du_i`.
//! 3. `w_i = min(1, C / norm_i)`, and one weighted sum with the cotangent
//!    `(1 - alpha) w_i du_i / n + alpha f(G_i) c_i` at the latent.

use burn::tensor::{Device, Tensor, TensorData};
use dp_core::mechanism::{BoundedGradient, ParameterGradient};
use dp_core::per_sample::{
    Activations, GRAM_ROUNDING, HostActivations, HostStack, Needs, norm_clip_weight,
};
use rayon::prelude::*;

use super::{Batch, Matching, Objective, Swae};
use crate::ModelError;

/// Which kernels carry a step, and how many records go through them at once.
///
/// The chunk bounds memory: no more than `chunk * latent` sets of activations are alive in a Gram
/// pass, whatever the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// burn tensors, on whatever device the model lives.
    Tensor {
        /// Records at once.
        chunk: usize,
    },
    /// Host kernels, one chunk a core.
    Host {
        /// Records at once on each core, best a multiple of 8: see [`dp_core::per_sample::LANES`].
        chunk: usize,
    },
}

impl Engine {
    /// The engine that suits a device: host kernels where the tensors of `flex` live in host
    /// memory anyway, tensors elsewhere.
    pub fn for_device(device: &Device) -> Self {
        if *device == Device::flex() {
            Self::Host { chunk: 24 }
        } else {
            Self::Tensor { chunk: 100 }
        }
    }

    fn chunks(self, records: usize) -> Vec<std::ops::Range<usize>> {
        let (Self::Tensor { chunk } | Self::Host { chunk }) = self;
        let chunk = chunk.max(1);
        (0..records)
            .step_by(chunk)
            .map(|start| start..(start + chunk).min(records))
            .collect()
    }
}

/// The losses of one step on its private batch. **Not private**: no ledger covers them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepLosses {
    /// Mean over records of the binary cross-entropy summed over pixels.
    pub reconstruction: f64,
    /// The group-weighted sliced squared distance between latents and prior.
    pub sliced: f64,
}

/// The clipped gradient of `L_alpha` on a batch, with its sensitivity.
///
/// # Formal guarantee
///
/// For two batches that differ in one record of one group, the same weights and the same
/// `matching`, the results differ by at most [`Objective::sensitivity`] in L2 norm.
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
) -> Result<(BoundedGradient, StepLosses), ModelError> {
    let sensitivity = objective.sensitivity(matching)?;
    let (gradient, losses) = gradient(model, batch, matching, objective, engine, device, true)?;
    Ok((BoundedGradient::new(gradient, sensitivity), losses))
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
    let step = Step {
        model,
        batch,
        matching,
        objective,
        clip,
    };
    match engine {
        Engine::Host { .. } => step.on_host(engine, device),
        Engine::Tensor { .. } => step.on_device(engine, device),
    }
}

struct Step<'a> {
    model: &'a Swae,
    batch: &'a Batch,
    matching: &'a Matching,
    objective: &'a Objective,
    clip: bool,
}

/// What step 2 finds of a chunk before any weight is known.
struct Norms<'a> {
    /// Squared norms of the decoder's part, `[n]`.
    decoder: &'a [f32],
    /// Cotangents of the reconstruction at the decoder's input, `[n, latent + classes]`.
    inputs: &'a [f32],
    /// Gram matrices of the encoder, `[n, d, d]`; empty where nothing is clipped.
    gram: &'a [f32],
    /// Cotangents of the transport, `[n, d]`.
    transport: &'a [f32],
}

impl Step<'_> {
    /// The weights of step 3: for the decoder `[n]`, for the encoder `[n, d]`.
    fn weights(&self, norms: &Norms) -> (Vec<f32>, Vec<f32>) {
        let d = self.model.latent;
        let width = d + self.model.classes;
        let share = (1.0 - self.objective.alpha()) / self.batch.records() as f64;
        let alpha = self.objective.alpha();
        let clipping = self.objective.clipping();
        let mut decoder = Vec::with_capacity(norms.decoder.len());
        let mut encoder = Vec::with_capacity(norms.transport.len());
        for (i, &squared) in norms.decoder.iter().enumerate() {
            let du = &norms.inputs[i * width..i * width + d];
            let c = &norms.transport[i * d..(i + 1) * d];
            if !self.clip {
                decoder.push(share as f32);
                encoder.extend(
                    du.iter()
                        .zip(c)
                        .map(|(&u, &c)| (share * f64::from(u) + alpha * f64::from(c)) as f32),
                );
                continue;
            }
            let gram = &norms.gram[i * d * d..(i + 1) * d * d];
            let total = f64::from(squared) + encoder_norm_squared_upper(gram, du);
            let weight = f64::from(norm_clip_weight(total, clipping.reconstruction));
            decoder.push((share * weight) as f32);
            let transported = clipping.mode.apply(gram, c, clipping.jacobian);
            encoder.extend(du.iter().zip(transported).map(|(&u, c)| {
                // A record of weight zero may have a cotangent that is not finite.
                let u = if weight > 0.0 { f64::from(u) } else { 0.0 };
                (share * weight * u + alpha * f64::from(c)) as f32
            }));
        }
        (decoder, encoder)
    }

    /// The transport's cotangents and distance for latents `[n, d]` of the whole batch.
    fn transport(&self, mut latents: Vec<f32>) -> Result<(Vec<f32>, f64), ModelError> {
        if self.clip {
            let radius = self.objective.clipping().activation;
            for row in latents.chunks_exact_mut(self.model.latent) {
                project_to_ball(row, radius);
            }
        }
        self.matching.cotangents(self.batch, &latents)
    }

    fn on_host(
        &self,
        engine: Engine,
        device: &Device,
    ) -> Result<(ParameterGradient, StepLosses), ModelError> {
        let encoder = self.model.encoder.stack().host()?;
        let decoder = self.model.decoder.stack().host()?;
        let chunks = engine.chunks(self.batch.records());
        let encoded: Vec<HostActivations> = chunks
            .par_iter()
            .map(|chunk| encoder.forward(chunk.len(), self.batch.pixels(chunk.clone())))
            .collect();
        let latents = encoded.iter().flat_map(|a| a.output().to_vec()).collect();
        let (cotangents, sliced) = self.transport(latents)?;
        let d = self.model.latent;
        let parts: Vec<(Vec<f32>, f64)> = chunks
            .par_iter()
            .zip(encoded)
            .map(|(chunk, encoded)| {
                let transport = &cotangents[chunk.start * d..chunk.end * d];
                self.host_chunk(&encoder, &decoder, chunk.clone(), &encoded, transport)
            })
            .collect();
        // In the order of the chunks, so that the sum does not depend on the threads.
        let mut flat = vec![0.0f32; encoder.parameters() + decoder.parameters()];
        let mut loss = 0.0;
        for (part, chunk_loss) in parts {
            for (total, value) in flat.iter_mut().zip(part) {
                *total += value;
            }
            loss += chunk_loss;
        }
        let gradient = ParameterGradient::from_host(self.model.parameters(), &flat, device)?;
        Ok((gradient, self.losses(loss, sliced)))
    }

    fn host_chunk(
        &self,
        encoder: &HostStack,
        decoder: &HostStack,
        chunk: std::ops::Range<usize>,
        encoded: &HostActivations,
        transport: &[f32],
    ) -> (Vec<f32>, f64) {
        let (n, d) = (chunk.len(), self.model.latent);
        let inputs = self
            .batch
            .decoder_inputs(chunk.clone(), encoded.output(), self.model.classes);
        let decoded = decoder.forward(n, &inputs);
        let (delta, loss) = cross_entropy(decoded.output(), self.batch.pixels(chunk));
        let needs = Needs {
            gram: self.clip,
            input: true,
        };
        let below = decoder.pull_back(&decoded, 1, &delta, needs);
        let mut flat = vec![0.0; encoder.parameters() + decoder.parameters()];
        let (encoder_part, decoder_part) = flat.split_at_mut(encoder.parameters());
        let needs = Needs {
            gram: self.clip,
            input: false,
        };
        if self.clip {
            let pulled = encoder.pull_back(encoded, d, &identities(n, d), needs);
            let (decoder_weights, encoder_weights) = self.weights(&Norms {
                decoder: &below.gram,
                inputs: &below.input,
                gram: &pulled.gram,
                transport,
            });
            decoder.add_gradient(&decoded, &below, &decoder_weights, decoder_part);
            encoder.add_gradient(encoded, &pulled, &encoder_weights, encoder_part);
        } else {
            let (decoder_weights, cotangent) = self.weights(&Norms {
                decoder: &below.gram,
                inputs: &below.input,
                gram: &[],
                transport,
            });
            decoder.add_gradient(&decoded, &below, &decoder_weights, decoder_part);
            let pulled = encoder.pull_back(encoded, 1, &cotangent, needs);
            encoder.add_gradient(encoded, &pulled, &vec![1.0; n], encoder_part);
        }
        (flat, loss)
    }

    fn on_device(
        &self,
        engine: Engine,
        device: &Device,
    ) -> Result<(ParameterGradient, StepLosses), ModelError> {
        let encoder = self.model.encoder.stack();
        let decoder = self.model.decoder.stack();
        let d = self.model.latent;
        let chunks = engine.chunks(self.batch.records());
        let images = |chunk: &std::ops::Range<usize>| {
            upload(
                self.batch.pixels(chunk.clone()).to_vec(),
                [chunk.len(), self.batch.features()],
                device,
            )
        };
        let encoded: Vec<Activations> = chunks.iter().map(|c| encoder.forward(images(c))).collect();
        let latents: Vec<f32> = encoded.iter().flat_map(|a| host(a.output())).collect();
        let (cotangents, sliced) = self.transport(latents.clone())?;
        let mut sums: Vec<Tensor<1>> = Vec::new();
        let mut loss = 0.0;
        for (chunk, encoded) in chunks.iter().zip(&encoded) {
            let n = chunk.len();
            let inputs = self.batch.decoder_inputs(
                chunk.clone(),
                &latents[chunk.start * d..chunk.end * d],
                self.model.classes,
            );
            let width = d + self.model.classes;
            let decoded = decoder.forward(upload(inputs, [n, width], device));
            let (delta, chunk_loss) = tensor_cross_entropy(decoded.output(), images(chunk));
            loss += f64::from(chunk_loss.into_scalar::<f32>());
            let needs = Needs {
                gram: self.clip,
                input: true,
            };
            let below = decoder.pull_back(&decoded, delta.unsqueeze_dim(1), needs);
            let du = below.input.clone().map(|x| host(x.flatten::<2>(1, 2)));
            let du = du.unwrap_or_default();
            let transport = &cotangents[chunk.start * d..chunk.end * d];
            let needs = Needs {
                gram: self.clip,
                input: false,
            };
            let squared = host(below.gram.clone().flatten::<2>(1, 2));
            let (pulled, decoder_weights, encoder_weights) = if self.clip {
                let rows = upload(identities(n, d), [n, d * d], device).reshape([n, d, d]);
                let pulled = encoder.pull_back(encoded, rows, needs);
                let gram = host(pulled.gram.clone().flatten::<2>(1, 2));
                let (decoder_weights, encoder_weights) = self.weights(&Norms {
                    decoder: &squared,
                    inputs: &du,
                    gram: &gram,
                    transport,
                });
                (
                    pulled,
                    decoder_weights,
                    upload(encoder_weights, [n, d], device),
                )
            } else {
                let (decoder_weights, cotangent) = self.weights(&Norms {
                    decoder: &squared,
                    inputs: &du,
                    gram: &[],
                    transport,
                });
                let row = upload(cotangent, [n, d], device).unsqueeze_dim(1);
                let pulled = encoder.pull_back(encoded, row, needs);
                (pulled, decoder_weights, Tensor::ones([n, 1], device))
            };
            let decoder_weights = upload(decoder_weights, [n, 1], device);
            let mut parts = encoder.gradient(encoded, &pulled, encoder_weights);
            parts.extend(decoder.gradient(&decoded, &below, decoder_weights));
            sums = if sums.is_empty() {
                parts
            } else {
                sums.into_iter().zip(parts).map(|(a, b)| a + b).collect()
            };
        }
        let gradient = ParameterGradient::new(self.model.parameters(), sums)?;
        Ok((gradient, self.losses(loss, sliced)))
    }

    fn losses(&self, reconstruction: f64, sliced: f64) -> StepLosses {
        StepLosses {
            reconstruction: reconstruction / self.batch.records() as f64,
            sliced,
        }
    }
}

/// An upper bound on `du^T G du`, the rounding of `G` included: the same allowance as in the
/// spectral clip.
fn encoder_norm_squared_upper(gram: &[f32], du: &[f32]) -> f64 {
    let d = du.len();
    let mut quadratic = 0.0;
    let mut trace = 0.0;
    let mut squared = 0.0;
    for r in 0..d {
        trace += f64::from(gram[r * d + r]);
        squared += f64::from(du[r]).powi(2);
        for s in 0..d {
            quadratic += f64::from(du[r]) * f64::from(gram[r * d + s]) * f64::from(du[s]);
        }
    }
    quadratic + GRAM_ROUNDING * trace * squared
}

/// Scales `row` to norm at most `radius`; a row that is not finite becomes the origin, so that one
/// bad record can neither poison the sort nor be told from its neighbour by an error.
fn project_to_ball(row: &mut [f32], radius: f64) {
    let norm = row
        .iter()
        .map(|&x| f64::from(x).powi(2))
        .sum::<f64>()
        .sqrt();
    if !norm.is_finite() {
        row.fill(0.0);
    } else if norm > radius {
        let scale = radius / norm;
        for x in row {
            *x = (f64::from(*x) * scale) as f32;
        }
    }
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

/// The cotangent `sigmoid(z) - x` of the summed binary cross-entropy, and its value
/// `sum max(z, 0) - z x + ln(1 + exp(-|z|))`.
fn cross_entropy(logits: &[f32], pixels: &[f32]) -> (Vec<f32>, f64) {
    let mut loss = 0.0f64;
    let delta = logits
        .iter()
        .zip(pixels)
        .map(|(&z, &x)| {
            let e = (-z.abs()).exp();
            loss += f64::from(z.max(0.0) - z * x + e.ln_1p());
            let sigmoid = if z >= 0.0 {
                1.0 / (1.0 + e)
            } else {
                e / (1.0 + e)
            };
            sigmoid - x
        })
        .collect();
    (delta, loss)
}

fn tensor_cross_entropy(logits: Tensor<2>, pixels: Tensor<2>) -> (Tensor<2>, Tensor<1>) {
    let delta = burn::tensor::activation::sigmoid(logits.clone()) - pixels.clone();
    let soft = logits.clone().abs().neg().exp().log1p();
    let loss = logits.clone().clamp_min(0.0) - logits * pixels + soft;
    (delta, loss.sum())
}

fn upload(values: Vec<f32>, shape: [usize; 2], device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn host(tensor: Tensor<2>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}
