//! Marginals of each class of labelled records, where the neighbour of a record may have another label.
//!
//! # Sensitivity
//! A record adds `+1` or `-1` at one node of each of the `log2 B` levels of a tree, in the tree of its own class.
//!
//! - Replaced by one of its class: at most `2 log2 B + 2` a slice, as [`super::Basis::Haar`] has it.
//! - Replaced by one of another class: one tree loses a record and another gains one, so `2 log2 B` a slice. That
//!   leaves 2 a slice, and the sizes of the classes leave in them for nothing: told `sqrt(k)` times, the two that
//!   change add `2k`.
//!
//! Either way `sqrt(k (2 log2 B + 2))` in counts, over all classes together, labels and sizes of classes included. The
//! number of all records is public. Each class may have slices and bins of its own, as many of both as the others.
//!
//! A class may be any function of a record that is public itself, such as its label and the cell of a public partition.

use super::{Basis, Bins, Cleaning, MarginalQuery, SlicedMarginals};
use crate::check::check_shape;
use crate::{Region, SensitiveVector, Slices, SwdError};

/// The public side of a release of the marginals of each class, and of the sizes of the classes.
///
/// ```
/// use rand::SeedableRng;
/// use rand_chacha::ChaCha20Rng;
/// use swd::marginals::{Bins, Cleaning, LabelledQuery};
/// use swd::{Region, Slices};
///
/// let slices = Slices::iid(2, 5, &mut ChaCha20Rng::seed_from_u64(1))?;
/// let query = LabelledQuery::new(slices, Region::ball(1.0)?, Bins::uniform(1.0, 8)?, 3)?;
/// let counted = query.measure(&[0.1, 0.2, -0.3, 0.0, 0.5, 0.5], &[0, 2, 2])?;
/// // sqrt(k (2 log2 B + 2)), the labels included.
/// assert!((counted.l2_sensitivity_upper() - 40.0_f64.sqrt()).abs() < 1e-6);
/// // A mechanism adds its noise here; without noise the sizes come back as they were.
/// let classes = query.clean(counted.before_noise(), 0.0, Cleaning::default())?;
/// let sizes: Vec<f64> = classes.iter().map(|class| class.size).collect();
/// assert_eq!(sizes, [1.0, 1.0, 2.0]); // an empty class counts as one record
/// # Ok::<(), swd::SwdError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LabelledQuery {
    /// One a class, in the tree's basis, with as many slices and bins each.
    queries: Vec<MarginalQuery>,
}

/// What a release says of one class.
#[derive(Debug, Clone)]
pub struct ClassMarginals {
    /// The number of its records, noisy and rounded, at least 1.
    pub size: f64,
    /// Its marginals.
    pub marginals: SlicedMarginals,
}

impl LabelledQuery {
    /// Counts of rows in `region`, projected on `slices`, in `bins`, a tree for each slice and each of `classes`
    /// classes.
    ///
    /// # Errors
    /// No classes, or a number of bins that is no power of two.
    pub fn new(
        slices: Slices,
        region: Region,
        bins: Bins,
        classes: usize,
    ) -> Result<Self, SwdError> {
        if classes == 0 {
            return Err(SwdError::Empty {
                what: "number of classes",
            });
        }
        let query = MarginalQuery::new(slices, region, bins, Basis::Haar)?;
        Self::of(vec![query; classes])
    }

    /// A query of its own for each class, such as around a Gaussian that was released before.
    ///
    /// # Errors
    /// No classes; a query in another basis than the tree's, in which the sizes would cost extra; queries that differ in
    /// dimension or in the number of their slices or bins, on which the sensitivity rests.
    pub fn of(queries: Vec<MarginalQuery>) -> Result<Self, SwdError> {
        let Some(first) = queries.first() else {
            let what = "number of classes";
            return Err(SwdError::Empty { what });
        };
        let size = |query: &MarginalQuery| {
            [
                ("dimension of a class's slices", query.slices.dim()),
                ("slices of a class", query.slices.count()),
                ("bins of a class", query.bin_count()),
                (
                    "released values of a slice",
                    query.basis.width(query.bin_count()),
                ),
            ]
        };
        let mut expected = size(first);
        expected[3].1 = Basis::Haar.width(first.bin_count());
        for query in &queries {
            for ((what, found), (_, expected)) in size(query).into_iter().zip(expected) {
                if found != expected {
                    return Err(SwdError::Length {
                        what,
                        found,
                        expected,
                    });
                }
            }
        }
        Ok(Self { queries })
    }

    /// The number of values that are released: `classes (k (B - 1) + 1)`.
    pub fn len(&self) -> usize {
        self.queries.len() * (self.queries[0].len() + 1)
    }

    /// Never: there is at least one class.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How far the values move when one record is replaced, with its label: `sqrt(k (2 log2 B + 2))`, rounded up.
    pub fn l2_sensitivity_upper(&self) -> f64 {
        self.queries[0].l2_sensitivity_upper()
    }

    /// Counts the private records of each class, before noise: class after class, and then the sizes.
    ///
    /// - `rows`: `[n, d]`, put into the query's region; `labels`: `[n]`, below the number of classes.
    ///
    /// # Formal guarantee
    /// For any two sets of `n` labelled records that differ in one record, its label included, the results are at
    /// most [`LabelledQuery::l2_sensitivity_upper`] apart.
    ///
    /// # Errors
    /// No rows, lengths that do not fit, or a label that is no class.
    pub fn measure(&self, rows: &[f32], labels: &[usize]) -> Result<SensitiveVector, SwdError> {
        let (d, count) = (self.queries[0].slices.dim(), self.queries.len());
        check_shape("private rows", rows.len(), d)?;
        if labels.len() * d != rows.len() {
            return Err(SwdError::Length {
                what: "labels of private rows",
                found: labels.len(),
                expected: rows.len() / d,
            });
        }
        if let Some(&index) = labels.iter().find(|&&label| label >= count) {
            let what = "class";
            return Err(SwdError::NotThere { what, index, count });
        }
        let mut classes = vec![Vec::new(); count];
        for (row, &label) in rows.chunks_exact(d).zip(labels) {
            classes[label].extend_from_slice(row);
        }
        self.measure_classes(&classes)
    }

    /// As [`LabelledQuery::measure`], of rows that lie together by their classes; a class may have none.
    ///
    /// # Errors
    /// Another number of classes, or a length that is no multiple of `d`.
    pub fn measure_classes(&self, classes: &[Vec<f32>]) -> Result<SensitiveVector, SwdError> {
        if classes.len() != self.queries.len() {
            return Err(SwdError::Length {
                what: "classes of private rows",
                found: classes.len(),
                expected: self.queries.len(),
            });
        }
        let mut values = Vec::with_capacity(self.len());
        let mut sizes = Vec::with_capacity(classes.len());
        for (rows, query) in classes.iter().zip(&self.queries) {
            sizes.push((rows.len() / query.slices.dim()) as f64 * self.weight());
            if rows.is_empty() {
                values.resize(values.len() + query.len(), 0.0);
            } else {
                values.extend_from_slice(query.measure(rows)?.before_noise());
            }
        }
        values.extend(sizes);
        Ok(SensitiveVector::new(values, self.l2_sensitivity_upper()))
    }

    /// What a release of [`LabelledQuery::measure`] tells of each class: post-processing.
    ///
    /// # Errors
    /// As [`MarginalQuery::clean`].
    pub fn clean(
        &self,
        released: &[f64],
        deviation: f64,
        cleaning: Cleaning,
    ) -> Result<Vec<ClassMarginals>, SwdError> {
        if released.len() != self.len() {
            return Err(SwdError::Length {
                what: "released marginals of classes",
                found: released.len(),
                expected: self.len(),
            });
        }
        let each = self.queries[0].len();
        let (values, sizes) = released.split_at(self.queries.len() * each);
        let classes = values.chunks_exact(each).zip(sizes).zip(&self.queries);
        classes
            .map(|((values, size), query)| {
                let size = (size / self.weight()).round().max(1.0);
                let marginals = query.clean(values, size as usize, deviation, cleaning)?;
                Ok(ClassMarginals { size, marginals })
            })
            .collect()
    }

    /// What a size is multiplied by.
    fn weight(&self) -> f64 {
        (self.queries[0].slices.count() as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    fn query(k: usize, bins: usize, classes: usize, rng: &mut ChaCha20Rng) -> LabelledQuery {
        let slices = Slices::iid(2, k, rng).unwrap();
        let bins = Bins::uniform(1.0, bins).unwrap();
        let ball = Region::ball(1.0).unwrap();
        LabelledQuery::new(slices, ball, bins, classes).unwrap()
    }

    /// Slices and bins of its own for each class.
    fn queries(k: usize, bins: usize, classes: usize, rng: &mut ChaCha20Rng) -> LabelledQuery {
        let mut around = || {
            let slices = Slices::iid(2, k, rng).unwrap();
            let mut draw =
                |n: usize| -> Vec<f64> { (0..n).map(|_| rng.random_range(-0.5..0.5)).collect() };
            let (mean, factor, ball) = (draw(2), draw(4), Region::ball(1.0).unwrap());
            MarginalQuery::around_gaussian(slices, ball, &mean, &factor, bins).unwrap()
        };
        LabelledQuery::of((0..classes).map(|_| around()).collect()).unwrap()
    }

    proptest! {
        /// Brute force over neighbours with labels: none is further away than the sensitivity says.
        #[test]
        fn neighbours_with_other_labels_are_within_the_sensitivity(
            seed in any::<u64>(), k in 1_usize..6, levels in 1_u32..6, n in 1_usize..7,
        ) {
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            let query = match rng.random() {
                true => query(k, 1 << levels, 3, &mut rng),
                false => queries(k, 1 << levels, 3, &mut rng),
            };
            let mut rows: Vec<f32> = (0..2 * n).map(|_| rng.random_range(-2.0..2.0)).collect();
            let mut labels: Vec<usize> = (0..n).map(|_| rng.random_range(0..3)).collect();
            let one = query.measure(&rows, &labels).unwrap();
            let i = rng.random_range(0..n);
            rows[2 * i] = [-rows[2 * i], 0.3, f32::NAN][rng.random_range(0..3)];
            rows[2 * i + 1] = -rows[2 * i + 1];
            labels[i] = rng.random_range(0..3);
            let two = query.measure(&rows, &labels).unwrap();
            let pairs = one.before_noise().iter().zip(two.before_noise());
            let apart = pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
            prop_assert!(apart <= one.l2_sensitivity_upper());
        }
    }

    /// A change of label attains the bound, sizes included: the slack is used up.
    #[test]
    fn a_change_of_label_attains_the_sensitivity() {
        let query = query(4, 8, 2, &mut ChaCha20Rng::seed_from_u64(3));
        let one = query.measure(&[0.3, 0.4, 0.1, 0.0], &[0, 1]).unwrap();
        let two = query.measure(&[0.3, 0.4, 0.1, 0.0], &[1, 1]).unwrap();
        let pairs = one.before_noise().iter().zip(two.before_noise());
        let apart = pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        assert!((apart - 32.0_f64.sqrt()).abs() < 1e-9);
        assert!((one.l2_sensitivity_upper() - 32.0_f64.sqrt()).abs() < 1e-6);
    }

    #[test]
    fn bad_input_is_refused() {
        let query = query(4, 8, 2, &mut ChaCha20Rng::seed_from_u64(3));
        assert!(LabelledQuery::of(Vec::new()).is_err());
        let rng = &mut ChaCha20Rng::seed_from_u64(4);
        for (k, bins, basis) in [
            (3, 8, Basis::Haar),
            (4, 4, Basis::Haar),
            (4, 8, Basis::Counts),
        ] {
            let (slices, bins) = (
                Slices::iid(2, k, rng).unwrap(),
                Bins::uniform(1.0, bins).unwrap(),
            );
            let ball = Region::ball(1.0).unwrap();
            let other = MarginalQuery::new(slices, ball, bins, basis).unwrap();
            assert!(LabelledQuery::of(vec![query.queries[0].clone(), other.clone()]).is_err());
            assert!(LabelledQuery::of(vec![other.clone(), query.queries[0].clone()]).is_err());
            assert_eq!(LabelledQuery::of(vec![other]).is_ok(), basis == Basis::Haar);
        }
        assert!(query.measure_classes(&[Vec::new()]).is_err());
        assert!(query.measure(&[], &[]).is_err());
        assert!(query.measure(&[0.0, 0.0], &[]).is_err());
        let refusal = query.measure(&[0.0, 0.0], &[2]).unwrap_err().to_string();
        assert!(
            refusal.contains("class") && refusal.contains('2'),
            "{refusal}"
        );
        assert!(query.clean(&[0.0], 1.0, Cleaning::default()).is_err());
        let mut noisy = vec![0.0; query.len()];
        noisy[0] = f64::NAN;
        assert!(query.clean(&noisy, 1.0, Cleaning::default()).is_err());
    }
}
