//! The weight and the bounds of a penalty, and where its activations are compared.

use burn::tensor::Tensor;
use dp_core::per_sample::{Rounding, finite_rows};

use crate::Clipping;
use crate::engine::{project_rows_to_ball, project_to_ball};

/// The weight and the bounds of a penalty, and the index of its activation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Term {
    pub(crate) weight: f64,
    pub(crate) clipping: Clipping,
    pub(crate) activation: usize,
    /// `L2`, if the activation is `[g(x), h(x)]` and the second map has its own bound.
    pub(crate) second: Option<f64>,
}

impl Term {
    /// The number of maps whose values the activation contains.
    pub(crate) fn maps(&self) -> usize {
        1 + usize::from(self.second.is_some())
    }

    /// `L1` and `L2`, the Jacobian bounds of the two compared strata.
    pub(super) fn jacobians(&self) -> [f64; 2] {
        let first = self.clipping.jacobian;
        [first, self.second.unwrap_or(first)]
    }

    /// The start of each map's values in an activation of `width`, their number, and the map's Jacobian bound.
    fn parts(&self, width: usize) -> impl Iterator<Item = (usize, usize, f64)> {
        let own = width / self.maps();
        let bounds = self.jacobians().into_iter().enumerate();
        let parts = bounds.map(move |(map, bound)| (map * own, own, bound));
        parts.take(self.maps())
    }

    /// Projects the values of each map, in activations of `width`, onto the ball of radius `M`.
    pub(crate) fn project(&self, activations: &mut [f32], width: usize) {
        for value in activations.chunks_exact_mut((width / self.maps()).max(1)) {
            project_to_ball(value, self.clipping.activation);
        }
    }

    /// [`Term::project`] for `activations [n, width]` on their device, with the radius tightened by `rounding`.
    pub(crate) fn project_all(&self, activations: Tensor<2>, rounding: Rounding) -> Tensor<2> {
        let [n, width] = activations.dims();
        let radius = rounding.tighten(self.clipping.activation);
        let values = activations.reshape([n * self.maps(), width / self.maps()]);
        project_rows_to_ball(values, radius).reshape([n, width])
    }

    /// Returns the cotangent of one record with each map's Jacobian bounded by its own `L`, by means of the map's block of the
    /// Gram matrix `[width, width]`. If any entry of the matrix is not finite, the result is 0.
    pub(crate) fn clip(&self, gram: &[f32], cotangent: &[f32]) -> Vec<f64> {
        let (width, mode) = (cotangent.len(), self.clipping.mode);
        if self.maps() == 1 || !gram.iter().all(|x| x.is_finite()) {
            return mode.apply(gram, cotangent, self.clipping.jacobian);
        }
        let parts = self.parts(width).flat_map(|(from, own, bound)| {
            let rows = (from..from + own).flat_map(|r| &gram[r * width + from..][..own]);
            let block: Vec<f32> = rows.copied().collect();
            mode.apply(&block, &cotangent[from..from + own], bound)
        });
        parts.collect()
    }

    /// [`Term::clip`] for `gram [n, width, width]` and `cotangents [n, width]` on their device.
    pub(crate) fn clip_all(
        &self,
        gram: Tensor<3>,
        cotangents: Tensor<2>,
        rounding: Rounding,
    ) -> Tensor<2> {
        let ([n, width], mode) = (cotangents.dims(), self.clipping.mode);
        if self.maps() == 1 {
            return mode.apply_all(gram, cotangents, self.clipping.jacobian, rounding);
        }
        let parts = self.parts(width).map(|(from, own, bound)| {
            let block = gram.clone().narrow(1, from, own).narrow(2, from, own);
            let c = cotangents.clone().narrow(1, from, own);
            mode.apply_all(block, c, bound, rounding)
        });
        let clipped = Tensor::cat(parts.collect(), 1);
        let lost = finite_rows(gram.reshape([n, width * width])).bool_not();
        clipped.mask_fill(lost.expand([n, width]), 0.0)
    }
}
