//! The public side of a step: slices, and the prior's quantile cells for each group.

use std::collections::BTreeMap;
use std::sync::Arc;

use burn::tensor::Tensor;
use rand::Rng;
use swd::sensitivity::prior_matching_bound;
use swd::transport::host::sliced_cotangents_and_distance;
use swd::transport::tensor::{self, cotangent_rounding};
use swd::{Cells, Slices, UniformBall};

use super::Batch;
use crate::ModelError;
use crate::penalised::Clipping;

/// How the prior, uniform in the unit ball, enters a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prior {
    /// By the exact quantile function of its projections, the same in every slice.
    Exact,
    /// By a fresh sample of as many points as the group has records: the paper's.
    Sample,
}

/// Slices, and cells for each group of a batch. Everything in it is public.
#[derive(Debug, Clone)]
pub struct Matching {
    slices: Slices,
    sizes: Vec<usize>,
    cells: Vec<Arc<Cells>>,
}

/// The exact cells of the prior for each group size, computed once for a whole run.
#[derive(Debug, Clone, Default)]
pub struct ExactCells(BTreeMap<usize, Arc<Cells>>);

impl ExactCells {
    /// The cells of the unit ball in dimension `latent` for `n` records.
    ///
    /// # Errors
    ///
    /// Passes on what [`UniformBall`] refuses.
    pub fn get(&mut self, latent: usize, n: usize) -> Result<Arc<Cells>, ModelError> {
        if let Some(cells) = self.0.get(&n) {
            return Ok(cells.clone());
        }
        let cells = Arc::new(UniformBall::new(latent)?.cells(n)?);
        self.0.insert(n, cells.clone());
        Ok(cells)
    }
}

impl Matching {
    /// A public side from cells of the caller's own, one set a group: any public target will do,
    /// with as many points as it likes.
    pub fn new(slices: Slices, cells: Vec<Cells>) -> Self {
        Self {
            slices,
            sizes: cells.iter().map(Cells::n).collect(),
            cells: cells.into_iter().map(Arc::new).collect(),
        }
    }

    /// The public side for groups of `sizes` records.
    ///
    /// # Errors
    ///
    /// Passes on what the transport refuses: an empty group, a latent dimension of 0.
    pub fn draw(
        prior: Prior,
        sizes: &[usize],
        slices: Slices,
        exact: &mut ExactCells,
        rng: &mut impl Rng,
    ) -> Result<Self, ModelError> {
        let latent = slices.dim();
        let mut cells = Vec::with_capacity(sizes.len());
        for &size in sizes {
            cells.push(match prior {
                Prior::Exact => exact.get(latent, size)?,
                Prior::Sample => {
                    let points = UniformBall::new(latent)?.sample(size, rng);
                    Arc::new(Cells::of_sample(&points, &slices, size)?)
                }
            });
        }
        Ok(Self {
            slices,
            sizes: sizes.to_vec(),
            cells,
        })
    }

    /// Records of a whole batch.
    pub fn records(&self) -> usize {
        self.sizes.iter().sum()
    }

    /// The directions of this step.
    pub fn slices(&self) -> &Slices {
        &self.slices
    }

    /// `max_c (n_c / n) Delta_SW(n_c)`: replacing one record moves the term of its group alone.
    pub(super) fn weighted_sensitivity(&self, clipping: &Clipping) -> Result<f64, ModelError> {
        let n = self.records() as f64;
        let mut worst = 0.0f64;
        let mut known: BTreeMap<usize, f64> = BTreeMap::new();
        for (cells, &size) in self.cells.iter().zip(&self.sizes) {
            // Cells that all slices share depend on the size alone.
            let shared = cells.rows() == 1;
            let bound = match known.get(&size).filter(|_| shared) {
                Some(&bound) => bound,
                None => self.group_sensitivity(cells, clipping)?,
            };
            known.insert(size, bound);
            worst = worst.max(bound * size as f64 / n);
        }
        Ok(worst)
    }

    pub(super) fn check(&self, batch: &Batch, latent: usize) -> Result<(), ModelError> {
        let expected = self.sizes.len();
        let found = batch.groups().len();
        if expected != found {
            return Err(ModelError::Shape {
                what: "groups of a batch",
                expected,
                found,
            });
        }
        for (group, &expected) in batch.groups().iter().zip(&self.sizes) {
            if group.len() != expected {
                return Err(ModelError::Shape {
                    what: "records of a group",
                    expected,
                    found: group.len(),
                });
            }
        }
        if self.slices.dim() != latent {
            return Err(ModelError::Shape {
                what: "dimension of the slices",
                expected: latent,
                found: self.slices.dim(),
            });
        }
        Ok(())
    }

    /// Cotangents `[n, d]` of the group-weighted sliced distance at `latents [n, d]`, and its value.
    pub(super) fn cotangents(
        &self,
        batch: &Batch,
        latents: &[f32],
    ) -> Result<(Vec<f32>, f64), ModelError> {
        let d = self.slices.dim();
        let n = self.records() as f64;
        let mut cotangents = Vec::with_capacity(latents.len());
        let mut distance = 0.0;
        for (group, cells) in batch.groups().iter().zip(&self.cells) {
            let u = &latents[group.start * d..group.end * d];
            let (c, value) = sliced_cotangents_and_distance(u, &self.slices, cells)?;
            let weight = group.len() as f64 / n;
            cotangents.extend(c.into_iter().map(|c| (weight * f64::from(c)) as f32));
            distance += weight * value;
        }
        Ok((cotangents, distance))
    }

    /// [`Matching::cotangents`] on the device of `latents`. With the bounds of a private step they are
    /// multiplied by `1 / (1 + x)`, `x = 4 L r / Delta_SW`: [`cotangent_rounding`] `r` in each of two
    /// data sets then fits into the sensitivity. `x` grows with the records of a group, from about 0.01 for
    /// 600 of them to 1 for 60000.
    pub(super) fn device_cotangents(
        &self,
        batch: &Batch,
        latents: Tensor<2>,
        clipping: Option<&Clipping>,
    ) -> Result<(Tensor<2>, Tensor<1>), ModelError> {
        let (d, device) = (self.slices.dim(), latents.device());
        let slices = self.slices.tensor(&device);
        let n = self.records() as f64;
        let mut cotangents = Vec::with_capacity(self.cells.len());
        let mut distance = Tensor::<1>::zeros([1], &device);
        for (group, cells) in batch.groups().iter().zip(&self.cells) {
            let u = latents.clone().slice([group.clone(), 0..d]);
            let targets = cells.tensor(&device);
            let within = cells.within_mean();
            let (c, value) =
                tensor::sliced_cotangents_and_distance(u, slices.clone(), targets, within)?;
            let shrunk = match clipping {
                Some(clipping) => self.shrunk(cells, clipping)?,
                None => 1.0,
            };
            let weight = group.len() as f64 / n;
            cotangents.push(c * (weight * shrunk));
            distance = distance + value * weight;
        }
        Ok((Tensor::cat(cotangents, 0), distance))
    }

    /// `1 / (1 + 4 L r / Delta_SW)` for one group.
    fn shrunk(&self, cells: &Cells, clipping: &Clipping) -> Result<f64, ModelError> {
        let sizes = cells.values().iter().map(|q| q.abs());
        let largest = sizes.fold(0.0, f64::max);
        let (k, d) = (self.slices.count(), self.slices.dim());
        let error = cotangent_rounding(k, d, clipping.activation, largest);
        let bound = self.group_sensitivity(cells, clipping)?;
        Ok(1.0 / (1.0 + 4.0 * clipping.jacobian * error / bound))
    }

    fn group_sensitivity(&self, cells: &Cells, clipping: &Clipping) -> Result<f64, ModelError> {
        let (m, l) = (clipping.activation, clipping.jacobian);
        let bound = prior_matching_bound(m, l, 0.0, &self.slices, cells)?;
        // Cotangents of several groups are weighted by their sizes.
        Ok(if self.cells.len() == 1 {
            bound.in_f32_upper()
        } else {
            bound.weighted_in_f32_upper()
        })
    }
}
