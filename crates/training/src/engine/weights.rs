//! The weights of a record's gradients.

use std::ops::Range;

use dp_core::per_sample::{GRAM_ROUNDING, norm_clip_weight};

use super::Pass;
use crate::adaptive::counted;

/// The results of a pass over a chunk before any weight is known.
pub(super) struct Norms<'a> {
    /// The chunk's records.
    pub(super) records: Range<usize>,
    /// Gram matrices of the losses in the head, `[n, K, K]`; empty without a head.
    pub(super) head: &'a [f32],
    /// Cotangents of the losses at the activation, `[n, K, width]`, `width >= d`.
    pub(super) inputs: &'a [f32],
    /// Dimension `d` of the activation.
    pub(super) d: usize,
    /// Gram matrices of the encoder, `[n, d, d]`, or of the losses in it, `[n, K, K]`, if there are no penalties; empty without
    /// clipping.
    pub(super) gram: &'a [f32],
    /// Cotangents of each penalty for the chunk, `[n, d]`.
    pub(super) penalties: &'a [&'a [f32]],
}

/// The weights of a chunk.
pub(super) struct Weights {
    /// The weights of the losses' rows, `[n, K]`.
    pub(super) losses: Vec<f32>,
    /// The cotangent at the activation, `[n, d]`; empty without penalties.
    pub(super) activation: Vec<f64>,
    /// The count of each loss.
    pub(super) counts: Vec<f64>,
}

impl<const D: usize> Pass<'_, D> {
    /// Computes the weights of step 3.
    pub(super) fn weights(&self, norms: &Norms) -> Weights {
        let (k, d, n) = (self.shares.len(), norms.d, norms.records.len());
        let penalised = !self.objective.terms.is_empty();
        let width = norms.inputs.len() / (n * k).max(1);
        let mut losses = Vec::with_capacity(n * k);
        let mut counts = vec![0.0; k];
        let mut activation = Vec::with_capacity(if penalised { n * d } else { 0 });
        for i in 0..n {
            let record = norms.records.start + i;
            let mut sum = vec![0.0f64; if penalised { d } else { 0 }];
            for (l, loss) in self.objective.losses.iter().enumerate() {
                let share = self.shares[l][record];
                let du = &norms.inputs[(i * k + l) * width..][..width.min(d)];
                let own = norms.head.get((i * k + l) * k + l).copied();
                let own = f64::from(own.unwrap_or(0.0)) * (1.0 + GRAM_ROUNDING);
                let weight = if share == 0.0 {
                    0.0
                } else if !self.clip {
                    1.0
                } else if penalised {
                    let gram = &norms.gram[i * d * d..(i + 1) * d * d];
                    let total = own + encoder_norm_squared_upper(gram, du);
                    f64::from(norm_clip_weight(total, loss.max_grad_norm))
                } else {
                    let below = norms.gram.get((i * k + l) * k + l).copied();
                    let below = f64::from(below.unwrap_or(0.0)) * (1.0 + GRAM_ROUNDING);
                    f64::from(norm_clip_weight(own + below, loss.max_grad_norm))
                };
                counts[l] += counted(weight);
                losses.push((share * weight) as f32);
                // A record of weight zero may have a cotangent that is not finite.
                if penalised && weight > 0.0 {
                    for (sum, &u) in sum.iter_mut().zip(du) {
                        *sum += share * weight * f64::from(u);
                    }
                }
            }
            for (penalty, cotangents) in self.objective.terms.iter().zip(norms.penalties) {
                let c = &cotangents[i * d..(i + 1) * d];
                let v = penalty.weight;
                if self.clip {
                    let gram = &norms.gram[i * d * d..(i + 1) * d * d];
                    let clipped = penalty.clip(gram, c);
                    for (sum, c) in sum.iter_mut().zip(clipped) {
                        *sum += v * c;
                    }
                } else {
                    for (sum, &c) in sum.iter_mut().zip(c) {
                        *sum += v * f64::from(c);
                    }
                }
            }
            activation.extend(sum);
        }
        Weights {
            losses,
            activation,
            counts,
        }
    }
}

/// The addition to the trace of a Gram matrix before [`GRAM_ROUNDING`] of it is allowed for: `2^-80`, more than squares in `f32`
/// may lose of it ([`dp_core::per_sample::NORMS`]), which may matter if the cotangent is large.
pub(super) const LOST: f64 = 1.0 / (1u64 << 63) as f64 / 2.0;

/// An upper bound on `du^T G du`, with the rounding of `G` included: the same allowance as in the spectral clip.
pub(super) fn encoder_norm_squared_upper(gram: &[f32], du: &[f32]) -> f64 {
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
    quadratic + GRAM_ROUNDING * (trace + LOST) * squared
}

/// Scales `row` to norm at most `radius`. A row that is not finite becomes the origin, so that one bad record can neither spoil
/// the sort nor be told from its neighbour by an error.
pub(crate) fn project_to_ball(row: &mut [f32], radius: f64) {
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
