//! Ranges and categories that the schema leaves open, found by a share of the budget.

use dp_core::mechanism::NameCounts;
use dp_core::plan::{ReleaseNoise, TrainingPlan};
use private_queries::{Contingency, NoisyCounts};

use super::records::Records;
use crate::Releasing;

/// The releases that find ranges, by their names in the plan: bins between round numbers, then within the range that they say.
pub const RANGES: [&str; 2] = ["ranges", "narrower-ranges"];
/// The release that finds categories.
const CATEGORIES: &str = "categories";
/// Of the plan's delta, what lets the name of one record pass.
const DELTA: f64 = 0.1;
/// A bin of so many deviations of the noise has records: of 500 bins without any, one does in 60 tables.
const HEARD: f64 = 4.0;

/// The plan with the releases that find what is open, by this `share` of its budget, in parts as there are columns.
pub(super) fn planned(plan: TrainingPlan, records: &Records, share: f64) -> TrainingPlan {
    if !records.is_open() {
        return plan;
    }
    let [numbers, categories] = records.open().map(|open| open.len() as f64);
    let each = share / (numbers + categories);
    let mut plan = plan;
    if numbers > 0.0 {
        for name in RANGES {
            plan = plan.and(name, ReleaseNoise::Share(0.5 * each * numbers));
        }
    }
    if categories > 0.0 {
        let noise = ReleaseNoise::Threshold {
            share: each * categories,
            delta: DELTA * plan.delta,
        };
        plan = plan.and(CATEGORIES, noise);
    }
    plan
}

/// What was found.
pub(super) struct Found {
    /// The schema with it, as text; none if nothing was open.
    pub schema: Option<String>,
    /// Columns of which noise has left nothing.
    pub drowned: Vec<String>,
}

/// Finds what the schema leaves open.
pub(super) fn find<R: Releasing>(records: &mut Records, by: &mut R) -> Result<Found, R::Error> {
    let [numbers, categories] = records.open();
    let mut drowned = Vec::new();
    let most = records.most_per_unit();
    for name in RANGES {
        if numbers.is_empty() {
            break;
        }
        let (sizes, ordered) = (records.sizes(), records.ordered());
        let of = |number: &String| records.columns().iter().position(|c| c.name == *number);
        let places: Vec<usize> = numbers.iter().filter_map(of).collect();
        let share = 1.0 / places.len() as f64;
        let tables = places.iter().map(|&place| (vec![place], share));
        let query = Contingency::new(sizes, tables).map_err(|e| R::failed(e.into()))?;
        let query = query.of_units(most);
        let noisy = by.release(name, &query, || records.measured(&query, None))?;
        let mut bins = Vec::new();
        for ((noisy, &place), number) in noisy.iter().zip(&places).zip(&numbers) {
            let (range, silent) = heard(noisy, ordered[place]);
            bins.push(range);
            if silent && !drowned.contains(number) {
                drowned.push(number.clone());
            }
        }
        records.narrow(&bins).map_err(R::failed)?;
    }
    let mut names = Vec::new();
    if !categories.is_empty() {
        names = by.release_names(CATEGORIES, || Ok(NameCounts::new(records.names()?, most)))?;
        let found = categories.iter().zip(&names);
        let silent = found.filter(|(_, names)| names.is_empty());
        drowned.extend(silent.map(|(column, _)| column.clone()));
    }
    let schema = records.close(&names).map_err(R::failed)?;
    Ok(Found { schema, drowned })
}

/// The first and the last bin that the noise has not drowned, with one more on each side; if it has drowned all of them, the one
/// with the largest count, and true.
fn heard(noisy: &NoisyCounts, ordered: usize) -> ([usize; 2], bool) {
    let bins = &noisy.counts[..ordered];
    let is_heard = |count: &f64| *count > HEARD * noisy.deviation;
    let most = || {
        let order = |a: &usize, b: &usize| bins[*a].total_cmp(&bins[*b]);
        (0..ordered).max_by(order).unwrap_or(0)
    };
    let first = bins.iter().position(is_heard);
    let last = bins.iter().rposition(is_heard);
    let (first_bin, last_bin) = first.zip(last).unwrap_or_else(|| (most(), most()));
    let range = [
        first_bin.saturating_sub(1),
        (last_bin + 1).min(ordered.saturating_sub(1)),
    ];
    (range, first.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_of_bins_that_are_heard() {
        let mut noisy = NoisyCounts {
            columns: vec![0],
            counts: vec![9.0, -3.0, 41.0, 7.0, 300.0, 39.0, 900.0],
            deviation: 10.0,
            joined: Vec::new(),
        };
        // The last is no bin: a value of its own.
        assert_eq!(heard(&noisy, 6), ([1, 5], false));
        noisy.deviation = 100.0;
        assert_eq!(heard(&noisy, 6), ([3, 5], true));
        assert_eq!(heard(&noisy, 1), ([0, 0], true));
        noisy.deviation = 0.0;
        assert_eq!(heard(&noisy, 6), ([0, 5], false));
    }
}
