//! The coordinates in which counts are released: as they are, or as differences along a tree.

use swd::SwdError;

/// The coordinates of the released counts of one slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The `B` counts.
    Counts,
    /// Haar coefficients without weights: for each node of the binary tree over the bins, the count of
    /// its left half less that of its right half, from the root down, `B - 1` in all. The total is
    /// public and not among them.
    Haar,
}

impl Basis {
    pub(super) fn check(self, bins: usize) -> Result<(), SwdError> {
        if self == Self::Haar && !(bins >= 2 && bins.is_power_of_two()) {
            return Err(SwdError::NotAPowerOfTwo {
                what: "number of bins",
                found: bins,
            });
        }
        Ok(())
    }

    /// Values released for one slice of so many bins.
    pub(super) fn width(self, bins: usize) -> usize {
        match self {
            Self::Counts => bins,
            Self::Haar => bins - 1,
        }
    }

    /// The largest squared change of one slice when a record is replaced: 2, or `2 log2 B + 2`.
    pub fn squared_sensitivity(self, bins: usize) -> f64 {
        match self {
            Self::Counts => 2.0,
            Self::Haar => f64::from(2 * bins.ilog2() + 2),
        }
    }

    /// Counts to coefficients. Node `i` of level `j` has the place `2^j - 1 + i`.
    pub(super) fn analyse(self, counts: &[f64], values: &mut [f64]) {
        if self == Self::Counts {
            return values.copy_from_slice(counts);
        }
        let mut level = counts.to_vec();
        while level.len() > 1 {
            let nodes = level.len() / 2;
            for i in 0..nodes {
                let (left, right) = (level[2 * i], level[2 * i + 1]);
                values[nodes - 1 + i] = left - right;
                level[i] = left + right;
            }
            level.truncate(nodes);
        }
    }

    /// Coefficients to counts, for a known total.
    pub(super) fn synthesise(self, values: &[f64], bins: usize, total: f64) -> Vec<f64> {
        if self == Self::Counts {
            // The noise of the total is spread evenly: the estimate of least squares.
            let excess = (values.iter().sum::<f64>() - total) / bins as f64;
            return values.iter().map(|value| value - excess).collect();
        }
        let mut level = vec![total];
        while level.len() < bins {
            let offset = level.len() - 1;
            let halves = level.iter().enumerate().flat_map(|(i, count)| {
                let difference = values[offset + i];
                [0.5 * (count + difference), 0.5 * (count - difference)]
            });
            level = halves.collect();
        }
        level
    }

    /// The share of records below each of the `B + 1` edges, as released: 0 first and 1 last, and in
    /// between neither increasing nor inside `[0, 1]` where there is noise.
    pub(super) fn distribution(self, values: &[f64], bins: usize, total: f64) -> Vec<f64> {
        let counts = self.synthesise(values, bins, total);
        let mut below = Vec::with_capacity(bins + 1);
        let mut sum = 0.0;
        below.push(0.0);
        for count in &counts[..bins - 1] {
            sum += count;
            below.push(sum / total);
        }
        below.push(1.0);
        below
    }

    /// The variance of the count below each of the `B + 1` edges, for noise of variance 1 on each
    /// released value.
    ///
    /// From counts it is `j (B - j) / B` at edge `j`. From the tree each node that holds the edge
    /// adds the square of `t` or `1 - t`, whichever is smaller, with `t` the edge's place in the node:
    /// `1/12` a level on average, a little more on the lowest ones.
    pub fn edge_variance(self, bins: usize) -> Vec<f64> {
        let size = bins as f64;
        let variance = |edge: usize| match self {
            Self::Counts => (edge * (bins - edge)) as f64 / size,
            Self::Haar => {
                let mut sum = 0.0;
                let mut node = bins;
                while node > 1 {
                    let place = (edge % node) as f64 / node as f64;
                    sum += place.min(1.0 - place).powi(2);
                    node /= 2;
                }
                sum
            }
        };
        (0..=bins).map(variance).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The rows of the map from counts to released values.
    fn matrix(basis: Basis, bins: usize) -> Vec<Vec<f64>> {
        let column = |bin| {
            let mut counts = vec![0.0; bins];
            counts[bin] = 1.0;
            let mut values = vec![0.0; basis.width(bins)];
            basis.analyse(&counts, &mut values);
            values
        };
        let columns: Vec<Vec<f64>> = (0..bins).map(column).collect();
        let row = |row: usize| columns.iter().map(|column| column[row]).collect();
        (0..basis.width(bins)).map(row).collect()
    }

    /// Brute force over every pair of bins.
    #[test]
    fn the_squared_sensitivity_is_the_largest_over_all_pairs_of_bins() {
        for basis in [Basis::Counts, Basis::Haar] {
            for bins in [2_usize, 4, 8, 16, 32, 64, 128] {
                let rows = matrix(basis, bins);
                let mut largest = 0.0_f64;
                for a in 0..bins {
                    for b in 0..bins {
                        let change = rows.iter().map(|row| (row[a] - row[b]).powi(2));
                        largest = largest.max(change.sum());
                    }
                }
                assert_eq!(largest, basis.squared_sensitivity(bins), "{basis:?} {bins}");
            }
        }
    }

    proptest! {
        #[test]
        fn counts_come_back(
            levels in 1_u32..7,
            counts in prop::collection::vec(0_u32..50, 128),
            haar in any::<bool>(),
        ) {
            let bins = 1 << levels;
            let basis = if haar { Basis::Haar } else { Basis::Counts };
            let counts: Vec<f64> = counts[..bins].iter().map(|&c| f64::from(c)).collect();
            let mut values = vec![0.0; basis.width(bins)];
            basis.analyse(&counts, &mut values);
            let total = counts.iter().sum();
            let found = basis.synthesise(&values, bins, total);
            for (found, count) in found.iter().zip(&counts) {
                prop_assert!((found - count).abs() < 1e-9);
            }
        }
    }

    /// The variance at each edge by pushing each unit of noise through the synthesis.
    #[test]
    fn edge_variances_match_the_synthesis() {
        for basis in [Basis::Counts, Basis::Haar] {
            for bins in [2_usize, 4, 32] {
                let mut expected = vec![0.0; bins + 1];
                for unit in 0..basis.width(bins) {
                    let mut values = vec![0.0; basis.width(bins)];
                    values[unit] = 1.0;
                    let counts = basis.synthesise(&values, bins, 0.0);
                    let mut sum = 0.0;
                    for (edge, count) in counts.iter().enumerate() {
                        sum += count;
                        expected[edge + 1] += sum * sum;
                    }
                }
                for (found, expected) in basis.edge_variance(bins).iter().zip(&expected) {
                    assert!((found - expected).abs() < 1e-12, "{basis:?} {bins}");
                }
            }
        }
    }

    /// The comparison in the module's documentation.
    #[test]
    fn the_tree_is_better_from_eight_bins_on() {
        let cost = |basis: Basis, bins: usize| {
            let mean: f64 = basis.edge_variance(bins).iter().sum::<f64>() / bins as f64;
            mean * basis.squared_sensitivity(bins)
        };
        assert!((cost(Basis::Counts, 32) - 10.66).abs() < 0.01);
        assert!((cost(Basis::Counts, 32) - 2.0 * 1023.0 / 192.0).abs() < 1e-9);
        assert!((cost(Basis::Haar, 32) - 5.67).abs() < 0.01);
        assert_eq!(cost(Basis::Haar, 2), cost(Basis::Counts, 2));
        assert!(cost(Basis::Haar, 4) > cost(Basis::Counts, 4));
        for bins in [8, 16, 32, 64, 128] {
            assert!(cost(Basis::Haar, bins) < cost(Basis::Counts, bins));
        }
    }
}
