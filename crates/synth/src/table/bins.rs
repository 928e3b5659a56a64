//! Groups the values of a column for counts of pairs, by the noisy counts of the column alone.

use crate::products::systematic;
use private_queries::NoisyCounts;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::smooth::smooth;

/// A group of bins has at least this many standard deviations of the noise on a bin.
const HEARD: f64 = 4.0;
/// A value with fewer standard deviations than this is rare and shares a group with the other rare values.
const RARE: f64 = 2.0;

/// The maximum number of categories of a column with separate groups: those of most records; the others share a group.
pub(super) const CATEGORIES: usize = 256;

/// The groups of the values of one column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bins {
    /// The group of each value.
    groups: Vec<u16>,
    /// The estimated number of records of each value, from noisy counts.
    counts: Vec<f64>,
    /// The number of groups.
    count: usize,
}

impl Bins {
    /// Groups the values of a column whose first `ordered` values are bins of a number, in order. If there are more than `most`
    /// bins, neighbours are joined until a group has one in `most` of the records. They are always joined until a group has more
    /// records than noise. Other values keep separate groups, except rare ones.
    pub fn of(noisy: &NoisyCounts, ordered: usize, most: f64) -> Self {
        let least = Self::least(noisy, ordered, most);
        Self::joining(noisy, ordered, least, RARE * noisy.deviation, CATEGORIES)
    }

    /// Groups a label's values as [`Bins::of`] does, but keeps all classes, because pairs are counted for each of them.
    pub(super) fn of_label(noisy: &NoisyCounts, ordered: usize, most: f64) -> Self {
        let least = Self::least(noisy, ordered, most);
        Self::joining(noisy, ordered, least, 0.0, usize::MAX)
    }

    /// Forms `groups` groups, or fewer, of equal numbers of records by exact counts.
    pub fn even(exact: &NoisyCounts, ordered: usize, groups: f64) -> Self {
        let all: f64 = exact.counts[..ordered].iter().sum();
        Self::joining(exact, ordered, all / groups, 0.0, CATEGORIES)
    }

    /// Returns the minimum number of records of a group of bins: one in `most` if there are more bins, and more than noise.
    fn least(noisy: &NoisyCounts, ordered: usize, most: f64) -> f64 {
        let counts = noisy.counts[..ordered].iter();
        let all: f64 = counts.map(|count| count.max(0.0)).sum();
        // With at most `most` bins, they are joined because of the noise alone.
        let share = if ordered as f64 > most {
            all / most
        } else {
            0.0
        };
        share.max(HEARD * noisy.deviation)
    }

    /// Groups bins until each group has `least` records. A value with fewer records than `rare` is rare; at most `alone` others
    /// have separate groups.
    fn joining(noisy: &NoisyCounts, ordered: usize, least: f64, rare: f64, alone: usize) -> Self {
        let cut: Vec<f64> = noisy.counts.iter().map(|count| count.max(0.0)).collect();
        let mut groups = vec![0; cut.len()];
        let all: f64 = cut[..ordered].iter().sum();
        let (mut group, mut sum, mut left) = (0, 0.0, all);
        for (place, &count) in cut[..ordered].iter().enumerate() {
            groups[place] = group;
            sum += count;
            left -= count;
            // The last group must exceed the noise too.
            if sum >= least && left >= RARE * noisy.deviation && place + 1 < ordered {
                group += 1;
                sum = 0.0;
            }
        }
        group += u16::from(ordered > 0);
        let is_rare = |&place: &usize| cut[place] < rare;
        let (rare, mut heard): (Vec<usize>, Vec<usize>) = (ordered..cut.len()).partition(is_rare);
        heard.sort_by(|&a, &b| cut[b].total_cmp(&cut[a]));
        let others = heard.split_off(alone.min(heard.len()));
        heard.sort_unstable();
        for &place in &heard {
            groups[place] = group;
            group += 1;
        }
        others.iter().for_each(|&place| groups[place] = group);
        group += u16::from(!others.is_empty());
        let mut counts = smooth(&noisy.counts[..ordered], noisy.deviation);
        counts.iter_mut().for_each(|count| *count = count.max(0.0));
        counts.extend(&cut[ordered..]);
        // The counts of rare values differ by noise.
        let mean = rare.iter().map(|&place| noisy.counts[place]).sum::<f64>() / rare.len() as f64;
        for &place in &rare {
            groups[place] = group;
            counts[place] = mean.max(0.0);
        }
        group += u16::from(!rare.is_empty());
        Self {
            groups,
            counts,
            count: group.into(),
        }
    }

    /// Returns the group of a value.
    pub fn group(&self, value: u16) -> u16 {
        self.groups[usize::from(value)]
    }

    /// Returns the number of groups.
    pub fn count(&self) -> usize {
        self.count
    }

    pub(super) fn values(&self) -> u16 {
        self.groups.len() as u16
    }

    /// Returns the noisy counts of the groups.
    pub(super) fn joined(&self, noisy: &NoisyCounts) -> NoisyCounts {
        let (mut counts, mut joined) = (vec![0.0; self.count], vec![0; self.count]);
        for (&group, count) in self.groups.iter().zip(&noisy.counts) {
            counts[usize::from(group)] += count;
            joined[usize::from(group)] += 1;
        }
        NoisyCounts {
            counts,
            joined,
            ..noisy.clone()
        }
    }

    /// Returns the number of groups of equal size that would have as many cells as these: `(sum sqrt p)^2`.
    pub(super) fn effective(&self) -> f64 {
        let mut sums = vec![0.0; self.count];
        for (&group, count) in self.groups.iter().zip(&self.counts) {
            sums[usize::from(group)] += count;
        }
        let all = sums.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let roots: f64 = sums.iter().map(|sum| (sum / all).sqrt()).sum();
        roots.powi(2).max(1.0)
    }

    /// Replaces groups by values in random order; within each group the values are in the proportions of the noisy counts.
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

/// Replaces the values of records by their groups.
///
/// - `codes`: the values, shape `[n, columns]` in rows; the result has the same shape.
pub fn grouped(codes: &[u16], bins: &[Bins]) -> Vec<u16> {
    let mut groups = codes.to_vec();
    for record in groups.chunks_exact_mut(bins.len()) {
        let values = record.iter_mut().zip(bins);
        values.for_each(|(code, bins)| *code = bins.group(*code));
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded;

    fn noisy(counts: &[f64]) -> NoisyCounts {
        NoisyCounts {
            columns: vec![0],
            counts: counts.to_vec(),
            deviation: 10.0,
            joined: Vec::new(),
        }
    }

    #[test]
    fn bins_are_joined_until_they_are_heard() {
        // Four bins of a number, a value of its own, and three categories of which two are rare.
        let noisy = noisy(&[30.0, 30.0, -4.0, 100.0, 500.0, 12.0, 3.0, 90.0]);
        let bins = Bins::of(&noisy, 4, 10.0);
        assert_eq!(bins.groups, [0, 0, 1, 1, 2, 4, 4, 3]);
        assert_eq!(bins.counts[5..7], [7.5, 7.5]);
        let joined = bins.joined(&noisy);
        assert_eq!(joined.counts, [60.0, 96.0, 500.0, 90.0, 15.0]);
        assert_eq!(joined.joined, [2, 2, 1, 1, 2]);
        // Classes of a label are never joined; a column of nothing but noise is one group.
        let label = Bins::of_label(&self::noisy(&[-3.0, 5.0, 1.0]), 0, 10.0);
        assert_eq!(label.groups, [0, 1, 2]);
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

    /// Of more categories than are counted in pairs those of most records are; the others follow their own counts.
    #[test]
    fn many_categories_stand_together() {
        let counts: Vec<f64> = (0..5000)
            .map(|place| {
                if place < 400 {
                    1000.0 + f64::from(place)
                } else {
                    0.0
                }
            })
            .collect();
        let bins = Bins::of(&noisy(&counts), 0, 10.0);
        assert_eq!(bins.count, CATEGORIES + 2);
        let (others, rare) = (bins.group(0), bins.group(400));
        assert!(others != rare && (0..144).all(|place| bins.group(place) == others));
        assert!((400..5000).all(|place| bins.group(place) == rare));
        let mut alone: Vec<u16> = (144..400).map(|place| bins.group(place)).collect();
        alone.dedup();
        assert!(alone.len() == CATEGORIES && !alone.contains(&others));
        assert_eq!(bins.counts[..144], counts[..144]);
        assert_eq!(Bins::of_label(&noisy(&counts), 0, 10.0).count, 5000);
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
        bins.spread(&mut places, &mut seeded());
        let count = |value| rows.iter().filter(|row| row[0] == value).count();
        assert_eq!([0, 1, 2, 3].map(count), [30, 10, 0, 40]);
    }

    #[test]
    fn effective_cells_are_those_of_equal_groups() {
        let bins = Bins::of(&noisy(&[100.0, 100.0, 100.0]), 0, 10.0);
        assert!((bins.effective() - 3.0).abs() < 1e-12);
        let bins = Bins::of(&noisy(&[10000.0, 25.0]), 0, 10.0);
        assert!(bins.effective() < 1.2);
    }
}
