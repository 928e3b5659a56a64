//! Weights of classes by noisy counts.

use super::examples::check_classes;
use crate::ClassifierError;

/// The minimum weight of a class: what is rarer than this share of the largest class weighs less than others.
const LEAST: f64 = 0.05;

/// Weights that let each class count as much as any other. The rarest class has weight 1, and others have less: so the sum of clipped
/// gradients keeps its sensitivity.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassWeights {
    weights: Vec<f64>,
    /// The mean weight of a record.
    mean: f64,
}

impl ClassWeights {
    /// Returns weights `r / n_c`, from 0.05 to 1, by released counts `n_c` of the records of each class; `r` is the smallest of those
    /// counts that are above three deviations of their noise. Classes below that weigh 1: nobody knows how many records they have.
    ///
    /// The noise of a step weighs more the less the records do: [`ClassWeights::mean`] says how much is left of them.
    ///
    /// - `deviation`: the standard deviation of the noise of a count; 0 without noise.
    ///
    /// # Errors
    ///
    /// [`ClassifierError::OutOfRange`] for fewer than two classes; [`ClassifierError::NotFinite`].
    pub fn of_counts(counts: &[f64], deviation: f64) -> Result<Self, ClassifierError> {
        check_classes(counts.len())?;
        if !counts
            .iter()
            .chain([&deviation])
            .all(|count| count.is_finite())
        {
            return Err(ClassifierError::NotFinite { name: "counts" });
        }
        let seen = |&count: &f64| count > (3.0 * deviation).max(0.5);
        let rarest = counts.iter().copied().filter(seen);
        let rarest = rarest.fold(f64::INFINITY, f64::min);
        let weight = |count: &f64| match seen(count) {
            true => (rarest / count).max(LEAST),
            false => 1.0,
        };
        let weights: Vec<f64> = counts.iter().map(weight).collect();
        let known = || counts.iter().zip(&weights).filter(|(count, _)| seen(count));
        let all: f64 = known().map(|(count, _)| count).sum();
        let weighed: f64 = known().map(|(count, weight)| count * weight).sum();
        let mean = if all > 0.0 { weighed / all } else { 1.0 };
        Ok(Self { weights, mean })
    }

    /// Returns the weight of a class.
    pub(super) fn of(&self, class: usize) -> f64 {
        self.weights[class]
    }

    /// Returns the weights.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Returns the mean weight of a record, as far as the counts say.
    pub fn mean(&self) -> f64 {
        self.mean
    }
}
