//! Which values of a column stand together in counts of pairs, by the noisy counts of the column alone.

use private_queries::NoisyCounts;
use private_queries::products::systematic;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};

/// A group of bins has at least so many deviations of the noise on a bin.
const HEARD: f64 = 4.0;
/// A value with fewer deviations than this is rare, and stands together with the others that are.
const RARE: f64 = 2.0;

/// The groups of the values of one column.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bins {
    /// The group of each value.
    groups: Vec<u16>,
    /// What noisy counts say of how many records each value has.
    counts: Vec<f64>,
    /// How many groups there are.
    pub count: usize,
}

impl Bins {
    /// Of a column whose first `ordered` values are bins of a number, in order: neighbours among them are joined until a group
    /// has one in `most` of their records, and more than noise. Other values are kept, but for rare ones.
    pub(super) fn of(noisy: &NoisyCounts, ordered: usize, most: f64) -> Self {
        let counts: Vec<f64> = noisy.counts.iter().map(|count| count.max(0.0)).collect();
        let mut groups = vec![0; counts.len()];
        let all: f64 = counts[..ordered].iter().sum();
        let least = (all / most).max(HEARD * noisy.deviation);
        let (mut group, mut sum, mut left) = (0, 0.0, all);
        for (place, &count) in counts[..ordered].iter().enumerate() {
            groups[place] = group;
            sum += count;
            left -= count;
            // The last group must be heard too.
            if sum >= least && left >= RARE * noisy.deviation && place + 1 < ordered {
                group += 1;
                sum = 0.0;
            }
        }
        group += u16::from(ordered > 0);
        let is_rare = |&place: &usize| counts[place] < RARE * noisy.deviation;
        let rare: Vec<usize> = (ordered..counts.len()).filter(is_rare).collect();
        for place in ordered..counts.len() {
            if rare.len() < 2 || !is_rare(&place) {
                groups[place] = group;
                group += 1;
            }
        }
        if rare.len() >= 2 {
            rare.iter().for_each(|&place| groups[place] = group);
            group += 1;
        }
        let mut bins = Self {
            groups,
            counts,
            count: group.into(),
        };
        bins.shrink(noisy);
        bins
    }

    /// Draws the counts of a group to their mean as far as they differ by noise: by `v / (v + s^2)`, where `s^2` is the variance of
    /// the noise and `v` what that of noisy counts has beyond it (Efron and Morris 1973).
    fn shrink(&mut self, noisy: &NoisyCounts) {
        for group in 0..self.count {
            let own = |value: &usize| usize::from(self.groups[*value]) == group;
            let values: Vec<usize> = (0..self.groups.len()).filter(own).collect();
            let counts = values.iter().map(|&value| noisy.counts[value]);
            let mean = counts.clone().sum::<f64>() / values.len() as f64;
            let squares: f64 = counts.map(|count| (count - mean).powi(2)).sum();
            let noise = noisy.deviation.powi(2);
            let beyond = (squares / (values.len() as f64 - 1.0).max(1.0) - noise).max(0.0);
            let kept = if beyond > 0.0 {
                beyond / (beyond + noise)
            } else {
                0.0
            };
            for value in values {
                self.counts[value] = (mean + kept * (noisy.counts[value] - mean)).max(0.0);
            }
        }
    }

    /// The group of a value.
    pub(super) fn group(&self, value: u16) -> u16 {
        self.groups[usize::from(value)]
    }

    /// The noisy counts of the groups. Their deviation is that of a group of average size.
    pub(super) fn joined(&self, noisy: &NoisyCounts) -> NoisyCounts {
        let mut counts = vec![0.0; self.count];
        for (&group, count) in self.groups.iter().zip(&noisy.counts) {
            counts[usize::from(group)] += count;
        }
        let size = self.groups.len() as f64 / self.count as f64;
        NoisyCounts {
            columns: noisy.columns.clone(),
            counts,
            deviation: noisy.deviation * size.sqrt(),
        }
    }

    /// How many groups of equal size would have as many cells as these: `(sum sqrt p)^2`.
    pub(super) fn effective(&self) -> f64 {
        let mut sums = vec![0.0; self.count];
        for (&group, count) in self.groups.iter().zip(&self.counts) {
            sums[usize::from(group)] += count;
        }
        let all = sums.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let roots: f64 = sums.iter().map(|sum| (sum / all).sqrt()).sum();
        roots.powi(2).max(1.0)
    }

    /// Takes values in the place of groups: within each group as many of each value as the noisy counts have them, in random
    /// order.
    pub(super) fn spread(&self, groups: &mut [&mut u16], rng: &mut impl Rng) {
        let mut places: Vec<Vec<usize>> = vec![Vec::new(); self.count];
        for (place, group) in groups.iter().enumerate() {
            places[usize::from(**group)].push(place);
        }
        for (group, mut places) in places.into_iter().enumerate() {
            let own = |value: &usize| usize::from(self.groups[*value]) == group;
            let values: Vec<usize> = (0..self.groups.len()).filter(own).collect();
            let counts: Vec<f64> = values.iter().map(|&value| self.counts[value]).collect();
            places.shuffle(rng);
            let counts = systematic(&counts, places.len(), rng.random());
            let values = values.iter().zip(counts);
            let values = values.flat_map(|(&value, count)| std::iter::repeat_n(value, count));
            for (place, value) in places.into_iter().zip(values) {
                *groups[place] = value as u16;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    fn noisy(counts: &[f64]) -> NoisyCounts {
        NoisyCounts {
            columns: vec![0],
            counts: counts.to_vec(),
            deviation: 10.0,
        }
    }

    #[test]
    fn bins_are_joined_until_they_are_heard() {
        // Four bins of a number, a value of its own, and three categories of which two are rare.
        let noisy = noisy(&[30.0, 30.0, -4.0, 100.0, 500.0, 12.0, 3.0, 90.0]);
        let bins = Bins::of(&noisy, 4, 10.0);
        assert_eq!(bins.groups, [0, 0, 1, 1, 2, 4, 4, 3]);
        let joined = bins.joined(&noisy);
        assert_eq!(joined.counts, [60.0, 96.0, 500.0, 90.0, 15.0]);
        assert!((joined.deviation - 10.0 * 1.6_f64.sqrt()).abs() < 1e-12);
        // One rare value is alone all the same, and a column of nothing but noise is one group.
        assert_eq!(
            Bins::of(&self::noisy(&[100.0, 3.0]), 0, 10.0).groups,
            [0, 1]
        );
        assert_eq!(
            Bins::of(&self::noisy(&[-3.0, 5.0, 1.0]), 3, 10.0).groups,
            [0; 3]
        );
        assert_eq!(
            Bins::of(&self::noisy(&[-3.0, 5.0, 1.0]), 0, 10.0).groups,
            [0; 3]
        );
    }

    #[test]
    fn values_of_a_group_are_as_many_as_their_counts() {
        let exact = |counts: &[f64]| NoisyCounts {
            deviation: 0.0,
            ..noisy(counts)
        };
        let bins = Bins::of(&exact(&[30.0, 10.0, 0.0, 100.0]), 4, 3.5);
        assert_eq!(bins.groups, [0, 0, 1, 1]);
        let mut rows = [[0_u16; 1]; 80];
        rows[40..].fill([1]);
        let mut places: Vec<&mut u16> = rows.iter_mut().map(|row| &mut row[0]).collect();
        bins.spread(&mut places, &mut stream(1, 1));
        let count = |value| rows.iter().filter(|row| row[0] == value).count();
        assert_eq!([0, 1, 2, 3].map(count), [30, 10, 0, 40]);
    }

    /// Counts that differ by no more than their noise are taken for equal, and others as they are, nearly.
    #[test]
    fn noise_within_groups_is_drawn_to_the_mean() {
        let bins = Bins::of(&noisy(&[31.0, 21.0, 38.0, 30.0]), 4, 1.0);
        assert_eq!((bins.count, &bins.counts[..]), (1, &[30.0; 4][..]));
        let bins = Bins::of(&noisy(&[900.0, 100.0]), 2, 1.0);
        assert!((bins.counts[0] - 900.0).abs() < 1.0 && (bins.counts[1] - 100.0).abs() < 1.0);
    }

    #[test]
    fn effective_cells_are_those_of_equal_groups() {
        let bins = Bins::of(&noisy(&[100.0, 100.0, 100.0]), 0, 10.0);
        assert!((bins.effective() - 3.0).abs() < 1e-12);
        let bins = Bins::of(&noisy(&[10000.0, 25.0]), 0, 10.0);
        assert!(bins.effective() < 1.2);
    }
}
