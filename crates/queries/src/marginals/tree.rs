//! The coordinates in which counts are released: differences along the binary tree over the bins of a slice, from the
//! root down. The total is public and is not released.

use swd::SwdError;

pub(super) fn check(bins: usize) -> Result<(), SwdError> {
    match bins >= 2 && bins.is_power_of_two() {
        true => Ok(()),
        false => Err(SwdError::NotAPowerOfTwo {
            what: "number of bins",
            found: bins,
        }),
    }
}

/// Returns the number of released values of a slice: one for each inner node of the tree over its bins.
pub(super) fn width(bins: usize) -> usize {
    bins - 1
}

/// Returns the largest squared change of one slice when a record is replaced: `2 log2 B + 2`.
pub(super) fn squared_sensitivity(bins: usize) -> f64 {
    f64::from(2 * bins.ilog2() + 2)
}

/// Converts counts to differences: the count of a node's left half minus that of its right half. Node `i` of level `j` has
/// index `2^j - 1 + i`.
pub(super) fn analyse(counts: &[f64], values: &mut [f64]) {
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

/// Converts differences to counts, for a known total.
pub(super) fn synthesise(values: &[f64], bins: usize, total: f64) -> Vec<f64> {
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

/// Returns the share of records below each of the `B + 1` edges, as released: the first is 0 and the last is 1. With noise,
/// those in between need not increase or lie in `[0, 1]`.
pub(super) fn distribution(values: &[f64], bins: usize, total: f64) -> Vec<f64> {
    let counts = synthesise(values, bins, total);
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

/// Returns the variance of the count below each of the `B + 1` edges, for noise of variance 1 on each released value.
///
/// Each node that holds the edge adds the square of `t` or `1 - t`, whichever is smaller, with `t` the edge's place in
/// the node: `1/12` per level on average, a little more on the lowest ones.
pub(super) fn edge_variance(bins: usize) -> Vec<f64> {
    let variance = |edge: usize| {
        let mut sum = 0.0;
        let mut node = bins;
        while node > 1 {
            let place = (edge % node) as f64 / node as f64;
            sum += place.min(1.0 - place).powi(2);
            node /= 2;
        }
        sum
    };
    (0..=bins).map(variance).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The rows of the map from counts to released values.
    fn matrix(bins: usize) -> Vec<Vec<f64>> {
        let column = |bin| {
            let mut counts = vec![0.0; bins];
            counts[bin] = 1.0;
            let mut values = vec![0.0; width(bins)];
            analyse(&counts, &mut values);
            values
        };
        let columns: Vec<Vec<f64>> = (0..bins).map(column).collect();
        let row = |row: usize| columns.iter().map(|column| column[row]).collect();
        (0..width(bins)).map(row).collect()
    }

    /// Brute force over every pair of bins.
    #[test]
    fn the_squared_sensitivity_is_the_largest_over_all_pairs_of_bins() {
        for bins in [2_usize, 4, 8, 16, 32, 64, 128] {
            let rows = matrix(bins);
            let mut largest = 0.0_f64;
            for a in 0..bins {
                for b in 0..bins {
                    let change = rows.iter().map(|row| (row[a] - row[b]).powi(2));
                    largest = largest.max(change.sum());
                }
            }
            assert_eq!(largest, squared_sensitivity(bins), "{bins}");
        }
    }

    proptest! {
        #[test]
        fn counts_come_back(levels in 1_u32..7, counts in prop::collection::vec(0_u32..50, 128)) {
            let bins = 1 << levels;
            let counts: Vec<f64> = counts[..bins].iter().map(|&c| f64::from(c)).collect();
            let mut values = vec![0.0; width(bins)];
            analyse(&counts, &mut values);
            let total = counts.iter().sum();
            let found = synthesise(&values, bins, total);
            for (found, count) in found.iter().zip(&counts) {
                prop_assert!((found - count).abs() < 1e-9);
            }
        }
    }

    /// The variance at each edge by pushing each unit of noise through the synthesis.
    #[test]
    fn edge_variances_match_the_synthesis() {
        for bins in [2_usize, 4, 32] {
            let mut expected = vec![0.0; bins + 1];
            for unit in 0..width(bins) {
                let mut values = vec![0.0; width(bins)];
                values[unit] = 1.0;
                let counts = synthesise(&values, bins, 0.0);
                let mut sum = 0.0;
                for (edge, count) in counts.iter().enumerate() {
                    sum += count;
                    expected[edge + 1] += sum * sum;
                }
            }
            for (found, expected) in edge_variance(bins).iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-12, "{bins}");
            }
        }
    }

    /// The comparison in the module's documentation: counts as they are have `(B^2 - 1) / (3 B)` in place of this.
    #[test]
    fn the_tree_is_better_than_counts_from_eight_bins_on() {
        let tree = |bins: usize| {
            let mean: f64 = edge_variance(bins).iter().sum::<f64>() / bins as f64;
            mean * squared_sensitivity(bins)
        };
        let counts = |bins: usize| 2.0 * ((bins * bins - 1) as f64) / (6.0 * bins as f64);
        assert!((tree(32) - 5.67).abs() < 0.01 && (counts(32) - 10.66).abs() < 0.01);
        assert!(tree(4) > counts(4));
        for bins in [8, 16, 32, 64, 128] {
            assert!(tree(bins) < counts(bins));
        }
    }
}
