//! The weights of one record's two gradients.

use dp_core::per_sample::{GRAM_ROUNDING, norm_clip_weight};

use super::{Problem, Step};

/// What step 2 finds of a chunk before any weight is known.
pub(super) struct Norms<'a> {
    /// Squared norms of the head's part, `[n]`.
    pub(super) head: &'a [f32],
    /// Cotangents of the loss at the head's input, `[n, width]`, `width >= d`.
    pub(super) inputs: &'a [f32],
    /// Gram matrices of the encoder, `[n, d, d]`; empty where nothing is clipped.
    pub(super) gram: &'a [f32],
    /// Cotangents of the transport, `[n, d]`.
    pub(super) transport: &'a [f32],
}

impl<P: Problem> Step<'_, P> {
    /// The weights of step 3: for the head `[n]`, for the encoder `[n, d]`.
    pub(super) fn weights(&self, norms: &Norms) -> (Vec<f32>, Vec<f32>) {
        let d = self.problem.latent();
        let width = norms.inputs.len() / norms.head.len().max(1);
        let share = (1.0 - self.objective.alpha()) / self.problem.records() as f64;
        let alpha = self.objective.alpha();
        let clipping = self.objective.clipping();
        let mut head = Vec::with_capacity(norms.head.len());
        let mut encoder = Vec::with_capacity(norms.transport.len());
        for (i, &squared) in norms.head.iter().enumerate() {
            let du = &norms.inputs[i * width..i * width + d];
            let c = &norms.transport[i * d..(i + 1) * d];
            if !self.clip {
                head.push(share as f32);
                encoder.extend(
                    du.iter()
                        .zip(c)
                        .map(|(&u, &c)| (share * f64::from(u) + alpha * f64::from(c)) as f32),
                );
                continue;
            }
            let gram = &norms.gram[i * d * d..(i + 1) * d * d];
            let own = f64::from(squared) * (1.0 + GRAM_ROUNDING);
            let total = own + encoder_norm_squared_upper(gram, du);
            let weight = f64::from(norm_clip_weight(total, clipping.loss));
            head.push((share * weight) as f32);
            let transported = clipping.mode.apply(gram, c, clipping.jacobian);
            encoder.extend(du.iter().zip(transported).map(|(&u, c)| {
                // A record of weight zero may have a cotangent that is not finite.
                let u = if weight > 0.0 { f64::from(u) } else { 0.0 };
                (share * weight * u + alpha * f64::from(c)) as f32
            }));
        }
        (head, encoder)
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
pub(super) fn project_to_ball(row: &mut [f32], radius: f64) {
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
