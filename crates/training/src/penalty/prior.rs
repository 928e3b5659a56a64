//! The public distributions that activations are pulled to.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use burn::tensor::Tensor;
use rand::Rng;
use swd::sensitivity::Norms;
use swd::transport::host::sliced_cotangents_and_cost;
use swd::transport::tensor::{self, cotangent_rounding};
use swd::{Cost, Slices, StandardGaussian, TargetQuantiles, UniformBall, UniformSphere};

use super::ExactCells;
use crate::error::same;
use crate::{Clipping, TrainingError};

/// A public distribution.
#[derive(Debug, Clone, PartialEq)]
pub enum Prior {
    /// The uniform distribution in the unit ball, by the exact quantile function of its projections: the same in every slice and
    /// every step.
    UniformBall,
    /// `N(0, I)`, also by its exact quantile function.
    StandardGaussian,
    /// The uniform distribution on the unit sphere, also by its exact quantile function.
    UniformSphere,
    /// The uniform distribution in the unit ball, by a fresh sample of as many points as a stratum has records: the published form.
    UniformBallSample,
    /// Any public sample of points, `[m, d]` in rows.
    Sample(Vec<f32>),
}

impl Prior {
    /// Samples the public part of a step for strata of `sizes` records.
    pub(super) fn draw(
        &self,
        sizes: &[usize],
        slices: Slices,
        exact: &mut ExactCells,
        rng: &mut impl Rng,
    ) -> Result<Matching, TrainingError> {
        let d = slices.dim();
        let mut cells = Vec::with_capacity(sizes.len());
        for &n in sizes {
            cells.push(match self {
                Self::UniformBall => exact.get(("ball", d, n), || UniformBall::new(d)?.cells(n))?,
                Self::StandardGaussian => {
                    exact.get(("gaussian", d, n), || StandardGaussian::new(d)?.cells(n))?
                }
                Self::UniformSphere => {
                    exact.get(("sphere", d, n), || UniformSphere::new(d)?.cells(n))?
                }
                Self::UniformBallSample => {
                    let points = UniformBall::new(d)?.sample(n, rng);
                    Arc::new(TargetQuantiles::of_sample(&points, &slices, n)?)
                }
                Self::Sample(points) => Arc::new(TargetQuantiles::of_sample(points, &slices, n)?),
            });
        }
        Ok(Matching {
            slices,
            sizes: sizes.to_vec(),
            cells,
        })
    }
}

/// The slices of a step, and the cells of each stratum of a batch. All of it is public.
#[derive(Debug, Clone)]
pub struct Matching {
    slices: Slices,
    sizes: Vec<usize>,
    cells: Vec<Arc<TargetQuantiles>>,
}

impl Matching {
    /// Creates a public part from your own cells, one set for each stratum: any public target, with any number of points.
    pub fn new(slices: Slices, cells: Vec<TargetQuantiles>) -> Self {
        Self {
            slices,
            sizes: cells.iter().map(TargetQuantiles::n).collect(),
            cells: cells.into_iter().map(Arc::new).collect(),
        }
    }

    /// Returns the number of records of a whole batch.
    pub fn records(&self) -> usize {
        self.sizes.iter().sum()
    }

    /// Returns the number of records of each stratum.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Returns the directions of this step.
    pub fn slices(&self) -> &Slices {
        &self.slices
    }

    /// The size of the largest cell.
    pub(super) fn largest_cell(&self) -> f64 {
        let cells = self.cells.iter().flat_map(|cells| cells.values());
        cells.fold(0.0, |largest, cell| largest.max(cell.abs()))
    }

    /// `max_c (n_c / n) Delta_SW(n_c)`: replacing one record moves the term of its stratum alone.
    pub(super) fn sensitivity_upper(
        &self,
        cost: Cost,
        clipping: &Clipping,
    ) -> Result<f64, TrainingError> {
        let n = self.records() as f64;
        let mut worst = 0.0f64;
        let mut known: BTreeMap<usize, f64> = BTreeMap::new();
        for (cells, &size) in self.cells.iter().zip(&self.sizes) {
            // Cells that all slices share depend on the size alone.
            let shared = cells.rows() == 1;
            let bound = match known.get(&size).filter(|_| shared) {
                Some(&bound) => bound,
                None => self.stratum_sensitivity(cost, cells, clipping)?,
            };
            known.insert(size, bound);
            worst = worst.max(bound * size as f64 / n);
        }
        Ok(worst)
    }

    fn check(&self, strata: &[Range<usize>]) -> Result<(), TrainingError> {
        same("strata of a batch", self.sizes.len(), strata.len())?;
        for (stratum, &expected) in strata.iter().zip(&self.sizes) {
            same("records of a stratum", expected, stratum.len())?;
        }
        Ok(())
    }

    pub(super) fn cotangents(
        &self,
        cost: Cost,
        strata: &[Range<usize>],
        activations: &[f32],
    ) -> Result<(Vec<f32>, f64), TrainingError> {
        self.check(strata)?;
        let d = self.slices.dim();
        let n = self.records() as f64;
        let mut cotangents = Vec::with_capacity(activations.len());
        let mut distance = 0.0;
        for (stratum, cells) in strata.iter().zip(&self.cells) {
            let u = &activations[stratum.start * d..stratum.end * d];
            let (c, value) = sliced_cotangents_and_cost(cost, u, &self.slices, cells)?;
            let weight = stratum.len() as f64 / n;
            cotangents.extend(c.into_iter().map(|c| (weight * f64::from(c)) as f32));
            distance += weight * value;
        }
        Ok((cotangents, distance))
    }

    /// The cotangents on the device of `activations`. With the bounds of a private step they are multiplied by `1 / (1 + x)`,
    /// `x = 4 L r / Delta_SW`: the rounding `r` of [`cotangent_rounding`] in each of two data sets then fits into the
    /// sensitivity. `x` grows with the records of a stratum, from about 0.01 for 600 of them to 1 for 60000.
    pub(super) fn device_cotangents(
        &self,
        strata: &[Range<usize>],
        activations: Tensor<2>,
        clipping: Option<&Clipping>,
    ) -> Result<(Tensor<2>, Tensor<1>), TrainingError> {
        self.check(strata)?;
        let (d, device) = (self.slices.dim(), activations.device());
        let slices = self.slices.tensor(&device);
        let n = self.records() as f64;
        let mut cotangents = Vec::with_capacity(self.cells.len());
        let mut distance = Tensor::<1>::zeros([1], &device);
        for (stratum, cells) in strata.iter().zip(&self.cells) {
            let u = activations.clone().slice([stratum.clone(), 0..d]);
            let targets = cells.tensor(&device);
            let within = cells.mean_within_cell_variance();
            let (c, value) =
                tensor::sliced_cotangents_and_distance(u, slices.clone(), targets, within)?;
            let shrunk = match clipping {
                Some(clipping) => self.shrunk(cells, clipping)?,
                None => 1.0,
            };
            let weight = stratum.len() as f64 / n;
            cotangents.push(c * (weight * shrunk));
            distance = distance + value * weight;
        }
        Ok((Tensor::cat(cotangents, 0), distance))
    }

    /// `1 / (1 + 4 L r / Delta_SW)` for one stratum.
    fn shrunk(&self, cells: &TargetQuantiles, clipping: &Clipping) -> Result<f64, TrainingError> {
        let sizes = cells.values().iter().map(|q| q.abs());
        let largest = sizes.fold(0.0, f64::max);
        let (k, d) = (self.slices.count(), self.slices.dim());
        let error = cotangent_rounding(k, d, clipping.activation, largest);
        let bound = self.stratum_sensitivity(Cost::Square, cells, clipping)?;
        Ok(1.0 / (1.0 + 4.0 * clipping.jacobian * error / bound))
    }

    fn stratum_sensitivity(
        &self,
        cost: Cost,
        cells: &TargetQuantiles,
        clipping: &Clipping,
    ) -> Result<f64, TrainingError> {
        let (m, l) = (clipping.activation, clipping.jacobian);
        let bound = Norms::new(m, l).prior_bound(cost, &self.slices, cells)?;
        // Cotangents of several strata are weighted by their sizes.
        Ok(if self.cells.len() == 1 {
            bound.in_f32_upper()
        } else {
            bound.weighted_in_f32_upper()
        })
    }
}
