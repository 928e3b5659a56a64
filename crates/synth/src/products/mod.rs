//! A mixture of products over the columns of a table, which is fitted to noisy counts of pairs of columns.
//!
//! With `K` components, a label of `C` classes and columns `j` of `M_j` values each,
//! `p(x, c) = sum_k a_kc prod_j theta_kj(x_j)`: a component has a distribution for every column, in which columns are
//! independent, and a weight with each class. Columns depend on each other through the component alone. So the counts of every
//! pair and class are products of small matrices, and a sample takes a few look-ups.

mod fit;
mod gradient;
mod noisy_shares;
mod sample;

pub(crate) use fit::{Fit, STEPS, fit};
pub(crate) use sample::systematic;

/// A distribution over records of codes: a mixture of products.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Products {
    /// The number of values of each column except the label.
    sizes: Vec<usize>,
    /// The index of the label among all columns, and its number of classes.
    label: Option<(usize, usize)>,
    /// `a`, `[K, C]` in rows, which sum to 1.
    weights: Vec<f32>,
    /// `theta`, `[K, sum M_j]` in rows: the distributions of each column, one after the other.
    values: Vec<f32>,
}

impl Products {
    /// Returns the number of classes of the label, 1 without one.
    fn classes(&self) -> usize {
        self.label.map_or(1, |(_, classes)| classes)
    }

    /// Returns the distribution of any column, including the label, `[M_j]`.
    ///
    /// # Panics
    /// Panics if the column does not exist.
    #[cfg(test)]
    fn column(&self, column: usize) -> Vec<f64> {
        let classes = self.classes();
        if self.label.is_some_and(|(place, _)| place == column) {
            let mut sums = vec![0.0; classes];
            for weights in self.weights.chunks_exact(classes) {
                let pairs = sums.iter_mut().zip(weights);
                pairs.for_each(|(sum, &weight)| *sum += f64::from(weight));
            }
            return sums;
        }
        let own = column - usize::from(self.label.is_some_and(|(place, _)| place < column));
        let (start, size) = (self.sizes[..own].iter().sum::<usize>(), self.sizes[own]);
        let width: usize = self.sizes.iter().sum();
        let mut sums = vec![0.0; size];
        for (weights, values) in self
            .weights
            .chunks_exact(classes)
            .zip(self.values.chunks_exact(width))
        {
            let weight: f32 = weights.iter().sum();
            let pairs = sums.iter_mut().zip(&values[start..start + size]);
            pairs.for_each(|(sum, &value)| *sum += f64::from(weight) * f64::from(value));
        }
        sums
    }
}
