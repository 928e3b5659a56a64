//! Numbers computed from private records: with their sensitivity, and after a mechanism has added its noise.

use std::borrow::Cow;

use rand::Rng;
use rand::seq::SliceRandom;

use super::Sensitivity;
use crate::DpError;

/// The norm of a sensitivity, which decides the noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Norm {
    /// Euclidean: Gaussian noise.
    L2,
    /// The sum of absolute values: Laplace noise.
    L1,
}

/// Values that depend on private records, with an upper bound on how far replacing one record can move them.
///
/// The two travel together, so that the noise fits the values. Nothing here is private yet: only the output of a
/// [`Releaser`](super::Releaser) is.
///
/// # Formal guarantee
///
/// Whoever builds one claims that for any two neighbouring data sets and the same public randomness the values differ by
/// at most the bound. The releaser trusts that claim; the privacy contract tests check it for the queries of this
/// workspace.
///
/// ```
/// use dp_core::mechanism::SensitiveVector;
///
/// let sums = SensitiveVector::l2(vec![0.3, -0.1], 2.0);
/// assert_eq!(sums.sensitivity_upper(), 2.0);
/// ```
#[derive(Clone, PartialEq)]
pub struct SensitiveVector {
    values: Vec<f64>,
    bound: f64,
    norm: Norm,
    /// If values stand record by record: the numbers of values and of records of each group.
    by_record: Vec<[usize; 2]>,
}

impl std::fmt::Debug for SensitiveVector {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("SensitiveVector");
        shown.field("values", &self.values.len());
        shown.field("bound", &self.bound);
        shown.field("norm", &self.norm);
        shown.finish_non_exhaustive()
    }
}

impl SensitiveVector {
    /// Couples values with a bound on their Euclidean distance from those of a neighbour. The releaser refuses a
    /// bound that is not positive and finite.
    pub fn l2(values: Vec<f64>, l2_upper: f64) -> Self {
        Self {
            values,
            bound: l2_upper,
            norm: Norm::L2,
            by_record: Vec::new(),
        }
    }

    /// Couples values with a bound on the sum of their absolute differences from those of a neighbour.
    pub fn l1(values: Vec<f64>, l1_upper: f64) -> Self {
        Self {
            values,
            bound: l1_upper,
            norm: Norm::L1,
            by_record: Vec::new(),
        }
    }

    /// Declares that the values stand record by record, with shape `[k, records]`.
    /// [`Releaser::release_vector`](super::Releaser::release_vector) then puts the records in a secret order: records
    /// are a set, and no place may reveal one. If the number of values is no multiple of `records`, the bound is lost
    /// and the releaser refuses the vector.
    #[must_use]
    pub fn by_record(self, records: usize) -> Self {
        let length = self.values.len();
        let whole = records > 0 && length.is_multiple_of(records);
        Self {
            bound: if whole { self.bound } else { f64::NAN },
            by_record: vec![[length, records.max(1)]],
            ..self
        }
    }

    /// The numbers of values and of records of each group: one record if the values do not stand record by record.
    fn places(&self) -> Vec<[usize; 2]> {
        match self.by_record.is_empty() {
            true => vec![[self.values.len(), 1]],
            false => self.by_record.clone(),
        }
    }

    /// The values, with the records of each group in an order that `rng` draws if they stand record by record.
    pub(super) fn reordered(&self, rng: &mut impl Rng) -> Cow<'_, [f64]> {
        if self.by_record.is_empty() {
            return Cow::Borrowed(&self.values);
        }
        let (mut values, mut rest) = (Vec::with_capacity(self.values.len()), &self.values[..]);
        for &[length, records] in &self.by_record {
            let (group, after) = rest.split_at(length);
            let mut order: Vec<usize> = (0..records).collect();
            order.shuffle(rng);
            for row in group.chunks_exact(records) {
                values.extend(order.iter().map(|&record| row[record]));
            }
            rest = after;
        }
        values.extend_from_slice(rest);
        Cow::Owned(values)
    }

    /// Concatenates the values of several groups, if a record lies in one group and its replacement in the same: all of them
    /// move by as much as one does. If the bounds are in different norms, none is left and the releaser refuses the vector.
    pub fn of_groups(groups: impl IntoIterator<Item = Self>) -> Self {
        let mut groups = groups.into_iter();
        let mut all = groups.next().unwrap_or(Self::l2(Vec::new(), f64::NAN));
        for group in groups {
            all.bound = all.larger_bound(&group);
            if !(all.by_record.is_empty() && group.by_record.is_empty()) {
                let more = group.places();
                all.by_record = all.places();
                all.by_record.extend(more);
            }
            all.values.extend(group.values);
        }
        all
    }

    /// Adds the values of another part of the records. A record lies in one part and moves the sum as it moves that part.
    ///
    /// # Errors
    ///
    /// [`DpError::Shape`] if the lengths differ.
    pub fn plus(mut self, other: &Self) -> Result<Self, DpError> {
        let (expected, found) = (self.values.len(), other.values.len());
        if expected != found {
            return Err(DpError::Shape {
                what: "values of a part of the records",
                expected,
                found,
            });
        }
        self.bound = self.larger_bound(other);
        for (sum, value) in self.values.iter_mut().zip(&other.values) {
            *sum += value;
        }
        Ok(self)
    }

    /// Returns the sums over all parts of the records, with the bound of this part: all parts are measured alike.
    ///
    /// # Errors
    ///
    /// [`DpError::Shape`] if the lengths differ.
    pub fn of_all_parts(self, sums: Vec<f64>) -> Result<Self, DpError> {
        let zeros = vec![0.0; self.values.len()];
        let part = Self {
            values: zeros,
            ..self
        };
        Self {
            values: sums,
            ..part.clone()
        }
        .plus(&part)
    }

    /// The larger of two bounds; NaN if their norms differ or one of them is NaN.
    fn larger_bound(&self, other: &Self) -> f64 {
        if self.norm != other.norm || self.bound.is_nan() || other.bound.is_nan() {
            return f64::NAN;
        }
        self.bound.max(other.bound)
    }

    /// The values before the noise. **Not private**: for tests and audits.
    pub fn before_noise(&self) -> &[f64] {
        &self.values
    }

    /// An upper bound on the distance of the values for two data sets that differ in one record, in their units.
    pub fn sensitivity_upper(&self) -> f64 {
        self.bound
    }

    pub(super) fn norm(&self) -> Norm {
        self.norm
    }

    /// The bound as a sensitivity of Gaussian noise.
    pub(super) fn l2_sensitivity(&self) -> Result<Sensitivity, DpError> {
        Sensitivity::l2(self.bound)
    }
}

/// Values with noise. Any further use of them is post-processing.
#[derive(Clone, PartialEq)]
pub struct NoisyVector {
    /// The values.
    pub values: Vec<f64>,
    /// The standard deviation of the noise on each value, 0 without privacy. If noise is correlated over steps, that
    /// of each of its independent parts: the noise has up to `sqrt(4 / pi)` times that.
    pub deviation: f64,
}

impl std::fmt::Debug for NoisyVector {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("NoisyVector");
        shown.field("values", &self.values.len());
        shown.field("deviation", &self.deviation);
        shown.finish_non_exhaustive()
    }
}

impl NoisyVector {
    /// Takes the values without noise. **Not private**.
    pub fn without_privacy(values: SensitiveVector) -> Self {
        Self {
            values: values.values,
            deviation: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn groups_and_parts_have_the_larger_bound_and_none_in_two_norms() {
        let one = SensitiveVector::l2(vec![1.0], 2.0);
        let two = SensitiveVector::l2(vec![5.0], 3.0);
        let groups = SensitiveVector::of_groups([one.clone(), two.clone()]);
        assert_eq!(groups, SensitiveVector::l2(vec![1.0, 5.0], 3.0));
        let sum = two.clone().plus(&one).unwrap();
        assert_eq!(sum, SensitiveVector::l2(vec![6.0], 3.0));
        assert!(two.plus(&groups).is_err());
        let none = SensitiveVector::l2(vec![0.0], f64::NAN);
        for other in [SensitiveVector::l1(vec![0.0], 9.0), none] {
            for pair in [[&one, &other], [&other, &one]] {
                let groups = SensitiveVector::of_groups(pair.map(Clone::clone));
                assert!(groups.l2_sensitivity().is_err());
                let sum = pair[0].clone().plus(pair[1]).unwrap();
                assert!(sum.sensitivity_upper().is_nan());
            }
        }
        let empty = SensitiveVector::of_groups([]);
        assert!(empty.l2_sensitivity().is_err());
    }

    /// Each record keeps its values together and its group; with 100 records the chance that a secret order leaves as many as 12
    /// in their place is below 1e-9.
    #[test]
    fn records_one_by_one_get_an_order_that_nobody_knows() {
        let group = |first: usize| {
            let row = |start: f64| (0..100).map(move |place| start + (first + place) as f64);
            let values = row(0.0).chain(row(1000.0)).collect();
            SensitiveVector::l2(values, 1.0).by_record(100)
        };
        let groups = SensitiveVector::of_groups([group(0), group(100)]);
        let rng = &mut rand_chacha::ChaCha20Rng::seed_from_u64(1);
        let found = groups.reordered(rng);
        for (first, group) in [(0.0, &found[..200]), (100.0, &found[200..])] {
            let (one, other) = group.split_at(100);
            assert!(one.iter().zip(other).all(|(a, b)| a + 1000.0 == *b));
            let kept = (0..100).filter(|&place| one[place] == first + place as f64);
            assert!(kept.count() < 12);
            let mut sorted = one.to_vec();
            sorted.sort_by(f64::total_cmp);
            assert!((0..100).all(|place| sorted[place] == first + place as f64));
        }
        assert_ne!(found, groups.reordered(rng));
        // A sum beside them stays where it is.
        let sum = SensitiveVector::l2(vec![-1.0, -2.0], 1.0);
        let mixed = SensitiveVector::of_groups([sum.clone(), group(0), sum]);
        let found = mixed.reordered(rng);
        assert_eq!([&found[..2], &found[202..]], [[-1.0, -2.0]; 2]);
        // Sums have no records to reorder, and other numbers of values no bound.
        let sums = SensitiveVector::l2(vec![1.0, 2.0], 1.0);
        assert_eq!(sums.reordered(rng), sums.before_noise());
        let uneven = SensitiveVector::l2(vec![0.0; 5], 1.0).by_record(2);
        assert!(uneven.l2_sensitivity().is_err());
    }
}
