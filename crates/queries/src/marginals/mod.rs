//! Private sliced marginals: noisy histograms of all private rows on each slice.
//!
//! All private rows are put into a region, projected on `k` public slices, and counted in `B` public bins per slice. The
//! counts are released once, with noise. Cleaning them, and any number of flow steps towards them, is post-processing. The
//! number of records is public.
//!
//! # Sensitivity
//! The release has, for every node of the binary tree over the bins of a slice, the count of its left half minus that of its
//! right half. A record adds `+1` or `-1` at the one node of each level that holds its bin. A replacement adds 4 to the
//! squared change if the old and new bins are in different halves of one node, 2 if they are in different nodes, and 0 if
//! they share a half. They share a node down to some level, are parted by it, and are in different nodes below: at most
//! `4 + 2 (log2 B - 1)` per slice, attained if the root parts them. Over `k` slices the sensitivity is
//! `sqrt(k (2 log2 B + 2))`. The total is public and does not change.
//!
//! The bound is attained by `x' = -x` for every `x` that no slice projects into the two middle bins.
//!
//! # Why a tree
//! A flow needs the distribution function. With noise of variance `Delta^2` on each coordinate and a known total, the noise
//! of the count below a bin edge has a variance, averaged over the `B` edges, of `2k (B^2-1)/(6B)` from the counts themselves,
//! and of about `k (2 log2 B + 2) log2(B)/12` from the tree. For `B = 32` these are 10.7 k and 5.7 k. The tree is better
//! from `B = 8` on.
//!
//! The tree is that of Privelet (Xiao, Wang and Gehrke 2010), without its weights. [`Barycentre`]s of several groups come
//! from the same release.
//! # Example
//! ```
//! use dp_core::mechanism::NoisyVector;
//! use private_queries::marginals::Bins;
//! use private_queries::{GroupMarginals, MarginalQuery, Query};
//! use rand::SeedableRng;
//! use swd::{NormBound, Slices, UniformBall};
//!
//! let mut rng = rand_chacha::ChaCha20Rng::seed_from_u64(1);
//! let (d, n) = (3, 2000);
//! let rows = UniformBall::new(d)?.sample(n, &mut rng);
//! let slices = Slices::tight(d, 12, &mut rng)?;
//! let counts = MarginalQuery::new(slices, NormBound::ball(1.0)?, Bins::uniform(1.0, 16)?)?;
//! let query = GroupMarginals::new(vec![counts], vec![n])?;
//! let counted = query.measure(&[rows])?;
//! // A releaser adds the noise here; what follows is post-processing.
//! let distribution = query.read(&NoisyVector::without_privacy(counted))?.remove(0);
//! let cells = distribution.cells(100)?;
//! assert!(cells.row(0).windows(2).all(|pair| pair[0] <= pair[1]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod barycentre;
mod bins;
mod clean;
mod distribution;
mod groups;
mod isotonic;
mod labelled;
mod tree;

pub use barycentre::Barycentre;
pub use bins::Bins;
use distribution::PiecewiseUniform;
pub use distribution::SlicedMarginals;
pub use groups::GroupMarginals;
pub use labelled::LabelledMarginals;

use clean::{Cleaning, shrink};
use isotonic::isotonic;
use rayon::prelude::*;

use swd::{NormBound, Slices, SwdError};

use crate::ROUNDING;
use crate::query::{QueryError, check_noisy};

/// The number of coordinates of rows that are projected together.
const NEAR: usize = 1 << 15;

/// The public slices, region and bins in which private rows are counted.
#[derive(Debug, Clone, PartialEq)]
pub struct MarginalQuery {
    slices: Slices,
    region: NormBound,
    /// The bins of each slice, or those of all slices; the number of bins is the same.
    bins: Vec<Bins>,
    /// The expected share of the records of each released value, if the query expects a distribution.
    expected: Option<Vec<f64>>,
    cleaning: Cleaning,
}

impl MarginalQuery {
    /// Creates a query that projects rows in `region` on `slices` and counts them in `bins`, the same for every slice.
    ///
    /// # Errors
    /// Returns an error if the number of bins is no power of two.
    pub fn new(slices: Slices, region: NormBound, bins: Bins) -> Result<Self, SwdError> {
        tree::check(bins.count())?;
        Ok(Self {
            slices,
            region,
            bins: vec![bins],
            expected: None,
            cleaning: Cleaning::default(),
        })
    }

    /// Creates a query with different bins for each slice, equally many in each.
    ///
    /// # Errors
    /// Returns the errors of [`MarginalQuery::new`], and an error for wrong numbers of bins.
    pub fn by_slice(slices: Slices, region: NormBound, bins: Vec<Bins>) -> Result<Self, SwdError> {
        let expected = slices.count();
        let count = bins.first().map_or(0, Bins::count);
        let other = bins.iter().find(|bins| bins.count() != count);
        for (what, found, expected) in [
            ("bins of slices", bins.len(), expected),
            ("bins of a slice", other.map_or(count, Bins::count), count),
        ] {
            if found != expected {
                return Err(SwdError::Length {
                    what,
                    found,
                    expected,
                });
            }
        }
        tree::check(count)?;
        Ok(Self {
            slices,
            region,
            bins,
            expected: None,
            cleaning: Cleaning::default(),
        })
    }

    /// Creates a query with `count` bins around a public Gaussian distribution in each slice ([`Bins::normal`]), whose marginals
    /// are cleaned towards that distribution.
    ///
    /// - `mean`: `[d]`; `factor`: `[d, d]`, any `A` with `A A^T` the covariance, column after column.
    ///
    /// The distribution can come from an earlier release of the same records: their first two moments need little noise, and the
    /// bins then lie near the records. The two releases compose: the squares of `1/z` add up. On class-conditional latents
    /// (3000 records a class, 144 slices, 0.3 of the squares for the moments) it was about as good as the better of the two at
    /// every epsilon from 0.5 to 10, and nearer to the records than both at 0.5 and 1.
    ///
    /// # Errors
    /// Returns an error if the number of bins is no power of two, a length does not fit, or a value is not finite.
    pub fn around_gaussian(
        slices: Slices,
        region: NormBound,
        mean: &[f64],
        factor: &[f64],
        count: usize,
    ) -> Result<Self, SwdError> {
        let d = slices.dim();
        tree::check(count)?;
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
        let width = tree::width(count);
        let mut expected = vec![0.0; slices.count() * width];
        let mut bins = Vec::with_capacity(slices.count());
        for (l, expected) in expected.chunks_exact_mut(width).enumerate() {
            let theta = slices.direction(l);
            let along =
                |column: &[f64]| -> f64 { column.iter().zip(theta).map(|(a, t)| a * t).sum() };
            let variance: f64 = factor.chunks_exact(d).map(|c| along(c).powi(2)).sum();
            let (centre, deviation) = (along(mean), variance.sqrt());
            let found = Bins::normal(centre, deviation, region.radius(), count)?;
            tree::analyse(&found.normal_shares(centre, deviation), expected);
            bins.push(found);
        }
        Ok(Self {
            slices,
            region,
            bins,
            expected: Some(expected),
            cleaning: Cleaning::towards_expected(),
        })
    }

    /// Returns the slices.
    pub fn slices(&self) -> &Slices {
        &self.slices
    }

    /// Returns the bins of slice `l`, for `l` below the number of slices.
    pub fn bins(&self, l: usize) -> &Bins {
        &self.bins[if self.bins.len() == 1 { 0 } else { l }]
    }

    /// Returns the number of bins in each slice, `B`.
    pub(crate) fn bin_count(&self) -> usize {
        self.bins(0).count()
    }

    /// Returns the number of released values, `k (B - 1)`.
    pub fn len(&self) -> usize {
        self.slices.count() * tree::width(self.bin_count())
    }

    /// Returns `false`, because a query has at least one slice and two bins.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the sensitivity to replacing one record, in counts: `sqrt(k (2 log2 B + 2))`, rounded up.
    pub(crate) fn l2_sensitivity_upper(&self) -> f64 {
        let squared = tree::squared_sensitivity(self.bin_count());
        (self.slices.count() as f64 * squared).sqrt() * (1.0 + ROUNDING)
    }

    /// Counts the private rows, before noise: `B - 1` values per slice.
    ///
    /// - `rows`: `[n, d]`, of any norm: each row is first put into the region. A row that is not finite counts as the origin,
    ///   silently.
    ///
    /// # Formal guarantee
    /// For any two sets of `n` rows of any values that differ in one row, the results are at most
    /// [`MarginalQuery::l2_sensitivity_upper`] apart. The number of rows itself is not protected.
    fn counts(&self, rows: &[f32]) -> Result<Vec<f64>, SwdError> {
        let (d, bins) = (self.slices.dim(), self.bin_count());
        let mut counts = vec![0.0; self.slices.count() * bins];
        // As many rows at a time as stay in cache while all slices read them.
        let at_once = (NEAR / d).max(64);
        for rows in rows.chunks(at_once * d) {
            let projected = self.region.project(rows, &self.slices)?;
            let slices = counts.par_chunks_mut(bins).enumerate();
            slices.for_each(|(l, counts)| {
                let n = projected.len() / self.slices.count();
                let bins = self.bins(l);
                let values = projected[l * n..(l + 1) * n].iter();
                values.for_each(|&u| counts[bins.place(u)] += 1.0);
            });
        }
        let width = tree::width(bins);
        let mut values = vec![0.0; self.len()];
        let slices = values.par_chunks_mut(width).zip(counts.par_chunks(bins));
        slices.for_each(|(values, counts)| tree::analyse(counts, values));
        Ok(values)
    }

    /// Computes the marginals from noisy counts: post-processing.
    ///
    /// - `deviation`: that of the noise on each value, in counts; `records`: the number of rows.
    fn clean(
        &self,
        released: &[f64],
        records: usize,
        deviation: f64,
    ) -> Result<SlicedMarginals, QueryError> {
        check_noisy("released marginals", released, deviation, self.len())?;
        if records == 0 {
            return Err(QueryError::Empty {
                what: "number of records",
            });
        }
        let (cleaning, width) = (self.cleaning, tree::width(self.bin_count()));
        let (records, count) = (records as f64, self.bin_count());
        let mut values = released.to_vec();
        if let (true, Some(expected)) = (cleaning.shrink, &self.expected) {
            let expected: Vec<f64> = expected.iter().map(|share| share * records).collect();
            shrink(&mut values, &expected, width, deviation);
        }
        let noise = tree::edge_variance(count);
        let noise: Vec<f64> = noise
            .iter()
            .map(|variance| deviation / records * variance.sqrt())
            .collect();
        let distributions = values.par_chunks(width).enumerate().map(|(l, values)| {
            let below = tree::distribution(values, count, records);
            PiecewiseUniform::new(self.bins(l).edges(), &cleaning.apply(&below, &noise))
        });
        let distributions = distributions.collect();
        Ok(SlicedMarginals::new(self.slices.clone(), distributions))
    }
}

#[cfg(test)]
mod tests;
