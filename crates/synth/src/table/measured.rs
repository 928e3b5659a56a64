//! The queries of a table: columns, then pairs of columns, and pairs with the label.

use private_queries::{Contingency, QueryError};

use super::bins::Bins;

/// The share of the budget (of `1/z^2`) for single columns; the rest is for pairs.
pub(super) const COLUMNS_SHARE: f64 = 0.2;
/// The share of that rest for pairs with the label: in a copy all pairs count, and for a model of the label those with it do.
const LABELLED: [f64; 2] = [2.0 / 3.0, 0.95];
/// Within columns, pairs, and pairs with the label, shares grow with this power of a table's cells.
const POWER: f64 = 0.33;

/// What the releases of a table are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// A copy, which has the counts of all pairs of columns.
    Copy,
    /// A model of the label. Counts of pairs with the label say what counts of pairs do, so these get a twentieth.
    Model,
}

impl Aim {
    fn labelled(self) -> f64 {
        LABELLED[self as usize]
    }
}

/// Returns what a record weighs in the counts of all pairs with the label together, in their deviations times the noise multiplier: these
/// counts have a share of the budget, and a record that is replaced moves two of a table.
pub(super) fn of_label() -> f64 {
    ((1.0 - COLUMNS_SHARE) * Aim::Model.labelled() / 2.0).sqrt()
}

/// Returns the query of each single column.
pub(super) fn columns(sizes: &[usize]) -> Result<Contingency, QueryError> {
    let cells: Vec<f64> = sizes.iter().map(|&size| size as f64).collect();
    let alone = (0..sizes.len()).map(|column| vec![column]).collect();
    Contingency::new(sizes, shared(alone, &cells, 1.0))
}

/// Divides `share` among tables of these `sets` of columns; `cells` gives the number of cells of each column.
fn shared(sets: Vec<Vec<usize>>, cells: &[f64], share: f64) -> Vec<(Vec<usize>, f64)> {
    let of = |set: &Vec<usize>| set.iter().map(|&column| cells[column]).product::<f64>();
    let weights: Vec<f64> = sets.iter().map(|set| of(set).powf(POWER)).collect();
    let all: f64 = weights.iter().sum();
    let shares = weights.into_iter().map(|weight| share * weight / all);
    sets.into_iter().zip(shares).collect()
}

/// Returns the query of every pair of columns, and of every pair of the others with the label.
pub(super) fn pairs(
    bins: &[Bins],
    label: Option<usize>,
    aim: Aim,
) -> Result<Contingency, QueryError> {
    let sizes: Vec<usize> = bins.iter().map(Bins::count).collect();
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
    let labelled = if with_label.is_empty() {
        0.0
    } else {
        aim.labelled()
    };
    let mut tables = shared(pairs, &effective, 1.0 - labelled);
    tables.extend(shared(with_label, &effective, labelled));
    // A table of one column has no pairs, so its column is counted once more.
    if tables.is_empty() {
        return columns(&sizes);
    }
    Contingency::new(sizes, tables)
}

/// Estimates the standard deviation of the noise on each count of a pair of columns in a copy, in records:
/// `z sqrt(2 p / (1 - s)) / sqrt(1 - l)`, with noise multiplier `z`, `p` pairs, the share `s` of single columns, and the share
/// `l` of pairs with the label, 0 without one. Pairs with many cells have less noise, those with few have more.
pub fn pair_noise(columns: usize, labelled: bool, noise_multiplier: f64) -> f64 {
    let pairs = (columns * columns.saturating_sub(1) / 2).max(1) as f64;
    let rest = match labelled && columns > 2 {
        true => 1.0 - Aim::Copy.labelled(),
        false => 1.0,
    };
    noise_multiplier * (2.0 * pairs / rest / (1.0 - COLUMNS_SHARE)).sqrt()
}

#[cfg(test)]
mod tests {
    use dp_core::mechanism::NoisyVector;
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
        for (label, aim) in [
            (None, Aim::Copy),
            (Some(1), Aim::Copy),
            (Some(1), Aim::Model),
        ] {
            let query = pairs(&bins(&[3, 2, 4, 5]), label, aim).expect("a query");
            let measured = query.measure(&[0, 0, 0, 0]).expect("counts");
            assert!((measured.sensitivity_upper() - 2.0_f64.sqrt()).abs() < 1e-6);
            let cells = 3 * 2 + 3 * 4 + 3 * 5 + 2 * 4 + 2 * 5 + 4 * 5;
            let with_label = 2 * (3 * 4 + 3 * 5 + 4 * 5);
            assert_eq!(query.len(), cells + label.map_or(0, |_| with_label));
        }
        assert_eq!(columns(&[3, 2]).expect("a query").len(), 5);
        assert_eq!(
            pairs(&bins(&[3]), Some(0), Aim::Model)
                .expect("a query")
                .len(),
            3
        );
        assert_eq!(
            pairs(&bins(&[3, 2]), Some(0), Aim::Model)
                .expect("a query")
                .len(),
            6
        );
    }

    /// Pairs of equal sizes have the noise that is said before they are released.
    #[test]
    fn noise_of_pairs_is_known_before_them() {
        for label in [None, Some(2)] {
            let query = pairs(&bins(&[4; 5]), label, Aim::Copy).expect("a query");
            let measured = query.measure(&[0; 5]).expect("counts");
            let noisy = NoisyVector {
                values: measured.before_noise().to_vec(),
                deviation: 3.0 / (1.0 - COLUMNS_SHARE).sqrt() * measured.sensitivity_upper(),
            };
            let tables = query.read(&noisy).expect("tables");
            let said = pair_noise(5, label.is_some(), 3.0);
            assert!((tables[0].deviation / said - 1.0).abs() < 1e-6, "{said}");
        }
    }

    /// A column of many values has less noise on each of them than one of few.
    #[test]
    fn noise_is_less_where_values_are_many() {
        let query = columns(&[2, 256]).expect("a query");
        let measured = query.measure(&[0, 0]).expect("counts");
        assert!((measured.sensitivity_upper() - 2.0_f64.sqrt()).abs() < 1e-6);
        let noisy = NoisyVector {
            values: measured.before_noise().to_vec(),
            deviation: 1.0,
        };
        let tables = query.read(&noisy).expect("tables");
        let ratio = tables[0].deviation / tables[1].deviation;
        assert!(
            (ratio - 128.0_f64.powf(POWER / 2.0)).abs() < 1e-9,
            "{ratio}"
        );
    }
}
