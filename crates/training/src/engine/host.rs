//! A step on host kernels, chunk by chunk.

use std::ops::Range;

use burn::tensor::Device;
use dp_core::mechanism::ParameterGradient;
use dp_core::per_sample::{HostActivations, HostStack, Needs};
use rayon::prelude::*;

use super::weights::Norms;
use crate::ranks::Shared;

use super::{Engine, Pass, StepLosses, identities, read, unread};
use crate::KnownLayers;
use crate::{HostTargets, Targets, TrainingError};

/// The most chunks that are computed at once on the host, and so the most cores that work on a batch: each chunk's gradient is as
/// large as the network.
const STRANDS: usize = 12;
/// The number of parameters up to which that many gradients take little memory; larger networks get fewer.
const SMALL: usize = 1 << 20;
/// The number of entries of the chunks' gradients that are added at once.
const SPAN: usize = 1 << 14;

/// The network's kernels and the batch.
struct Host {
    encoder: HostStack,
    head: Option<HostStack>,
    inputs: Vec<f32>,
    conditioning: Vec<f32>,
    targets: KeptTargets,
    widths: [usize; 2],
}

/// The targets on the host; values with their width.
enum KeptTargets {
    Classes(Vec<usize>),
    Values(Vec<f32>, usize),
}

impl Host {
    /// The range of these records in rows of inputs, conditioning features or values.
    fn rows(values: &[f32], width: usize, records: &Range<usize>) -> Range<usize> {
        debug_assert!(records.end * width <= values.len());
        records.start * width..records.end * width
    }

    fn inputs(&self, records: &Range<usize>) -> &[f32] {
        &self.inputs[Self::rows(&self.inputs, self.widths[0], records)]
    }

    fn targets(&self, records: &Range<usize>) -> HostTargets<'_> {
        match &self.targets {
            KeptTargets::Classes(all) => HostTargets::Classes(&all[records.clone()]),
            KeptTargets::Values(all, width) => {
                HostTargets::Values(&all[Self::rows(all, *width, records)])
            }
        }
    }

    /// The head's inputs: activations, each followed by the features that bypass the encoder.
    fn head_inputs(&self, records: &Range<usize>, activations: &[f32]) -> Vec<f32> {
        let conditioning = self.widths[1];
        if conditioning == 0 {
            return activations.to_vec();
        }
        let d = activations.len() / records.len().max(1);
        let passing = &self.conditioning[Self::rows(&self.conditioning, conditioning, records)];
        let rows = activations
            .chunks_exact(d)
            .zip(passing.chunks_exact(conditioning));
        rows.flat_map(|(activation, conditioning)| [activation, conditioning].concat())
            .collect()
    }
}

/// The losses of a chunk, pulled back to the head's input.
struct Below {
    gram: Vec<f32>,
    input: Vec<f32>,
    sums: Vec<f64>,
}

/// Adds the gradients of chunks to `totals` in order, each value after `rounded`.
fn add_in_order(parts: &[Vec<f32>], totals: &mut [f64], rounded: impl Fn(f32) -> f64 + Sync) {
    let spans = totals.par_chunks_mut(SPAN).enumerate();
    spans.for_each(|(index, span)| {
        for part in parts {
            for (total, &value) in span.iter_mut().zip(&part[index * SPAN..]) {
                *total += rounded(value);
            }
        }
    });
}

impl Pass<'_, 2> {
    pub(super) fn on_host(
        &self,
        layers: &KnownLayers,
        engine: Engine,
        device: &Device,
    ) -> Result<(ParameterGradient, StepLosses), TrainingError> {
        let host = self.host(layers)?;
        let n = self.batch.records();
        let chunks = engine.chunks(n);
        let forward = |chunk: &Range<usize>| host.encoder.forward(chunk.len(), host.inputs(chunk));
        // Without a penalty, only one chunk's activations are needed at a time.
        let penalised = !self.objective.terms.is_empty();
        let encoded: Vec<HostActivations> = match penalised {
            true => chunks.par_iter().map(forward).collect(),
            false => Vec::new(),
        };
        let d = host.encoder.outputs();
        let outputs = host.head.as_ref().map_or(d, HostStack::outputs);
        self.check_targets(outputs)?;
        let mut cotangents = Vec::new();
        let mut distances = Vec::new();
        for (index, penalty) in self.objective.terms.iter().enumerate() {
            let mut activations: Vec<f32> =
                encoded.iter().flat_map(|a| a.output().to_vec()).collect();
            if self.clip {
                penalty.project(&mut activations, d);
            }
            let (c, distance) = self.transport(index, &activations, d)?;
            cotangents.push(c);
            distances.push(distance);
        }
        // A chunk adds its few records in `f32`, and chunks are added in order in `f64`. So the sum does not depend on the
        // threads, and its rounding does not grow with the number of chunks (`Engine::additions`).
        let parameters =
            host.encoder.parameters() + host.head.as_ref().map_or(0, HostStack::parameters);
        let strands = (STRANDS * SMALL / parameters.max(1)).clamp(2, STRANDS);
        let mut totals = vec![0.0f64; parameters];
        let mut sums = vec![0.0; 2 * self.shares.len()];
        let mut parts = vec![vec![0.0f32; parameters]; strands.min(chunks.len())];
        for (round, chunks) in chunks.chunks(strands).enumerate() {
            let losses: Vec<Vec<f64>> = chunks
                .par_iter()
                .zip(&mut parts)
                .enumerate()
                .map(|(strand, (chunk, part))| {
                    part.fill(0.0);
                    let fresh;
                    let encoded = match encoded.get(round * strands + strand) {
                        Some(encoded) => encoded,
                        None => {
                            fresh = forward(chunk);
                            &fresh
                        }
                    };
                    let rows = chunk.start * d..chunk.end * d;
                    let own: Vec<&[f32]> = cotangents.iter().map(|c| &c[rows.clone()]).collect();
                    self.host_chunk(&host, chunk.clone(), encoded, &own, part)
                })
                .collect();
            match self.shared.and_then(Shared::grid) {
                // This case is fixed at compile time, so that the step of a single process is not slower.
                None => add_in_order(&parts[..chunks.len()], &mut totals, f64::from),
                Some(_) => add_in_order(&parts[..chunks.len()], &mut totals, |x| {
                    self.rounded(f64::from(x))
                }),
            }
            for part in losses {
                for (sum, part) in sums.iter_mut().zip(part) {
                    *sum += part;
                }
            }
        }
        drop(parts);
        let totals = self.total(totals, &mut sums)?;
        let flat: Vec<f32> = totals.into_iter().map(|x| x as f32).collect();
        let gradient = ParameterGradient::from_host(layers.parameters(), &flat, device)?;
        Ok((gradient, self.losses(&sums, distances)))
    }

    fn host(&self, layers: &KnownLayers) -> Result<Host, TrainingError> {
        let features = self.features(layers)?;
        let conditioning = layers.conditioning;
        let rows = read(self.batch.inputs().clone())?;
        let (inputs, passing) = if conditioning == 0 {
            (rows, Vec::new())
        } else {
            let parts = rows.chunks_exact(features + conditioning);
            let parts = parts.map(|row| row.split_at(features));
            let (mut own, mut other) = (Vec::new(), Vec::new());
            for (inputs, passing) in parts {
                own.extend_from_slice(inputs);
                other.extend_from_slice(passing);
            }
            (own, other)
        };
        let encoder = layers.encoder.host()?;
        crate::error::same("features of a record", encoder.inputs(), features)?;
        Ok(Host {
            encoder,
            head: layers.head.as_ref().map(|h| h.host()).transpose()?,
            inputs,
            conditioning: passing,
            targets: match self.batch.targets().without_autodiff() {
                // Labels that are no class are refused before they are used as an index.
                Targets::Classes(classes) => {
                    let classes: Vec<i64> = classes.try_into_vec_as().map_err(unread)?;
                    let classes = classes.into_iter().map(|class| class as usize);
                    KeptTargets::Classes(classes.collect())
                }
                Targets::Values(values) => {
                    let width = values.dims()[1];
                    KeptTargets::Values(read(values)?, width)
                }
            },
            widths: [features, conditioning],
        })
    }

    /// The losses of a chunk at `outputs`: cotangents `[n, K, width]`, and sums.
    fn host_losses(
        &self,
        host: &Host,
        chunk: &Range<usize>,
        outputs: &[f32],
    ) -> (Vec<f32>, Vec<f64>) {
        let (n, k) = (chunk.len(), self.objective.losses.len());
        let width = outputs.len() / n;
        let mut all = Vec::new();
        let mut sums = Vec::with_capacity(k);
        for (l, loss) in self.objective.losses.iter().enumerate() {
            let (delta, values) = loss.host_cotangents(outputs, host.targets(chunk), n);
            let counted = values.iter().enumerate();
            let counted = counted.filter(|(i, _)| self.shares[l][chunk.start + i] > 0.0);
            sums.push(counted.map(|(_, value)| value).sum());
            if k == 1 {
                return (delta, sums);
            }
            all.resize(n * k * width, 0.0);
            for (i, row) in delta.chunks_exact(width).enumerate() {
                all[(i * k + l) * width..][..width].copy_from_slice(row);
            }
        }
        (all, sums)
    }

    /// Adds the gradient of one chunk to `flat` and returns its summed losses, followed by their counts.
    fn host_chunk(
        &self,
        host: &Host,
        chunk: Range<usize>,
        encoded: &HostActivations,
        cotangents: &[&[f32]],
        flat: &mut [f32],
    ) -> Vec<f64> {
        let (n, k, d) = (
            chunk.len(),
            self.objective.losses.len(),
            host.encoder.outputs(),
        );
        let needs = |gram, input| Needs { gram, input };
        let (encoder_part, head_part) = flat.split_at_mut(host.encoder.parameters());
        let head = host.head.as_ref().filter(|_| k > 0).map(|head| {
            let inputs = host.head_inputs(&chunk, encoded.output());
            let saved = head.forward(n, &inputs);
            let (delta, sums) = self.host_losses(host, &chunk, saved.output());
            let pulled = head.pull_back(&saved, k, &delta, needs(self.clip, true));
            (head, saved, pulled, sums)
        });
        let below = match &head {
            Some((_, _, pulled, sums)) => Below {
                gram: pulled.gram.clone(),
                input: pulled.input.clone(),
                sums: sums.clone(),
            },
            None => {
                let (input, sums) = self.host_losses(host, &chunk, encoded.output());
                Below {
                    gram: Vec::new(),
                    input,
                    sums,
                }
            }
        };
        let weigh = |gram: &[f32]| {
            self.weights(&Norms {
                records: chunk.clone(),
                head: &below.gram,
                inputs: &below.input,
                d,
                gram,
                penalties: cotangents,
            })
        };
        let weights = if cotangents.is_empty() {
            // The losses' own rows are pulled back through the encoder.
            let width = below.input.len() / (n * k).max(1);
            let rows: Vec<f32> = below
                .input
                .chunks_exact(width)
                .flat_map(|row| &row[..d])
                .copied()
                .collect();
            let pulled = host
                .encoder
                .pull_back(encoded, k, &rows, needs(self.clip, false));
            let weights = weigh(&pulled.gram);
            host.encoder
                .add_gradient(encoded, &pulled, &weights.losses, encoder_part);
            weights
        } else if self.clip {
            let pulled = host
                .encoder
                .pull_back(encoded, d, &identities(n, d), needs(true, false));
            let weights = weigh(&pulled.gram);
            host.encoder
                .add_gradient(encoded, &pulled, &weights.activation, encoder_part);
            weights
        } else {
            let weights = weigh(&[]);
            let cotangents: Vec<f32> = weights.activation.iter().map(|&x| x as f32).collect();
            let pulled = host
                .encoder
                .pull_back(encoded, 1, &cotangents, needs(false, false));
            host.encoder
                .add_gradient(encoded, &pulled, &vec![1.0; n], encoder_part);
            weights
        };
        if let Some((head, saved, pulled, _)) = &head {
            head.add_gradient(saved, pulled, &weights.losses, head_part);
        }
        let mut sums = below.sums.clone();
        sums.extend(weights.counts);
        sums
    }
}
