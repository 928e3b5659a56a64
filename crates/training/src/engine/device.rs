//! A step on burn tensors, chunk by chunk, that reads back only its losses.
//!
//! Every bound is tightened by the device's rounding in a record's part ([`Rounding`]); a device whose products are too coarse is
//! refused.

use std::collections::VecDeque;
use std::ops::Range;

use burn::tensor::{Device, Tensor};
use dp_core::mechanism::ParameterGradient;
use dp_core::per_sample::{Needs, Rounding, finite_rows, norm_clip_weights};

use super::chunks::Pairwise;
use crate::ranks::Shared;

use super::weights::LOST;
use super::{Engine, Pass, StepLosses, read, upload};
use crate::KnownLayers;
use crate::TrainingError;

/// The losses, pulled back to the network's activation.
struct Below {
    /// Gram matrices of the losses in the head, `[n, K, K]`; `None` without a head.
    gram: Option<Tensor<3>>,
    /// Cotangents at the activation, `[n, K, d]`.
    du: Tensor<3>,
}

impl Pass<'_, 2> {
    pub(super) fn on_device(
        &self,
        network: &KnownLayers,
        engine: Engine,
        device: &Device,
    ) -> Result<(ParameterGradient, StepLosses), TrainingError> {
        // A step without clipping has no bound, so any rounding will do.
        let rounding = match self.clip {
            true => Rounding::of_device(device)?,
            false => Rounding::SINGLE,
        };
        let encoder = &network.encoder;
        let device = &device.clone().without_autodiff();
        let (k, n) = (self.objective.losses.len(), self.batch.records());
        let (features, conditioning) = (self.features(network)?, network.conditioning);
        let inputs = on(self.batch.inputs(), device);
        let targets = self.batch.targets().without_autodiff();
        let targets = targets.map(|all| all.to_device(device), |all| all.to_device(device));
        let chunks = engine.chunks(n);
        let forward = |chunk: &Range<usize>| {
            let rows = inputs.clone().slice([chunk.clone(), 0..features]);
            encoder.forward(rows)
        };
        let penalised = !self.objective.terms.is_empty();
        let mut kept = VecDeque::new();
        let mut cotangents = Vec::new();
        let mut distances = vec![];
        if penalised {
            let mut outputs: Vec<Tensor<2>> = Vec::new();
            for chunk in &chunks {
                let encoded = forward(chunk);
                outputs.push(encoded.output());
                // If the whole batch takes no more memory than one chunk's pull-backs, its activations are kept. Otherwise they
                // are computed again chunk by chunk; else a smaller chunk would free nothing.
                if n <= outputs[0].dims()[1].max(2) * engine.chunk() {
                    kept.push_back(encoded);
                }
            }
            let activations = Tensor::cat(outputs, 0);
            for (index, term) in self.objective.terms.iter().enumerate() {
                let inside = match self.clip {
                    true => term.project_all(activations.clone(), rounding),
                    false => activations.clone(),
                };
                let (c, distance) = match (self.shared, self.objective.penalties.get(index)) {
                    (None, Some(penalty)) => {
                        penalty.device_cotangents(self.batch, inside, self.clip)?
                    }
                    // Activations on several ranks are gathered on the host.
                    _ => {
                        let [n, d] = inside.dims();
                        let (c, distance) = self.transport(index, &read(inside)?, d)?;
                        let distance = Tensor::from_data([distance as f32], device);
                        (upload(c, [n, d], device), distance)
                    }
                };
                cotangents.push(c);
                distances.push(distance);
            }
        }
        let shares: Vec<Tensor<2>> = self
            .shares
            .iter()
            .map(|shares| {
                let shares = shares.iter().map(|&share| share as f32).collect();
                upload(shares, [n, 1], device)
            })
            .collect();
        let mut sums = Pairwise::new(|a: Vec<Tensor<1>>, b| {
            a.into_iter().zip(b).map(|(a, b)| a + b).collect()
        });
        let mut on_grid: Option<Vec<f64>> = None;
        // The counts follow the losses.
        let mut losses = vec![Tensor::<1>::zeros([1], device); 2 * k];
        let mut checked = false;
        for chunk in &chunks {
            let encoded = &kept.pop_front().unwrap_or_else(|| forward(chunk));
            let (n, d) = (chunk.len(), encoded.output().dims()[1]);
            let rows = |all: &Tensor<2>| all.clone().narrow(0, chunk.start, n);
            let own_targets = targets.narrow(chunk.start, n);
            let own: Vec<Tensor<2>> = shares.iter().map(&rows).collect();
            let needs = |gram, input| Needs { gram, input };
            let mut chunk_losses = |outputs: Tensor<2>| {
                if !checked {
                    self.check_targets(outputs.dims()[1])?;
                    checked = true;
                }
                let mut deltas = Vec::with_capacity(k);
                for (l, loss) in self.objective.losses.iter().enumerate() {
                    let (delta, values) = loss.cotangents(outputs.clone(), &own_targets);
                    let counted = own[l].clone().greater_elem(0.0).reshape([n]);
                    let part = values.mask_fill(counted.bool_not(), 0.0).sum();
                    losses[l] = losses[l].clone() + part;
                    deltas.push(delta.unsqueeze_dim::<3>(1));
                }
                Ok::<_, TrainingError>(Tensor::cat(deltas, 1))
            };
            let head = match &network.head {
                Some(head) if k > 0 => {
                    let mut head_input = encoded.output();
                    if conditioning > 0 {
                        let passing = features..features + conditioning;
                        let passing = inputs.clone().slice([chunk.clone(), passing]);
                        head_input = Tensor::cat(vec![head_input, passing], 1);
                    }
                    let saved = head.forward(head_input);
                    let delta = chunk_losses(saved.output())?;
                    let pulled = head.pull_back(&saved, delta, needs(self.clip, true));
                    Some((head, saved, pulled))
                }
                _ => None,
            };
            let below = match &head {
                Some((_, _, pulled)) => {
                    let input = pulled.input.clone();
                    let du = input.map_or_else(
                        || Tensor::zeros([n, k, d], device),
                        |x| x.slice([0..n, 0..k, 0..d]),
                    );
                    Below {
                        gram: Some(pulled.gram.clone()),
                        du,
                    }
                }
                None if k > 0 => Below {
                    gram: None,
                    du: chunk_losses(encoded.output())?,
                },
                None => Below {
                    gram: None,
                    du: Tensor::zeros([n, 0, d], device),
                },
            };
            let transported: Vec<Tensor<2>> = cotangents.iter().map(&rows).collect();
            let (pulled, losses_weights, encoder_weights) = if !penalised {
                let pulled = encoder.pull_back(encoded, below.du.clone(), needs(self.clip, false));
                let gram = self.clip.then(|| pulled.gram.clone());
                let weights = self.loss_weights(&below, gram, &own, rounding, &mut losses[k..]);
                (pulled, weights.clone(), weights)
            } else if self.clip {
                let rows = Tensor::<2>::eye(d, device)
                    .unsqueeze::<3>()
                    .expand([n, d, d]);
                let pulled = encoder.pull_back(encoded, rows, needs(true, false));
                let gram = pulled.gram.clone();
                let (losses, weights) = self.penalised_weights(
                    &below,
                    gram,
                    &own,
                    &transported,
                    rounding,
                    &mut losses[k..],
                );
                (pulled, losses, weights)
            } else {
                let mut row = Tensor::zeros([n, d], device);
                for (l, share) in own.iter().enumerate() {
                    let du = below.du.clone().narrow(1, l, 1).reshape([n, d]);
                    row = row + du * share.clone();
                }
                for (penalty, c) in self.objective.terms.iter().zip(transported) {
                    row = row + c * penalty.weight;
                }
                let pulled = encoder.pull_back(encoded, row.unsqueeze_dim(1), needs(false, false));
                let losses = side_by_side(own.clone(), [n, 0], device);
                (pulled, losses, Tensor::ones([n, 1], device))
            };
            let mut parts = encoder.gradient(encoded, &pulled, encoder_weights);
            match (&head, &network.head) {
                (Some((head, saved, pulled)), _) => {
                    parts.extend(head.gradient(saved, pulled, losses_weights));
                }
                // Without losses, nothing uses the head's output.
                (None, Some(head)) => {
                    let zeros = |slot: dp_core::per_sample::ParameterSlot| {
                        Tensor::<1>::zeros([slot.len()], device)
                    };
                    parts.extend(head.parameters().into_iter().map(zeros));
                }
                (None, None) => {}
            }
            match self.shared.and_then(Shared::grid) {
                None => sums.push(parts),
                // Sums on a grid are exact in `f64`, which no device has.
                Some(_) => {
                    let parts = parts.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
                    let parts = parts.into_iter().flatten();
                    let parts = parts.map(|part| self.rounded(f64::from(part)));
                    match &mut on_grid {
                        Some(sums) => sums.iter_mut().zip(parts).for_each(|(s, part)| *s += part),
                        None => on_grid = Some(parts.collect::<Vec<f64>>()),
                    }
                }
            }
        }
        let slots = network.parameters();
        let zeros = || slots.iter().map(|slot| Tensor::zeros([slot.len()], device));
        let mut sums = sums.sum().unwrap_or_else(|| zeros().collect());
        // The only wait of a step of one process; here a failed device reports it.
        losses.extend(distances);
        let mut losses: Vec<f64> = read(Tensor::cat(losses, 0))?
            .into_iter()
            .map(f64::from)
            .collect();
        let penalties = losses.split_off(2 * k);
        let gradient = match self.shared {
            None => ParameterGradient::new(slots, sums)?,
            Some(_) => {
                let own = match on_grid {
                    Some(sums) => sums,
                    None => {
                        let own = sums.drain(..).map(read).collect::<Result<Vec<_>, _>>()?;
                        own.into_iter().flatten().map(f64::from).collect()
                    }
                };
                let total = self.total(own, &mut losses)?;
                let total: Vec<f32> = total.into_iter().map(|x| x as f32).collect();
                ParameterGradient::from_host(slots, &total, device)?
            }
        };
        Ok((gradient, self.losses(&losses, penalties)))
    }

    /// Adds [`crate::adaptive::counted`] of each record with a share, if counts are asked for; `f32` holds these halves exactly.
    fn add_count(&self, count: &mut Tensor<1>, weight: &Tensor<2>, share: &Tensor<2>) {
        if !self.objective.counts {
            return;
        }
        let within = weight.clone().equal_elem(1.0).float();
        let all = weight.clone().greater_elem(0.0).float() * 0.5;
        let own = (within - all).mask_fill(share.clone().lower_equal_elem(0.0), 0.0);
        *count = count.clone() + own.sum();
    }

    /// The weights of the losses' rows without penalties, `[n, K]`.
    fn loss_weights(
        &self,
        below: &Below,
        gram: Option<Tensor<3>>,
        shares: &[Tensor<2>],
        rounding: Rounding,
        counts: &mut [Tensor<1>],
    ) -> Tensor<2> {
        let [n, _, _] = below.du.dims();
        let parts = self.objective.losses.iter().zip(shares).enumerate();
        let parts = parts.map(|(l, (loss, share))| {
            let Some(gram) = &gram else {
                return share.clone();
            };
            let mut squared = diagonal(gram, l);
            if let Some(head) = &below.gram {
                squared = squared + diagonal(head, l);
            }
            let total = squared.mul_scalar(1.0 + rounding.gram);
            let weight = norm_clip_weights(total, loss.max_grad_norm, rounding).reshape([n, 1]);
            self.add_count(&mut counts[l], &weight, share);
            weight * share.clone()
        });
        Tensor::cat(parts.collect(), 1)
    }

    /// The weights of the losses' rows, `[n, K]`, and the cotangent at the activation, `[n, d]`.
    fn penalised_weights(
        &self,
        below: &Below,
        gram: Tensor<3>,
        shares: &[Tensor<2>],
        transported: &[Tensor<2>],
        rounding: Rounding,
        counts: &mut [Tensor<1>],
    ) -> (Tensor<2>, Tensor<2>) {
        let [n, d, _] = gram.dims();
        let device = gram.device();
        let trace = (gram.clone() * Tensor::<2>::eye(d, &device).unsqueeze::<3>())
            .sum_dim(2)
            .sum_dim(1)
            .reshape([n, 1]);
        let mut losses = Vec::with_capacity(shares.len());
        let mut activation: Option<Tensor<2>> = None;
        let add = |sum: Option<Tensor<2>>, part: Tensor<2>| match sum {
            Some(sum) => Some(sum + part),
            None => Some(part),
        };
        for (l, (loss, share)) in self.objective.losses.iter().zip(shares).enumerate() {
            let du = below.du.clone().narrow(1, l, 1).reshape([n, d]);
            let along = (gram.clone() * du.clone().unsqueeze_dim::<3>(1)).sum_dim(2);
            let quadratic = (along.reshape([n, d]) * du.clone()).sum_dim(1);
            // Squares below the least number of `f32` are lost, but the trace that they multiply may be large.
            let squared = (du.clone().square() + f32::MIN_POSITIVE).sum_dim(1);
            let allowance = (trace.clone() * squared.clone() + squared * LOST) * rounding.gram;
            let mut total = (quadratic + allowance).reshape([n]);
            if let Some(head) = &below.gram {
                total = diagonal(head, l).mul_scalar(1.0 + rounding.gram) + total;
            }
            let weight = norm_clip_weights(total, loss.max_grad_norm, rounding).reshape([n, 1]);
            self.add_count(&mut counts[l], &weight, share);
            let weight = weight * share.clone();
            // A record of weight zero may have a cotangent that is not finite.
            let dead = weight.clone().equal_elem(0.0).expand([n, d]);
            activation = add(activation, du.mask_fill(dead, 0.0) * weight.clone());
            losses.push(weight);
        }
        for (penalty, c) in self.objective.terms.iter().zip(transported) {
            let clipped = penalty.clip_all(gram.clone(), c.clone(), rounding);
            activation = add(activation, clipped * penalty.weight);
        }
        let losses = side_by_side(losses, [n, 0], &device);
        let activation = activation.unwrap_or_else(|| Tensor::zeros([n, d], &device));
        (losses, activation)
    }
}

/// Joins columns to one matrix, which has the shape `empty` without columns.
fn side_by_side(columns: Vec<Tensor<2>>, empty: [usize; 2], device: &Device) -> Tensor<2> {
    match columns.is_empty() {
        true => Tensor::zeros(empty, device),
        false => Tensor::cat(columns, 1),
    }
}

/// One entry of the diagonal of each matrix, `[n]`.
fn diagonal(matrices: &Tensor<3>, entry: usize) -> Tensor<1> {
    let n = matrices.dims()[0];
    let row = matrices.clone().narrow(1, entry, 1);
    row.narrow(2, entry, 1).reshape([n])
}

/// Returns the tensor on the device of the layers, without a graph.
fn on(rows: &Tensor<2>, device: &Device) -> Tensor<2> {
    rows.clone().without_autodiff().to_device(device)
}

/// Scales each row to norm at most `radius`; a row that is not finite becomes the origin.
pub(crate) fn project_to_ball(rows: Tensor<2>, radius: f64) -> Tensor<2> {
    let shape = rows.dims();
    let norm = rows.clone().square().sum_dim(1).sqrt();
    let lost = finite_rows(norm.clone()).bool_not();
    let outside = norm.clone().greater_elem(radius).expand(shape);
    // Divide first: on a line the direction is 1 or -1, so rows beyond the bound stay equal.
    let bounded = rows.clone() / norm.clamp_min(f32::MIN_POSITIVE) * radius;
    rows.mask_where(outside, bounded)
        .mask_fill(lost.expand(shape), 0.0)
}
