//! The best way to divide the records of a leaf by one column.

use super::super::features::{Column, Features};
use super::histogram::Sums;

/// The least number of records of a leaf and the least sum of its second derivatives; below it the value is not sound.
const LEAST_RECORDS: u32 = 20;
const LEAST_HESSIAN: f64 = 1e-3;
/// The penalty on the squared values of leaves.
const L2: f64 = 1.0;
/// An amount added to the second derivatives of each category before categories are sorted, so that those of few
/// records are not at the ends by chance.
const SMOOTHING: f64 = 10.0;

/// A split that sends the records with some codes of one column to the left.
#[derive(Clone, PartialEq)]
pub(super) struct Split {
    pub(super) column: usize,
    /// Twice the decrease of the loss, up to second order.
    pub(super) gain: f64,
    /// For each code of the column, whether it goes left.
    pub(super) goes_left: Vec<bool>,
    pub(super) left: Sums,
}

/// Returns the value of a leaf that decreases the loss most.
pub(super) fn value(sums: Sums) -> f64 {
    -sums.gradient / (sums.hessian + L2)
}

fn score(sums: Sums) -> f64 {
    sums.gradient * sums.gradient / (sums.hessian + L2)
}

/// Returns the split of the largest gain, if there is one; the first of equals.
pub(super) fn best_split(features: &Features, histogram: &[Sums], total: Sums) -> Option<Split> {
    if total.records < 2 * LEAST_RECORDS {
        return None;
    }
    let mut best: Option<Split> = None;
    for (at, column) in features.columns().iter().enumerate() {
        let bins = &histogram[column.start..][..column.size];
        for order in orders(bins, column) {
            let least = best.as_ref().map_or(0.0, |split| split.gain);
            if let Some(threshold) = best_threshold(bins, &order, total, least) {
                let mut goes_left = vec![false; column.size];
                order[..threshold.codes]
                    .iter()
                    .for_each(|&code| goes_left[code] = true);
                best = Some(Split {
                    column: at,
                    gain: threshold.gain,
                    goes_left,
                    left: threshold.left,
                });
            }
        }
    }
    best
}

/// Returns the orders in which the codes of a column may be cut: first the ordered codes, then the others sorted by their
/// gradients, or the others first. No order holds a category too rare for a leaf, which goes right: its place would be
/// a matter of chance.
fn orders(bins: &[Sums], column: &Column) -> Vec<Vec<usize>> {
    let mut others: Vec<usize> = (column.ordered..column.size)
        .filter(|&code| bins[code].records >= LEAST_RECORDS)
        .collect();
    let slope = |code: usize| bins[code].gradient / (bins[code].hessian + SMOOTHING);
    others.sort_by(|&a, &b| slope(a).total_cmp(&slope(b)));
    let ordered = 0..column.ordered;
    if others.is_empty() || ordered.is_empty() {
        return vec![ordered.chain(others).collect()];
    }
    let before = others.iter().copied().chain(ordered.clone()).collect();
    vec![ordered.chain(others).collect(), before]
}

struct Threshold {
    codes: usize,
    gain: f64,
    left: Sums,
}

/// Returns the best number of leading codes of `order` to send left, if its gain is above `least`.
fn best_threshold(bins: &[Sums], order: &[usize], total: Sums, least: f64) -> Option<Threshold> {
    let (mut best, mut left) = (None, Sums::default());
    let mut bound = least + score(total);
    for (i, &code) in order.iter().enumerate() {
        if bins[code].records == 0 {
            continue;
        }
        left += bins[code];
        let right = total - left;
        if right.records < LEAST_RECORDS {
            break;
        }
        if left.records < LEAST_RECORDS || left.hessian.min(right.hessian) < LEAST_HESSIAN {
            continue;
        }
        let both = score(left) + score(right);
        if both > bound {
            bound = both;
            best = Some(Threshold {
                codes: i + 1,
                gain: both - score(total),
                left,
            });
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::histogram::{Derivatives, histogram};
    use super::*;
    use crate::CodedRecords;

    fn sums(codes: &[u16], derivatives: &[Derivatives], goes_left: &[bool]) -> Sums {
        let both = codes.iter().zip(derivatives);
        let left = both.filter(|(code, _)| goes_left[usize::from(**code)]);
        left.fold(Sums::default(), |all, (_, &d)| all + Sums::from(d))
    }

    /// The gain of the split that is found, and the largest of these divisions; `0` of one that leaves too few on a side.
    fn gains(gradients: &[i8], sizes: [usize; 2], divisions: &[Vec<bool>]) -> [f64; 2] {
        let codes: Vec<u16> = (0..gradients.len())
            .map(|i| (i % sizes[0]) as u16)
            .collect();
        let derivative = |&g: &i8| [f32::from(g) / 8.0, 0.25];
        let derivatives: Vec<Derivatives> = gradients.iter().map(derivative).collect();
        let with_label: Vec<u16> = codes.iter().flat_map(|&c| [c, 0]).collect();
        let (all, ordered) = ([sizes[0], 1], [sizes[1], 0]);
        let table = CodedRecords::new(&with_label, &all, &ordered).unwrap();
        let features = Features::of(&table, 1);
        let rows: Vec<u32> = (0..gradients.len() as u32).collect();
        let total = sums(&codes, &derivatives, &vec![true; sizes[0]]);
        let found = best_split(&features, &histogram(&features, &derivatives, &rows), total);
        let gain = |goes_left: &Vec<bool>| {
            let left = sums(&codes, &derivatives, goes_left);
            let right = total - left;
            let few = left.records.min(right.records) < LEAST_RECORDS;
            if few {
                0.0
            } else {
                score(left) + score(right) - score(total)
            }
        };
        let best = divisions.iter().map(gain).fold(0.0, f64::max);
        [found.map_or(0.0, |s| s.gain), best]
    }

    proptest! {
        /// Fisher 1958: with the same second derivative a record, no division of categories is better than the best
        /// cut of them in the order of their mean gradients. Smoothing is no matter where all have as many records.
        #[test]
        fn no_division_of_categories_is_better(gradients in prop::collection::vec(-8_i8..8, 100)) {
            let all = (1_u32..31).map(|set| (0..5).map(|code| set >> code & 1 == 1).collect());
            let [found, best] = gains(&gradients, [5, 0], &all.collect::<Vec<_>>());
            prop_assert!((found - best).abs() < 1e-9);
        }

        /// Codes in order are cut in that order; the last code, of missing values, is at either side.
        #[test]
        fn an_order_is_kept(gradients in prop::collection::vec(-8_i8..8, 120)) {
            let cut = |last| [false, true].map(|missing| {
                (0..6).map(|code| if code < 5 { code <= last } else { missing }).collect()
            });
            let [found, best] = gains(&gradients, [6, 5], &(0..5).flat_map(cut).collect::<Vec<_>>());
            prop_assert!((found - best).abs() < 1e-9);
        }
    }
}
