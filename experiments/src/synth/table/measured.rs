//! What is measured of a table: its columns, then their pairs, and pairs with the label.

use private_queries::{Contingency, QueryError};

use super::bins::Bins;

/// The share of the budget (of `1/z^2`) that the columns alone get; the rest goes to pairs.
pub(super) const COLUMNS_SHARE: f64 = 0.1;
/// Of that rest, the share of pairs with the label.
const LABELLED: f64 = 2.0 / 3.0;
/// Within each of both, shares grow with this power of a table's effective cells.
const POWER: f64 = 0.33;

/// Each column alone, in equal shares.
pub(super) fn columns(sizes: &[usize]) -> Result<Contingency, QueryError> {
    let share = 1.0 / sizes.len().max(1) as f64;
    let tables = (0..sizes.len()).map(|column| (vec![column], share));
    Contingency::new(sizes, tables)
}

/// Every pair of columns, and every pair of the others with the label.
pub(super) fn pairs(bins: &[Bins], label: Option<usize>) -> Result<Contingency, QueryError> {
    let sizes: Vec<usize> = bins.iter().map(|bins| bins.count).collect();
    let effective: Vec<f64> = bins.iter().map(Bins::effective).collect();
    let all = (0..sizes.len()).flat_map(|second| (0..second).map(move |first| vec![first, second]));
    let pairs: Vec<Vec<usize>> = all.collect();
    let with_label: Vec<Vec<usize>> = match label {
        Some(label) => {
            let others = pairs.iter().filter(|pair| !pair.contains(&label));
            others.map(|pair| [&pair[..], &[label]].concat()).collect()
        }
        None => Vec::new(),
    };
    let labelled = if with_label.is_empty() { 0.0 } else { LABELLED };
    let mut tables = Vec::new();
    for (sets, share) in [(pairs, 1.0 - labelled), (with_label, labelled)] {
        let weight = |columns: &Vec<usize>| {
            let cells: f64 = columns.iter().map(|&column| effective[column]).product();
            cells.powf(POWER)
        };
        let weights: Vec<f64> = sets.iter().map(weight).collect();
        let all: f64 = weights.iter().sum();
        let shares = weights.into_iter().map(|weight| share * weight / all);
        tables.extend(sets.into_iter().zip(shares));
    }
    // A table of one column has no pairs: it is counted once more.
    if tables.is_empty() {
        return columns(&sizes);
    }
    Contingency::new(sizes, tables)
}

#[cfg(test)]
mod tests {
    use private_queries::{NoisyCounts, Query};

    use super::*;

    fn bins(sizes: &[usize]) -> Vec<Bins> {
        let of = |&size: &usize| {
            let noisy = NoisyCounts {
                columns: vec![0],
                counts: vec![100.0; size],
                deviation: 1.0,
                joined: Vec::new(),
            };
            Bins::of(&noisy, 0, 10.0)
        };
        sizes.iter().map(of).collect()
    }

    /// All shares are spent, and no more: one record moves weighted counts by the square root of 2.
    #[test]
    fn shares_are_of_one_budget() {
        for label in [None, Some(1)] {
            let query = pairs(&bins(&[3, 2, 4, 5]), label).expect("a query");
            let measured = query.measure(&[0, 0, 0, 0]).expect("counts");
            assert!((measured.sensitivity_upper() - 2.0_f64.sqrt()).abs() < 1e-6);
            let cells = 3 * 2 + 3 * 4 + 3 * 5 + 2 * 4 + 2 * 5 + 4 * 5;
            let with_label = 2 * (3 * 4 + 3 * 5 + 4 * 5);
            assert_eq!(query.len(), cells + label.map_or(0, |_| with_label));
        }
        assert_eq!(columns(&[3, 2]).expect("a query").len(), 5);
        assert_eq!(pairs(&bins(&[3]), Some(0)).expect("a query").len(), 3);
        assert_eq!(pairs(&bins(&[3, 2]), Some(0)).expect("a query").len(), 6);
    }
}
