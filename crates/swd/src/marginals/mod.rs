//! Private sliced marginals: a noisy histogram of every projected slice of the whole private set.
//!
//! All private rows are put into a region, projected on `k` public slices, and counted in `B` public
//! bins a slice. The counts leave once, with noise; cleaning them and any number of flow steps
//! towards them is post-processing. The number of records is public.
//!
//! # Sensitivity
//! Replacing a record moves, in each slice, one count out of a bin and one into a bin.
//!
//! - [`Basis::Counts`]: each slice changes by `e_b - e_b'`, of squared norm 2 (or 0). Over `k` slices
//!   the sensitivity is `sqrt(2k)`.
//! - [`Basis::Haar`]: for every node of the binary tree over the bins, the count of its left half less
//!   that of its right half. A record adds `+1` or `-1` at the one node of each level that holds its
//!   bin. A replacement adds 4 to the squared change where old and new bin lie in different halves
//!   of one node, 2 where they lie in different nodes, 0 where they share a half. They share a node
//!   down to some level, are parted by it, and lie in different nodes below: at most
//!   `4 + 2 (log2 B - 1)` a slice, attained when the root parts them. Over `k` slices the
//!   sensitivity is `sqrt(k (2 log2 B + 2))`. The total, which is public, does not move.
//!
//! Both are attained: by `x' = -x` for every `x` that no slice projects into the two middle bins.
//!
//! # Which one
//! A flow needs the distribution function. With noise of variance `Delta^2` on each coordinate, and
//! the total known, the variance of the noise of the count below a bin edge, averaged over the `B`
//! edges, is `2k (B^2-1)/(6B)` from counts and `k (2 log2 B + 2)` times
//! [`Basis::edge_variance`]'s mean (about `log2(B)/12`) from the tree: for `B = 32` it is 10.7 k
//! against 5.7 k. The tree is better from `B = 8` on.
//!
//! The tree is that of Privelet (Xiao, Wang and Gehrke 2010),
//! without its weights.
//! # Example
//! ```
//! use rand::SeedableRng;
//! use rand_chacha::ChaCha20Rng;
//! use rand_distr::{Distribution, StandardNormal};
//! use swd::marginals::{Basis, Bins, Cleaning, MarginalQuery};
//! use swd::{Region, Slices, UniformBall};
//!
//! let mut rng = ChaCha20Rng::seed_from_u64(1);
//! let (d, n) = (3, 2000);
//! let rows = UniformBall::new(d)?.sample(n, &mut rng);
//!
//! let slices = Slices::tight(d, 12, &mut rng)?;
//! let query = MarginalQuery::new(slices, Region::ball(1.0)?, Bins::uniform(1.0, 16)?, Basis::Haar)?;
//! let counted = query.measure(&rows)?;
//! // A mechanism adds the noise (`dp-core` has one, with its ledger); this one, of a known seed, protects nobody.
//! let deviation = 2.0 * counted.l2_sensitivity_upper();
//! let noisy = |value: &f64| value + deviation * Distribution::<f64>::sample(&StandardNormal, &mut rng);
//! let released: Vec<f64> = counted.before_noise().iter().map(noisy).collect();
//!
//! // From here on everything is post-processing.
//! let distribution = query.clean(&released, n, deviation, Cleaning::default())?;
//! let cells = distribution.cells(100)?;
//! assert!(cells.row(0).windows(2).all(|pair| pair[0] <= pair[1]));
//! # Ok::<(), swd::SwdError>(())
//! ```

mod basis;
mod bins;
mod clean;
mod distribution;
mod isotonic;
mod labelled;

pub use basis::Basis;
pub use bins::Bins;
pub use clean::Cleaning;
pub use distribution::{PiecewiseUniform, SlicedMarginals};
pub use isotonic::isotonic;
pub use labelled::{ClassMarginals, LabelledQuery};

use clean::shrink;
use rayon::prelude::*;

use crate::check::check_shape;
use crate::region::project_columns;
use crate::smoothed::ROUNDING;
use crate::{Region, SensitiveVector, Slices, SwdError};

/// Coordinates of rows that are projected together.
const NEAR: usize = 1 << 15;

/// The public side of a release of sliced marginals: what is counted, and in which coordinates.
#[derive(Debug, Clone, PartialEq)]
pub struct MarginalQuery {
    slices: Slices,
    region: Region,
    /// One for each slice, or one for all; the number of bins is the same.
    bins: Vec<Bins>,
    basis: Basis,
    /// The share of the records that each released value is expected to be, if anything is.
    expected: Option<Vec<f64>>,
}

impl MarginalQuery {
    /// Counts of rows in `region`, projected on `slices`, in `bins`, the same for every slice, given in
    /// `basis`.
    ///
    /// # Errors
    /// [`Basis::Haar`] with a number of bins that is no power of two.
    pub fn new(slices: Slices, region: Region, bins: Bins, basis: Basis) -> Result<Self, SwdError> {
        basis.check(bins.count())?;
        Ok(Self {
            slices,
            region,
            bins: vec![bins],
            basis,
            expected: None,
        })
    }

    /// Counts in `count` bins around a public Gaussian distribution in each slice ([`Bins::normal`]), given in
    /// the tree's basis, and cleaned towards that distribution.
    ///
    /// - `mean`: `[d]`; `factor`: `[d, d]`, any `A` with `A A^T` the covariance, column after column.
    ///
    /// Meant for a distribution that was released before, from the same records: their first two moments
    /// cost little noise, and the bins then lie where the records are. The two releases compose: the
    /// squares of `1/z` add up. Tried on class-conditional latents (3000 records a class, 144 slices,
    /// 0.3 of the squares for the moments), it was about as good as the better of the two at every
    /// epsilon from 0.5 to 10, and nearer to the records than both at 0.5 and 1.
    ///
    /// # Errors
    /// A number of bins that is no power of two, lengths that do not fit, or a value that is not
    /// finite.
    pub fn around_gaussian(
        slices: Slices,
        region: Region,
        mean: &[f64],
        factor: &[f64],
        count: usize,
    ) -> Result<Self, SwdError> {
        let (d, basis) = (slices.dim(), Basis::Haar);
        basis.check(count)?;
        for (what, found, expected) in [
            ("mean of a Gaussian", mean.len(), d),
            ("factor of a covariance", factor.len(), d * d),
        ] {
            if found != expected {
                return Err(SwdError::Length {
                    what,
                    found,
                    expected,
                });
            }
        }
        let width = basis.width(count);
        let mut expected = vec![0.0; slices.count() * width];
        let mut bins = Vec::with_capacity(slices.count());
        for (l, expected) in expected.chunks_exact_mut(width).enumerate() {
            let theta = slices.direction(l);
            let along =
                |column: &[f64]| -> f64 { column.iter().zip(theta).map(|(a, t)| a * t).sum() };
            let variance: f64 = factor.chunks_exact(d).map(|c| along(c).powi(2)).sum();
            let (centre, deviation) = (along(mean), variance.sqrt());
            let found = Bins::normal(centre, deviation, region.radius(), count)?;
            basis.analyse(&found.normal_shares(centre, deviation), expected);
            bins.push(found);
        }
        Ok(Self {
            slices,
            region,
            bins,
            basis,
            expected: Some(expected),
        })
    }

    /// The slices.
    pub fn slices(&self) -> &Slices {
        &self.slices
    }

    /// The bins of slice `l`, for `l` below the number of slices.
    pub fn bins(&self, l: usize) -> &Bins {
        &self.bins[if self.bins.len() == 1 { 0 } else { l }]
    }

    /// The number of bins in each slice, `B`.
    pub fn bin_count(&self) -> usize {
        self.bins(0).count()
    }

    /// The number of values that are released: `k B` counts, or `k (B - 1)` tree coefficients.
    pub fn len(&self) -> usize {
        self.slices.count() * self.basis.width(self.bin_count())
    }

    /// Never: there is at least one slice and two bins.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How far the values move when one record is replaced, in counts: `sqrt(2k)` or
    /// `sqrt(k (2 log2 B + 2))`, rounded up.
    pub fn l2_sensitivity_upper(&self) -> f64 {
        let squared = self.basis.squared_sensitivity(self.bin_count());
        (self.slices.count() as f64 * squared).sqrt() * (1.0 + ROUNDING)
    }

    /// Counts the private rows, before noise: one stretch of values a slice.
    ///
    /// - `rows`: `[n, d]`, put into the region first, never assumed to be there; a row that is not
    ///   finite counts as the origin, without a word.
    ///
    /// # Formal guarantee
    /// For any two sets of `n` rows of any values that differ in one row, the results are at most
    /// [`MarginalQuery::l2_sensitivity_upper`] apart. The number of rows itself is not protected.
    ///
    /// # Errors
    /// No rows, or a length that is no multiple of `d`: both are public.
    pub fn measure(&self, rows: &[f32]) -> Result<SensitiveVector, SwdError> {
        let d = self.slices.dim();
        check_shape("private rows", rows.len(), d)?;
        let bins = self.bin_count();
        let mut counts = vec![0.0; self.slices.count() * bins];
        // As many rows at a time as stay near while all slices look at them.
        for rows in rows.chunks((NEAR / d).max(64) * d) {
            let columns = self.region.columns(rows, d)?;
            counts.par_chunks_mut(bins).enumerate().for_each_init(
                || vec![0.0; rows.len() / d],
                |projected, (l, counts)| {
                    project_columns(&columns, self.slices.direction(l), projected);
                    let bins = self.bins(l);
                    projected.iter().for_each(|&u| counts[bins.place(u)] += 1.0);
                },
            );
        }
        let width = self.basis.width(bins);
        let mut values = vec![0.0; self.len()];
        let slices = values.par_chunks_mut(width).zip(counts.par_chunks(bins));
        slices.for_each(|(values, counts)| self.basis.analyse(counts, values));
        Ok(SensitiveVector::new(values, self.l2_sensitivity_upper()))
    }

    /// The marginals that a release of [`MarginalQuery::measure`] tells: post-processing.
    ///
    /// - `released`: the measured values with noise of standard deviation `deviation` (in counts) on
    ///   each;
    /// - `records`: the public number of rows.
    ///
    /// # Errors
    /// A length that does not fit, a value that is not finite, no records, or a deviation that is no
    /// finite number of at least 0.
    pub fn clean(
        &self,
        released: &[f64],
        records: usize,
        deviation: f64,
        cleaning: Cleaning,
    ) -> Result<SlicedMarginals, SwdError> {
        crate::check::check_bound("deviation of the noise", deviation)?;
        if released.len() != self.len() {
            return Err(SwdError::Length {
                what: "released marginals",
                found: released.len(),
                expected: self.len(),
            });
        }
        if records == 0 {
            return Err(SwdError::Empty {
                what: "number of records",
            });
        }
        let width = self.basis.width(self.bin_count());
        if let Some(place) = released.iter().position(|value| !value.is_finite()) {
            return Err(SwdError::NotFinite {
                what: "released marginals",
                row: place / width,
                index: place % width,
                value: released[place],
            });
        }
        let (records, count) = (records as f64, self.bin_count());
        let mut values = released.to_vec();
        if let (true, Some(expected)) = (cleaning.shrink, &self.expected) {
            let expected: Vec<f64> = expected.iter().map(|share| share * records).collect();
            shrink(&mut values, &expected, width, deviation);
        }
        let noise = self.basis.edge_variance(count);
        let noise: Vec<f64> = noise
            .iter()
            .map(|variance| deviation / records * variance.sqrt())
            .collect();
        let distributions = values.par_chunks(width).enumerate().map(|(l, values)| {
            let below = self.basis.distribution(values, count, records);
            PiecewiseUniform::new(self.bins(l).edges(), &cleaning.apply(&below, &noise))
        });
        let distributions = distributions.collect();
        Ok(SlicedMarginals::new(self.slices.clone(), distributions))
    }
}

#[cfg(test)]
mod tests;
