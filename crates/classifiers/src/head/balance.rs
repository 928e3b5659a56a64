//! Weights of classes by noisy counts.

use super::examples::check_classes;
use crate::ClassifierError;

/// The minimum of a class's share, as a share of the largest class's.
const LEAST: f64 = 1e-3;

/// Weights that let each class count as much as any other. The rarest class has weight 1, and others have less: so the sum of clipped
/// gradients keeps its sensitivity.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassWeights {
    weights: Vec<f64>,
    /// The mean weight of a record.
    mean: f64,
}

impl ClassWeights {
    /// Returns weights `min_c n_c / n_c` by released counts `n_c` of the records of each class. A count below three deviations of its
    /// noise, or below a thousandth of the largest one, is taken for that.
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
        let largest = counts.iter().fold(1.0, |a: f64, &b| a.max(b));
        let least = (3.0 * deviation).max(LEAST * largest);
        let counts: Vec<f64> = counts.iter().map(|&count| count.max(least)).collect();
        let rarest = counts.iter().fold(f64::INFINITY, |a, &b| a.min(b));
        let all: f64 = counts.iter().sum();
        Ok(Self {
            mean: counts.len() as f64 * rarest / all,
            weights: counts.iter().map(|count| rarest / count).collect(),
        })
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
    pub(super) fn mean(&self) -> f64 {
        self.mean
    }
}
