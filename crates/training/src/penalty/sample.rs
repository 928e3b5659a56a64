//! A private sample that does not go through the network, and the sensitivity of the distance to it.

use burn::tensor::Tensor;
use swd::sensitivity::{F32_CLIP_SLACK, Norms};
use swd::transport::host::sliced_cotangents_and_cost;
use swd::transport::tensor::{self, cotangent_rounding};
use swd::{Cost, Slices, TargetQuantiles};

use crate::batch::Fixed;
use crate::engine::project_to_ball;
use crate::error::same;
use crate::{Clipping, TrainingError};

/// The public part of a step towards a private sample: slices and sizes.
///
/// The penalty is `P = SW_2^2(activations, sample)`. The records of the sample, too, are first projected onto the ball of radius
/// `M`.
#[derive(Debug, Clone)]
pub struct ToSample {
    slices: Slices,
    sizes: Vec<usize>,
    share: f64,
}

impl ToSample {
    /// Returns the sensitivity to one of `m` sample records divided by that to one of `n` inputs, for tight frames in `dim`
    /// dimensions, this cost, and activations of norm at most `radius`. It is the smallest `share` of
    /// [`crate::Penalty::to_private_sample`] that does not raise the declared sensitivity.
    ///
    /// # Errors
    ///
    /// A size of 0; an invalid cost.
    pub fn share(
        cost: Cost,
        radius: f64,
        dim: usize,
        n: usize,
        m: usize,
    ) -> Result<f64, TrainingError> {
        // Frames are tight up to a relative 1e-6, and rounding adds as little.
        let lambda = (1.0 + 1e-5) / dim.max(1) as f64;
        let [inputs, sample] =
            Norms::new(radius, 1.0).private_sample_bounds(cost, [n, m], lambda)?;
        Ok(sample / inputs * (1.0 + 1e-4))
    }

    pub(super) fn new(sizes: &[usize], slices: Slices, share: f64) -> Result<Self, TrainingError> {
        if !(share.is_finite() && share > 0.0) {
            return Err(TrainingError::OutOfRange {
                name: "the share of a private sample",
                value: share,
                bound: "positive and finite".into(),
            });
        }
        same(
            "strata of a batch, inputs and a private sample",
            2,
            sizes.len(),
        )?;
        Ok(Self {
            slices,
            sizes: sizes.to_vec(),
            share,
        })
    }

    /// The share of the declared sensitivity that bounds a record of the sample.
    pub(super) fn declared_share(&self) -> f64 {
        self.share
    }

    /// Returns the number of records of the inputs and of the sample.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Returns the directions of this step.
    pub fn slices(&self) -> &Slices {
        &self.slices
    }

    /// `max(Delta of a record of the inputs, Delta of one of the sample / share)`.
    pub(super) fn sensitivity_upper(
        &self,
        cost: Cost,
        clipping: &Clipping,
    ) -> Result<f64, TrainingError> {
        let (m, l) = (clipping.activation, clipping.jacobian);
        let lambda = self.slices.lambda_max_upper();
        let root = lambda.sqrt();
        // As between strata, cotangents are rounded to f32, and so are the cells that they are computed from.
        let rounding = match cost {
            Cost::Square => f64::powi(2.0, -20) * l * root * (root + 1.0) * m,
            // The rounding of the cotangents, and the effect on them of cells that are off by 2^-22 M, in each of two data sets.
            cost => {
                let of_cells = cost.slope(2.0 * m + f64::powi(2.0, -22) * m) - cost.slope(2.0 * m);
                let steepest = cost.slope(f64::powi(2.0, -22) * m).max(of_cells);
                2.0 * l * root * (f64::powi(2.0, -24) * cost.slope(2.0 * m) + 2.0 * steepest)
            }
        };
        let [n, s] = [0, 1].map(|stratum| self.sizes[stratum]);
        let bounds = Norms::new(m, l).private_sample_bounds(cost, [n, s], lambda)?;
        let [inputs, sample] = bounds.map(|bound| bound * (1.0 + F32_CLIP_SLACK) + rounding);
        Ok(inputs.max(sample / self.share))
    }

    /// `4 M L max(3/n, 1/m)`.
    pub(super) fn published_sensitivity_upper(&self, clipping: &Clipping) -> f64 {
        let [n, m] = [0, 1].map(|stratum| self.sizes[stratum] as f64);
        4.0 * clipping.activation * clipping.jacobian * (3.0 / n).max(1.0 / m)
    }

    /// The cells of the sample for the activations of this step.
    fn cells(
        &self,
        sample: Option<&Fixed>,
        activations: usize,
        radius: f64,
    ) -> Result<TargetQuantiles, TrainingError> {
        let d = self.slices.dim();
        let (rows, count) = sample.map_or((&[][..], 0), |s| (&s.rows[..], s.count));
        same("records of a private sample", self.sizes[1], count)?;
        same("values of a private sample", count * d, rows.len())?;
        same("activations", self.sizes[0], activations)?;
        let mut inside = rows.to_vec();
        for row in inside.chunks_exact_mut(d) {
            project_to_ball(row, radius);
        }
        Ok(TargetQuantiles::of_sample(
            &inside,
            &self.slices,
            activations,
        )?)
    }

    /// The penalty at `activations`, `[n, d]`, and its cotangents, `[n, d]`.
    pub(super) fn cotangents(
        &self,
        cost: Cost,
        sample: Option<&Fixed>,
        activations: &[f32],
        radius: f64,
    ) -> Result<(Vec<f32>, f64), TrainingError> {
        let cells = self.cells(sample, activations.len() / self.slices.dim(), radius)?;
        Ok(sliced_cotangents_and_cost(
            cost,
            activations,
            &self.slices,
            &cells,
        )?)
    }

    /// [`ToSample::cotangents`] on the device of `activations`. With the bounds of a private step they are multiplied by
    /// `1 / (1 + 4 L r / Delta)`, where `r` bounds their rounding and that of the cells.
    pub(super) fn device_cotangents(
        &self,
        sample: Option<&Fixed>,
        activations: Tensor<2>,
        radius: f64,
        clipping: Option<&Clipping>,
    ) -> Result<(Tensor<2>, Tensor<1>), TrainingError> {
        let ([n, _], device) = (activations.dims(), activations.device());
        let cells = self.cells(sample, n, radius)?;
        let (slices, within) = (
            self.slices.tensor(&device),
            cells.mean_within_cell_variance(),
        );
        let targets = cells.tensor(&device);
        let (c, distance) =
            tensor::sliced_cotangents_and_distance(activations, slices, targets, within)?;
        let shrunk = match clipping {
            Some(clipping) => self.shrunk(clipping)?,
            None => 1.0,
        };
        Ok((c * shrunk, distance))
    }

    fn shrunk(&self, clipping: &Clipping) -> Result<f64, TrainingError> {
        let m = clipping.activation;
        let rounding = cotangent_rounding(self.slices.count(), self.slices.dim(), m, m);
        let error = rounding + f64::powi(2.0, -22) * m;
        let lambda = self.slices.lambda_max_upper();
        let [n, s] = [0, 1].map(|stratum| self.sizes[stratum]);
        let bounds =
            Norms::new(m, clipping.jacobian).private_sample_bounds(Cost::Square, [n, s], lambda)?;
        // The errors of both sides have to fit, and the smaller bound leaves less room.
        let narrow = bounds[0].min(bounds[1]);
        Ok(1.0 / (1.0 + 4.0 * clipping.jacobian * error / narrow))
    }
}
