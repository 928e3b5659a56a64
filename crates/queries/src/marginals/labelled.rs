//! Marginals of each class of labelled records, for neighbours that may change the label of a record.
//!
//! # Sensitivity
//! A record adds `+1` or `-1` at one node of each of the `log2 B` levels of a tree, in the tree of its own class.
//!
//! - If a record of the same class replaces it, the squared change is at most `2 log2 B + 2` per slice, as in [`super`].
//! - If a record of another class replaces it, one tree loses a record and another gains one: `2 log2 B` per slice. The
//!   sizes of the classes are released at no cost in the 2 per slice that this leaves: multiplied by `sqrt(k)`, the two
//!   sizes that change add `2k`.
//!
//! Either way the sensitivity is `sqrt(k (2 log2 B + 2))` in counts, over all classes together, with labels and sizes of
//! classes included. The number of all records is public. Classes may have different slices and bins, but as many of each.
//!
//! A class may be any public function of a record, such as its label and its cell in a public partition.

use dp_core::mechanism::{NoisyVector, SensitiveVector};
use swd::{NormBound, Slices};

use super::{Bins, MarginalQuery, SlicedMarginals};
use crate::Query;
use crate::query::{QueryError, check_noisy, length, whole};

/// Counts the marginals of each class, and the sizes of the classes.
///
/// ```
/// use dp_core::mechanism::NoisyVector;
/// use private_queries::marginals::Bins;
/// use private_queries::{LabelledMarginals, Query};
/// use rand::SeedableRng;
/// use swd::{NormBound, Slices};
///
/// let slices = Slices::iid(2, 5, &mut rand_chacha::ChaCha20Rng::seed_from_u64(1))?;
/// let query = LabelledMarginals::new(slices, NormBound::ball(1.0)?, Bins::uniform(1.0, 8)?, 3)?;
/// let counted = query.measure(&[vec![0.1, 0.2], vec![], vec![-0.3, 0.0, 0.5, 0.5]])?;
/// // sqrt(k (2 log2 B + 2)), the labels included.
/// assert!((counted.sensitivity_upper() - 40.0_f64.sqrt()).abs() < 1e-6);
/// // A releaser adds its noise here; without noise the sizes come back as they were.
/// let (_, sizes) = query.read(&NoisyVector::without_privacy(counted))?;
/// assert_eq!(sizes, [1.0, 1.0, 2.0]); // an empty class counts as one record
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledMarginals {
    /// One query per class, with equal numbers of slices and of bins.
    queries: Vec<MarginalQuery>,
}

impl LabelledMarginals {
    /// Creates a query that projects rows in `region` on `slices` and counts them in `bins`, for each of `classes` classes.
    ///
    /// # Errors
    /// Returns an error for no classes, or for a number of bins that is no power of two.
    pub fn new(
        slices: Slices,
        region: NormBound,
        bins: Bins,
        classes: usize,
    ) -> Result<Self, QueryError> {
        if classes == 0 {
            return Err(QueryError::Empty {
                what: "number of classes",
            });
        }
        let query = MarginalQuery::new(slices, region, bins)?;
        Self::from_queries(vec![query; classes])
    }

    /// Creates a query from one for each class, such as one around a Gaussian that was released before.
    ///
    /// # Errors
    /// Returns an error for no classes, and for queries that differ in dimension or in the number of slices or bins, because
    /// the sensitivity depends on these.
    pub fn from_queries(queries: Vec<MarginalQuery>) -> Result<Self, QueryError> {
        let Some(first) = queries.first() else {
            let what = "number of classes";
            return Err(QueryError::Empty { what });
        };
        let size = |query: &MarginalQuery| {
            [
                ("dimension of a class's slices", query.slices.dim()),
                ("slices of a class", query.slices.count()),
                ("bins of a class", query.bin_count()),
            ]
        };
        for query in &queries {
            for ((what, found), (_, expected)) in size(query).into_iter().zip(size(first)) {
                length(what, found, expected)?;
            }
        }
        Ok(Self { queries })
    }

    /// Returns the weight by which the size of a class is multiplied.
    fn weight(&self) -> f64 {
        (self.queries[0].slices.count() as f64).sqrt()
    }
}

impl Query for LabelledMarginals {
    /// The rows of each class, `[n, d]`, put into the query's region; a class may have none.
    type Records = [Vec<f32>];
    /// The marginals of each class, and the number of its records, noisy and rounded, at least 1.
    type Answer = (Vec<SlicedMarginals>, Vec<f64>);

    /// Returns `classes (k (B - 1) + 1)`.
    fn len(&self) -> usize {
        self.queries.len() * (self.queries[0].len() + 1)
    }

    fn measure(&self, classes: &[Vec<f32>]) -> Result<SensitiveVector, QueryError> {
        length("classes of rows", classes.len(), self.queries.len())?;
        let mut values = Vec::with_capacity(self.len());
        let mut sizes = Vec::with_capacity(classes.len());
        for (rows, query) in classes.iter().zip(&self.queries) {
            let dim = query.slices.dim();
            whole("rows of a class", rows.len(), dim)?;
            sizes.push((rows.len() / dim) as f64 * self.weight());
            values.extend(query.counts(rows)?);
        }
        values.extend(sizes);
        let bound = self.queries[0].l2_sensitivity_upper();
        Ok(SensitiveVector::l2(values, bound))
    }

    fn measure_part(&self, records: &[Vec<f32>]) -> Result<SensitiveVector, QueryError> {
        self.measure(records)
    }

    fn read(&self, noisy: &NoisyVector) -> Result<Self::Answer, QueryError> {
        let what = "released marginals of classes";
        check_noisy(what, &noisy.values, noisy.deviation, self.len())?;
        let each = self.queries[0].len();
        let (values, sizes) = noisy.values.split_at(self.queries.len() * each);
        let size = |size: &f64| (size / self.weight()).round().max(1.0);
        let sizes: Vec<f64> = sizes.iter().map(size).collect();
        let classes = values.chunks_exact(each).zip(&sizes).zip(&self.queries);
        let marginals = classes
            .map(|((values, &size), query)| query.clean(values, size as usize, noisy.deviation));
        Ok((marginals.collect::<Result<_, _>>()?, sizes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::RngExt;
    use rand_chacha::ChaCha20Rng;

    use crate::tests::{grouped, moved, seeded, share};

    fn query(k: usize, bins: usize, classes: usize, rng: &mut ChaCha20Rng) -> LabelledMarginals {
        let slices = Slices::iid(2, k, rng).unwrap();
        let bins = Bins::uniform(1.0, bins).unwrap();
        let ball = NormBound::ball(1.0).unwrap();
        LabelledMarginals::new(slices, ball, bins, classes).unwrap()
    }

    /// Slices and bins of its own for each class.
    fn queries(k: usize, bins: usize, classes: usize, rng: &mut ChaCha20Rng) -> LabelledMarginals {
        let mut around = || {
            let slices = Slices::iid(2, k, rng).unwrap();
            let mut draw = |n| {
                (0..n)
                    .map(|_| rng.random_range(-0.5..0.5))
                    .collect::<Vec<f64>>()
            };
            let (mean, factor, ball) = (draw(2), draw(4), NormBound::ball(1.0).unwrap());
            MarginalQuery::around_gaussian(slices, ball, &mean, &factor, bins).unwrap()
        };
        LabelledMarginals::from_queries((0..classes).map(|_| around()).collect()).unwrap()
    }

    /// Rows of three classes, by their labels.
    fn by_class(rows: &[f32], labels: &[usize], count: usize) -> Vec<Vec<f32>> {
        grouped(rows.chunks_exact(2).zip(labels.iter().copied()), count)
    }

    proptest! {
        /// Brute force over neighbours with labels: none is further away than the sensitivity says.
        #[test]
        fn neighbours_with_other_labels_are_within_the_sensitivity(
            seed in any::<u64>(), k in 1_usize..6, levels in 1_u32..6, n in 1_usize..7,
        ) {
            let mut rng = seeded(seed);
            let query = match rng.random() {
                true => query(k, 1 << levels, 3, &mut rng),
                false => queries(k, 1 << levels, 3, &mut rng),
            };
            let mut rows: Vec<f32> = (0..2 * n).map(|_| rng.random_range(-2.0..2.0)).collect();
            let mut labels: Vec<usize> = (0..n).map(|_| rng.random_range(0..3)).collect();
            let one = query.measure(&by_class(&rows, &labels, 3)).unwrap();
            let i = rng.random_range(0..n);
            rows[2 * i] = [-rows[2 * i], 0.3, f32::NAN][rng.random_range(0..3)];
            rows[2 * i + 1] = -rows[2 * i + 1];
            labels[i] = rng.random_range(0..3);
            let two = query.measure(&by_class(&rows, &labels, 3)).unwrap();
            prop_assert!(share(&one, &two) <= 1.0);
        }
    }

    /// A change of label attains the bound, sizes included: the slack is used up.
    #[test]
    fn a_change_of_label_attains_the_sensitivity() {
        let query = query(4, 8, 2, &mut seeded(3));
        let one = query.measure(&[vec![0.3, 0.4], vec![0.1, 0.0]]).unwrap();
        let two = query.measure(&[vec![], vec![0.3, 0.4, 0.1, 0.0]]).unwrap();
        assert!((moved(&one, &two) - 32.0_f64.sqrt()).abs() < 1e-9);
        assert!((one.sensitivity_upper() - 32.0_f64.sqrt()).abs() < 1e-6);
    }

    #[test]
    fn bad_input_is_refused() {
        let query = query(4, 8, 2, &mut seeded(3));
        assert!(LabelledMarginals::from_queries(Vec::new()).is_err());
        let rng = &mut seeded(4);
        for (k, bins) in [(3, 8), (4, 4)] {
            let slices = Slices::iid(2, k, rng).unwrap();
            let bins = Bins::uniform(1.0, bins).unwrap();
            let ball = NormBound::ball(1.0).unwrap();
            let other = MarginalQuery::new(slices, ball, bins).unwrap();
            let own = query.queries[0].clone();
            for pair in [[own.clone(), other.clone()], [other.clone(), own]] {
                assert!(LabelledMarginals::from_queries(pair.into()).is_err());
            }
            assert!(LabelledMarginals::from_queries(vec![other]).is_ok());
        }
        assert!(query.measure(&[Vec::new()]).is_err());
        assert!(query.measure(&[vec![0.0], Vec::new()]).is_err());
        let deviation = 1.0;
        let read = |values| query.read(&NoisyVector { values, deviation });
        assert!(read(vec![0.0]).is_err());
        let mut noisy = vec![0.0; query.len()];
        assert!(read(noisy.clone()).is_ok());
        noisy[0] = f64::NAN;
        assert!(read(noisy).is_err());
    }
}
