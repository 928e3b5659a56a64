//! Samples records from a mixture of products, with counts as near to those of the mixture as whole records can be.

use rand::seq::SliceRandom;
use rand::{Rng, RngExt};

use super::Products;

impl Products {
    /// Samples `records` records systematically, `[records, columns]` in rows, in random order.
    ///
    /// Each pair of a component and a class has `a_kc n` records, rounded with one random offset for all. Within a component the
    /// values of each column have the counts of its distribution. What rounding leaves over is carried to the next component, so
    /// a column's counts differ from those of the mixture by less than 1 for each of its values, for any `K`. Which record of a
    /// component gets which value is random, so columns are independent there.
    pub(crate) fn sample(&self, records: usize, rng: &mut impl Rng) -> Vec<u16> {
        let classes = self.classes();
        let width = self.sizes.len() + usize::from(self.label.is_some());
        let width_of_values: usize = self.sizes.iter().sum();
        let mut rows = vec![0; records * width];
        // Records are in random order, so that a record's index does not reveal its component.
        let mut places: Vec<usize> = (0..records).collect();
        places.shuffle(rng);
        let weights: Vec<f64> = self.weights.iter().map(|&weight| weight.into()).collect();
        let counts = systematic(&weights, records, rng.random());
        let mut owed: Vec<Vec<f64>> = self.sizes.iter().map(|&size| vec![0.0; size]).collect();
        let mut done = 0;
        for (counts, values) in counts
            .chunks_exact(classes)
            .zip(self.values.chunks_exact(width_of_values))
        {
            let all: usize = counts.iter().sum();
            let mut own = places[done..done + all].to_vec();
            done += all;
            if let Some((label, _)) = self.label {
                let labels = counts
                    .iter()
                    .enumerate()
                    .flat_map(|(class, &count)| std::iter::repeat_n(class, count));
                for (&place, class) in own.iter().zip(labels) {
                    rows[place * width + label] = class as u16;
                }
            }
            let mut start = 0;
            for (j, (&size, owed)) in self.sizes.iter().zip(&mut owed).enumerate() {
                let column = j + usize::from(self.label.is_some_and(|(label, _)| label <= j));
                own.shuffle(rng);
                let counts = carried(&values[start..start + size], all, owed);
                let codes = counts
                    .iter()
                    .enumerate()
                    .flat_map(|(code, &count)| std::iter::repeat_n(code, count));
                for (&place, code) in own.iter().zip(codes) {
                    rows[place * width + column] = code as u16;
                }
                start += size;
            }
        }
        rows
    }
}

/// Divides `total` in proportion to `shares`, systematically: counts the whole numbers between the running sums of
/// `total * shares`, each plus one `offset` in `[0, 1)`. Each count differs from its share by less than 1. If all shares are 0,
/// they count as equal.
pub(crate) fn systematic(shares: &[f64], total: usize, offset: f64) -> Vec<usize> {
    let all: f64 = shares.iter().sum();
    let equal = 1.0 / shares.len().max(1) as f64;
    let (mut sum, mut before) = (0.0, 0);
    let last = shares.len().saturating_sub(1);
    let count = |(place, share): (usize, &f64)| {
        sum += total as f64 * if all > 0.0 { share / all } else { equal };
        let until = match place == last {
            true => total,
            false => ((sum + offset).floor() as usize).clamp(before, total),
        };
        let count = until - before;
        before = until;
        count
    };
    shares.iter().enumerate().map(count).collect()
}

/// Divides `total` by a distribution and by the amounts `owed` to the values from before, and updates `owed`.
fn carried(shares: &[f32], total: usize, owed: &mut [f64]) -> Vec<usize> {
    let all: f64 = shares.iter().map(|&share| f64::from(share)).sum();
    for (owed, &share) in owed.iter_mut().zip(shares) {
        *owed += f64::from(share) / all * total as f64;
    }
    let mut counts: Vec<usize> = owed.iter().map(|owed| owed.max(0.0) as usize).collect();
    let mut sum: usize = counts.iter().sum();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    let left = |place: usize, counts: &[usize]| owed[place] - counts[place] as f64;
    order.sort_by(|&a, &b| left(b, &counts).total_cmp(&left(a, &counts)));
    // The sum is above the total only if some values were owed less than nothing.
    for &place in order.iter().rev().cycle() {
        if sum <= total {
            break;
        }
        if counts[place] > 0 {
            counts[place] -= 1;
            sum -= 1;
        }
    }
    for &place in order.iter().cycle() {
        if sum >= total {
            break;
        }
        counts[place] += 1;
        sum += 1;
    }
    for (owed, &count) in owed.iter_mut().zip(&counts) {
        *owed -= count as f64;
    }
    counts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha20Rng;

    use super::*;

    /// Two components that differ in all columns; the label is the second one.
    fn mixture() -> Products {
        Products {
            sizes: vec![2, 3],
            label: Some((1, 2)),
            weights: vec![0.35, 0.05, 0.1, 0.5],
            values: vec![0.9, 0.1, 0.2, 0.3, 0.5, 0.25, 0.75, 0.6, 0.4, 0.0],
        }
    }

    #[test]
    fn counts_of_a_sample_are_those_of_the_mixture() {
        let rng = &mut ChaCha20Rng::seed_from_u64(1);
        let (mixture, n) = (mixture(), 997);
        let rows = mixture.sample(n, rng);
        assert_eq!(rows.len(), 3 * n);
        for column in 0..3 {
            for (code, share) in mixture.column(column).into_iter().enumerate() {
                let found = rows.iter().skip(column).step_by(3);
                let found = found.filter(|&&found| usize::from(found) == code).count();
                let most = if column == 1 { 1.5 } else { 1.0 };
                let off = (found as f64 - share * n as f64).abs();
                assert!(off <= most, "{column} {code}: {found}");
            }
        }
    }

    /// Pairs are of components: here 0.4 0.9 0.5 of records are (0, _, 2), and none by the second one. Three deviations of a
    /// permutation: false alarms one in 370.
    #[test]
    fn columns_are_independent_within_components() {
        let rng = &mut ChaCha20Rng::seed_from_u64(2);
        let n = 100_000;
        let rows = mixture().sample(n, rng);
        let rows = rows.chunks_exact(3);
        let both = rows.filter(|row| row[0] == 0 && row[2] == 2).count() as f64;
        let deviation = (0.4 * n as f64 * 0.9 * 0.1 * 0.25).sqrt();
        let expected = 0.4 * 0.9 * 0.5 * n as f64;
        assert!(
            (both - expected).abs() < 3.0 * deviation,
            "{both} {expected}"
        );
    }

    proptest! {
        #[test]
        fn roundings_are_near_and_whole(shares in prop::collection::vec(0.001_f32..1.0, 1..20), total in 0_usize..500, offset in 0.0_f64..1.0) {
            let all: f32 = shares.iter().sum();
            let exact: Vec<f64> = shares.iter().map(|&share| share.into()).collect();
            let counts = systematic(&exact, total, offset);
            prop_assert_eq!(counts.iter().sum::<usize>(), total);
            for (count, share) in counts.iter().zip(&shares) {
                prop_assert!((*count as f64 - f64::from(share / all) * total as f64).abs() < 1.0 + 1e-3);
            }
            let mut owed = vec![0.0; shares.len()];
            let mut sums = vec![0; shares.len()];
            for _ in 0..5 {
                let counts = carried(&shares, total, &mut owed);
                prop_assert_eq!(counts.iter().sum::<usize>(), total);
                sums.iter_mut().zip(&counts).for_each(|(sum, count)| *sum += count);
            }
            for (sum, share) in sums.iter().zip(&shares) {
                prop_assert!((*sum as f64 - 5.0 * f64::from(share / all) * total as f64).abs() < 1.0 + 1e-2);
            }
        }
    }
}
