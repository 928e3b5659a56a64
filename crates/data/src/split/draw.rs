use rand::SeedableRng;
use rand::seq::index;
use rand_chacha::ChaCha20Rng;

use crate::apportion::apportion;
use crate::sums::sum;

/// Samples the public half: `public` of `records` indices, ascending.
///
/// Without strata each set of that size is equally likely. With strata, a stratum of n_c records gives
/// `public` n_c / `records` of them, rounded down or up by the largest remainder, and each set of this
/// size within the stratum is equally likely.
pub(super) fn public_half(
    records: usize,
    public: usize,
    strata: Option<&[usize]>,
    seed: u64,
) -> Vec<usize> {
    let mut generator = generator(seed);
    let mut half = match strata {
        None => index::sample(&mut generator, records, public).into_vec(),
        Some(strata) => {
            let groups = by_stratum(strata);
            let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
            let mut half = Vec::with_capacity(public);
            for (group, share) in groups.iter().zip(apportion(public, &sizes)) {
                let places = index::sample(&mut generator, group.len(), share);
                half.extend(places.into_iter().map(|place| group[place]));
            }
            half
        }
    };
    half.sort_unstable();
    half
}

fn by_stratum(strata: &[usize]) -> Vec<Vec<usize>> {
    let mut groups = std::collections::BTreeMap::<usize, Vec<usize>>::new();
    for (index, &stratum) in strata.iter().enumerate() {
        groups.entry(stratum).or_default().push(index);
    }
    groups.into_values().collect()
}

/// Whether a row of a table is among the `share` of its rows that is public, by a hash of its number from 0
/// alone. So a row keeps its side for any content and number of the other rows and any seed of a run, and
/// a row that is public for one share is public for every larger share.
pub fn is_test_row(row: usize, share: f64) -> bool {
    let sum = sum([&b"sliver rows"[..], &(row as u64).to_le_bytes()]);
    let sum = u64::from_le_bytes(sum.as_chunks::<8>().0[0]);
    // The remainder comes first, so that a share of one row in five has the rows of remainder 0.
    let fifths = (sum % 5) as f64 + (sum / 5) as f64 / (u64::MAX / 5) as f64;
    fifths < 5.0 * share
}

/// Returns a generator that shares no randomness with others of the same seed.
fn generator(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::from_seed(sum([&b"sliver split"[..], &seed.to_le_bytes()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Golden, from Python's hashlib: a row that is public today is public for ever.
    #[test]
    fn a_rows_side_depends_on_its_number_alone() {
        let public = |share| {
            let rows = 0..10_000;
            rows.filter(|&row| is_test_row(row, share))
                .collect::<Vec<_>>()
        };
        let fifth = public(0.2);
        assert_eq!(fifth[..10], [2, 16, 22, 30, 41, 42, 43, 44, 46, 47]);
        assert_eq!(fifth.len(), 2064);
        // A larger share has the rows of a smaller one. Binomial(10 000, p) has a standard deviation of at most 50; the rows
        // are the same each time, so this cannot fail by chance.
        let mut before = Vec::new();
        for share in [0.01, 0.1, 0.2, 0.25, 0.5, 0.9] {
            let rows = public(share);
            assert!(before.iter().all(|row| rows.contains(row)), "{share}");
            let expected = 1e4 * share;
            assert!((rows.len() as f64 - expected).abs() < 250.0, "{share}");
            before = rows;
        }
    }

    /// 400 seeds, 20 of 40 records each: a record is public Binomial(400, 1/2) times, sd 10. 40 records
    /// at 5.2 sd, two draws: false alarm below 80 * 2e-7 = 1.6e-5.
    #[test]
    fn each_record_is_as_likely_public() {
        let strata: Vec<usize> = (0..40).map(|i| i % 4).collect();
        for strata in [None, Some(strata.as_slice())] {
            let mut times = [0_i32; 40];
            for seed in 0..400 {
                for index in public_half(40, 20, strata, seed) {
                    times[index] += 1;
                }
            }
            assert!(times.iter().all(|n| (n - 200).abs() <= 52), "{times:?}");
        }
    }
}
