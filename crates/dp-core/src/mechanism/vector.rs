//! Numbers of private records with their sensitivity, and the same after a mechanism has added its noise.

use super::Sensitivity;
use crate::DpError;

/// The norm that a sensitivity is a bound in, and so the noise that fits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Norm {
    /// Euclidean: Gaussian noise.
    L2,
    /// The sum of absolute values: Laplace noise.
    L1,
}

/// Values that depend on private records, and how far replacing one record can move them.
///
/// The two travel together, so that the noise fits the values. Nothing here is private yet: only what a
/// [`Releaser`](super::Releaser) returns for it is.
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
    /// Values with a bound on their Euclidean distance from those of a neighbour. The releaser refuses a bound that is
    /// not positive and finite.
    pub fn l2(values: Vec<f64>, l2_upper: f64) -> Self {
        Self {
            values,
            bound: l2_upper,
            norm: Norm::L2,
        }
    }

    /// Values with a bound on the sum of their absolute differences from those of a neighbour.
    pub fn l1(values: Vec<f64>, l1_upper: f64) -> Self {
        Self {
            values,
            bound: l1_upper,
            norm: Norm::L1,
        }
    }

    /// The values of several groups, one behind the other, where a record lies in one group and a neighbour has it in
    /// the same: all of them move by as much as one does. Bounds in different norms leave none, which the releaser refuses.
    pub fn of_groups(groups: impl IntoIterator<Item = Self>) -> Self {
        let mut groups = groups.into_iter();
        let mut all = groups.next().unwrap_or(Self::l2(Vec::new(), f64::NAN));
        for group in groups {
            all.bound = all.larger_bound(&group);
            all.values.extend(group.values);
        }
        all
    }

    /// The sum of the values of parts of the records: a record lies in one part, and moves the sum as it moves that one.
    ///
    /// # Errors
    ///
    /// [`DpError::Shape`] for parts of other lengths.
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

    /// The sum over all parts of the records, of which these values are one part, measured alike.
    ///
    /// # Errors
    ///
    /// As [`SensitiveVector::plus`].
    pub fn of_all_parts(self, sums: Vec<f64>) -> Result<Self, DpError> {
        let zeros = vec![0.0; self.values.len()];
        Self {
            values: sums,
            ..self
        }
        .plus(&Self {
            values: zeros,
            ..self
        })
    }

    /// The larger of two bounds; none of bounds in different norms, or where one is none.
    fn larger_bound(&self, other: &Self) -> f64 {
        if self.norm != other.norm || self.bound.is_nan() || other.bound.is_nan() {
            return f64::NAN;
        }
        self.bound.max(other.bound)
    }

    /// The values before the noise: not to be published, for tests and audits.
    pub fn before_noise(&self) -> &[f64] {
        &self.values
    }

    /// An upper bound on the distance of the values on two data sets that differ in one record, in their units.
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

/// Values with noise in them: what is done with them is post-processing.
#[derive(Clone, PartialEq)]
pub struct Noisy {
    /// The values.
    pub values: Vec<f64>,
    /// The standard deviation of the noise on each, 0 without privacy; where noise is correlated over steps, of each of the
    /// independent parts that it is made of: the noise has up to `sqrt(4 / pi)` times that.
    pub deviation: f64,
}

impl std::fmt::Debug for Noisy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Noisy");
        shown.field("values", &self.values.len());
        shown.field("deviation", &self.deviation);
        shown.finish_non_exhaustive()
    }
}

impl Noisy {
    /// Values that no noise is added to: nothing is promised for them.
    pub fn without_privacy(values: SensitiveVector) -> Self {
        Self {
            values: values.values,
            deviation: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_parts_have_the_larger_bound_and_none_in_two_norms() {
        let (one, two) = (
            SensitiveVector::l2(vec![1.0], 2.0),
            SensitiveVector::l2(vec![5.0], 3.0),
        );
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
}
