//! A private step in `f64`, with every record's Jacobian formed: the formula of `private_training`
//! without any of its shortcuts.

use std::ops::Range;

use dp_core::per_sample::{GRAM_ROUNDING, JacobianClip};
use nalgebra::{DMatrix, SymmetricEigen};
use private_training::Clipping;
use swd::Slices;
use swd::cells::quantile_cells;

use super::ReferenceNetwork;

type Rows = Vec<Vec<f64>>;

/// The loss of record `i`: its cotangent at what the last network gives.
type Loss<'a> = &'a dyn Fn(usize, &[f64]) -> Vec<f64>;

/// What a step is of.
pub(crate) struct Problem<'a> {
    pub(crate) records: Rows,
    pub(crate) encoder: ReferenceNetwork,
    /// Activations, with more behind them (labels), to what the loss looks at.
    pub(crate) head: Option<(ReferenceNetwork, Rows)>,
    pub(crate) loss: Loss<'a>,
    /// Cotangents of the transport at all activations.
    pub(crate) transport: &'a dyn Fn(&[Vec<f64>]) -> Rows,
    pub(crate) alpha: f64,
    /// The bounds of the loss and of the transport; none for a plain step.
    pub(crate) bounds: Option<(f64, Clipping)>,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn finite(values: &[f64]) -> bool {
    values.iter().all(|x| x.is_finite())
}

impl Problem<'_> {
    /// The gradient, the encoder's part first.
    pub(crate) fn gradient(&self) -> Vec<f64> {
        let n = self.records.len();
        let encoded: Vec<Rows> = self
            .records
            .iter()
            .map(|x| self.encoder.forward(x))
            .collect();
        let latents: Rows = encoded.iter().map(|a| a[a.len() - 1].clone()).collect();
        let d = latents[0].len();
        let bounded: Rows = latents.iter().map(|u| self.in_ball(u)).collect();
        let cotangents = (self.transport)(&bounded);
        let share = (1.0 - self.alpha) / n as f64;
        let (mut encoder, mut decoder) = (Vec::new(), Vec::new());
        for i in 0..n {
            let (head, du) = self.loss_gradient(i, &latents[i]);
            let jacobian: Rows = (0..d)
                .map(|r| {
                    let unit: Vec<f64> = (0..d).map(|s| f64::from(u8::from(r == s))).collect();
                    self.encoder.pull_back(&encoded[i], &unit).0
                })
                .collect();
            let gram = DMatrix::from_fn(d, d, |r, s| dot(&jacobian[r], &jacobian[s]));
            let (weight, moved) = match &self.bounds {
                None => (1.0, cotangents[i].clone()),
                Some((bound, clipping)) => (
                    loss_weight(dot(&head, &head), &du, &gram, *bound),
                    clipped(&cotangents[i], &gram, clipping),
                ),
            };
            encoder.resize(jacobian[0].len(), 0.0);
            decoder.resize(head.len(), 0.0);
            for r in 0..d {
                let kept = if weight > 0.0 { weight * du[r] } else { 0.0 };
                let factor = share * kept + self.alpha * moved[r];
                if factor != 0.0 {
                    let entries = encoder.iter_mut().zip(&jacobian[r]);
                    entries.for_each(|(sum, j)| *sum += factor * j);
                }
            }
            if weight > 0.0 {
                let entries = decoder.iter_mut().zip(&head);
                entries.for_each(|(sum, h)| *sum += share * weight * h);
            }
        }
        encoder.extend(decoder);
        encoder
    }

    /// The head's gradient of record `i`, and the loss's cotangent at its activation.
    fn loss_gradient(&self, i: usize, latent: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let Some((head, labels)) = &self.head else {
            return (Vec::new(), (self.loss)(i, latent));
        };
        let seen = head.forward(&[latent, &labels[i]].concat());
        let delta = (self.loss)(i, &seen[seen.len() - 1]);
        let (gradient, du) = head.pull_back(&seen, &delta);
        (gradient, du[..latent.len()].to_vec())
    }

    fn in_ball(&self, u: &[f64]) -> Vec<f64> {
        let Some((_, clipping)) = &self.bounds else {
            return u.to_vec();
        };
        let norm = dot(u, u).sqrt();
        if !norm.is_finite() {
            return vec![0.0; u.len()];
        }
        let scale = (clipping.activation / norm).min(1.0);
        u.iter().map(|x| x * scale).collect()
    }
}

/// `min(1, C / |g|)` for the gradient `g` of a record's loss; zero where it is not finite.
fn loss_weight(head: f64, du: &[f64], gram: &DMatrix<f64>, bound: f64) -> f64 {
    let d = du.len();
    let pairs = (0..d).flat_map(|r| (0..d).map(move |s| (r, s)));
    let along: f64 = pairs.map(|(r, s)| du[r] * gram[(r, s)] * du[s]).sum();
    let norm = (head + along + GRAM_ROUNDING * gram.trace() * dot(du, du)).sqrt();
    if norm.is_finite() {
        (bound / norm).min(1.0)
    } else {
        0.0
    }
}

/// The cotangent after the clipping of the Jacobian.
fn clipped(c: &[f64], gram: &DMatrix<f64>, clipping: &Clipping) -> Vec<f64> {
    let (d, bound) = (c.len(), clipping.jacobian);
    if !finite(gram.as_slice()) || !finite(c) {
        return vec![0.0; d];
    }
    match clipping.mode {
        JacobianClip::Rows => {
            let limit = bound / (d as f64).sqrt();
            let scale = |r: usize| (limit / gram[(r, r)].sqrt()).min(1.0);
            (0..d).map(|r| c[r] * scale(r)).collect()
        }
        JacobianClip::Spectral => {
            // Raised as `dp_core::per_sample::clip` documents.
            let raised = GRAM_ROUNDING * gram.trace();
            let eigen = SymmetricEigen::new(gram.clone());
            let mut result = vec![0.0; d];
            for (e, value) in eigen.eigenvalues.iter().enumerate() {
                let v = eigen.eigenvectors.column(e);
                let scale = (bound / (value.max(0.0) + raised).sqrt()).min(1.0);
                let along: f64 = v.iter().zip(c).map(|(v, c)| v * c).sum();
                let entries = result.iter_mut().zip(v.iter());
                entries.for_each(|(out, v)| *out += scale * along * v);
            }
            result
        }
    }
}

/// Adds `weight` times the cotangents of the points in `range` towards `cells(l)`, their targets in slice
/// `l`, in rising order.
pub(crate) fn towards(
    points: &[Vec<f64>],
    range: &Range<usize>,
    slices: &Slices,
    weight: f64,
    cells: &dyn Fn(usize) -> Vec<f64>,
    cotangents: &mut [Vec<f64>],
) {
    let (n, k) = (range.len(), slices.count());
    for l in 0..k {
        let theta = slices.direction(l);
        let keys: Vec<f64> = points[range.clone()]
            .iter()
            .map(|u| dot(u, theta))
            .collect();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&i, &j| keys[i].total_cmp(&keys[j]));
        for (&i, q) in order.iter().zip(cells(l)) {
            let along = weight * 2.0 / (n * k) as f64 * (keys[i] - q);
            let entries = cotangents[range.start + i].iter_mut().zip(theta);
            entries.for_each(|(c, theta)| *c += along * theta);
        }
    }
}

/// The quantile cells for `n` points of the points in `range` in slice `l`.
pub(crate) fn cells_of(
    points: &[Vec<f64>],
    range: &Range<usize>,
    slices: &Slices,
    l: usize,
    n: usize,
) -> Vec<f64> {
    let theta = slices.direction(l);
    let mut sorted: Vec<f64> = points[range.clone()]
        .iter()
        .map(|u| dot(u, theta))
        .collect();
    sorted.sort_by(f64::total_cmp);
    quantile_cells(&sorted, n).expect("sorted values")
}
