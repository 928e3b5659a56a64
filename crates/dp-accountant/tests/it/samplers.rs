//! The samplers: distinct, in range, of the right size, and uniform.

use dp_accountant::DpError;
use dp_accountant::sampling::{Sampler, split_batch};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

/// Pearson's statistic of equally likely cells.
fn chi_square(counts: &[u64]) -> f64 {
    let expected = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let square = |&count: &u64| (count as f64 - expected).powi(2);
    counts.iter().map(square).sum::<f64>() / expected
}

/// Each set of 3 out of 7 records equally often.
///
/// The 35 sets are the cells of independent draws, so the statistic is chi-square with 34 degrees of
/// freedom; 84.06 is its upper quantile at 4e-6 (from mpmath's incomplete gamma function): a right
/// sampler fails for one seed in 250000, and the seed is fixed.
#[test]
fn each_set_is_equally_likely() {
    let sampler = Sampler::fixed_size(7, 3).unwrap();
    let mut generator = ChaCha20Rng::seed_from_u64(1);
    let mut counts = vec![0; 1 << 7];
    for _ in 0..35_000 {
        let set: usize = sampler.sample(1, &mut generator)[0]
            .iter()
            .map(|i| 1 << i)
            .sum();
        counts[set] += 1;
    }
    let counts: Vec<u64> = counts.into_iter().filter(|&count| count > 0).collect();
    assert_eq!(counts.len(), 35);
    let statistic = chi_square(&counts);
    assert!(statistic < 84.06, "{statistic}");
}

/// Each record equally often, at the size of a real batch.
///
/// Draws without replacement: (n - 1)/(n - b) times Pearson's statistic of the records' counts is
/// close to chi-square with n - 1 = 999 degrees of freedom; 1211.4 is its upper quantile at 4e-6
/// (from mpmath, as above).
#[test]
fn each_record_is_equally_likely() {
    let (records, batch) = (1000, 300);
    let sampler = Sampler::fixed_size(records, batch).unwrap();
    let mut generator = ChaCha20Rng::seed_from_u64(2);
    let mut counts = vec![0; records];
    for _ in 0..4000 {
        for index in sampler.sample(1, &mut generator).concat() {
            counts[index] += 1;
        }
    }
    let correction = (records - 1) as f64 / (records - batch) as f64;
    let statistic = correction * chi_square(&counts);
    assert!(statistic < 1211.4, "{statistic}");
}

/// Successive batches are independent: the overlap of two has the hypergeometric mean b^2 / n.
///
/// 2000 overlaps, mean 10, variance b^2 (n - b)^2 / (n^2 (n - 1)) = 8.11: the mean of them has
/// standard deviation 0.0637, and 4.6 of those is a false alarm for one seed in 240000.
#[test]
fn batches_are_fresh() {
    let sampler = Sampler::fixed_size(1000, 100).unwrap();
    let mut generator = ChaCha20Rng::seed_from_u64(3);
    let mut overlap = 0;
    for _ in 0..2000 {
        let (first, second) = (
            sampler.sample(1, &mut generator).concat(),
            sampler.sample(2, &mut generator).concat(),
        );
        overlap += first
            .iter()
            .filter(|i| second.binary_search(i).is_ok())
            .count();
    }
    let mean = overlap as f64 / 2000.0;
    assert!((mean - 10.0).abs() < 4.6 * 0.0637, "{mean}");
}

/// Each record at the rate, and batches of the size that independent draws have.
///
/// 4000 batches of 500 records at rate 0.1. Each record's count is binomial, so Pearson's statistic
/// over counts of in and out is close to chi-square with 500 degrees of freedom: 654.2 is above its upper
/// quantile at 4e-6 (Wilson and Hilferty's approximation). The mean size is 50 with a standard deviation
/// of sqrt(45 / 4000) = 0.106; the mean square of its deviation is 45 with one of about 45 sqrt(2 / 4000)
/// = 1.006; 4.6 of these is a false alarm for one seed in 240000 each.
#[test]
fn poisson_sampling_draws_each_record_at_the_rate() {
    let (records, rate, turns) = (500, 0.1, 4000);
    let sampler = Sampler::poisson_zero_out(records, rate).unwrap();
    let mut generator = ChaCha20Rng::seed_from_u64(4);
    let mut counts = vec![0_u32; records];
    let (mut sizes, mut squares) = (0.0, 0.0);
    for _ in 0..turns {
        let batch = sampler.sample(1, &mut generator).concat();
        assert!(batch.windows(2).all(|pair| pair[0] < pair[1]));
        let size = batch.len() as f64;
        sizes += size;
        squares += (size - 50.0).powi(2);
        for index in batch {
            counts[index] += 1;
        }
    }
    let variance = f64::from(turns) * rate * (1.0 - rate);
    let square = |&count: &u32| (f64::from(count) - f64::from(turns) * rate).powi(2) / variance;
    let statistic: f64 = counts.iter().map(square).sum();
    assert!(statistic < 654.2, "{statistic}");
    let (mean, spread) = (sizes / f64::from(turns), squares / f64::from(turns));
    assert!((mean - 50.0).abs() < 4.6 * 0.106, "{mean}");
    assert!((spread - 45.0).abs() < 4.6 * 1.006, "{spread}");
}

#[test]
fn poisson_sampling_at_its_ends() {
    let mut generator = ChaCha20Rng::seed_from_u64(5);
    let all = Sampler::poisson_zero_out(7, 1.0).unwrap();
    assert_eq!(all.sample(1, &mut generator), [[0, 1, 2, 3, 4, 5, 6]]);
    let few = Sampler::poisson_zero_out(7, 1e-30).unwrap();
    assert_eq!(few.sample(1, &mut generator), [[0; 0]]);
    assert!(matches!(
        Sampler::poisson_zero_out(0, 0.5),
        Err(DpError::Empty { .. })
    ));
    for rate in [0.0, -0.1, 1.1, f64::NAN] {
        let error = Sampler::poisson_zero_out(7, rate).unwrap_err();
        assert!(error.to_string().contains("at most 1"), "{error}");
        let private = Sampler::poisson_add_remove(7, rate, 1.0).unwrap_err();
        assert_eq!(private.to_string(), error.to_string());
    }
    for divisor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = Sampler::poisson_add_remove(7, 0.5, divisor).unwrap_err();
        assert!(error.to_string().contains("positive and finite"), "{error}");
    }
}

/// A private number of records is seen by the draw alone, and may be 0: a refusal would tell it.
#[test]
fn a_private_number_of_records_is_shown_by_nothing() {
    let of = |records| Sampler::poisson_add_remove(records, 0.01, 600.0).unwrap();
    let shown = |sampler: Sampler| {
        let public = (sampler.records(), sampler.presumed_records());
        format!(
            "{sampler:?} {public:?} {:?} {:?}",
            sampler.expected_sizes(),
            sampler.distribution()
        )
    };
    assert_eq!(shown(of(0)), shown(of(60_001)));
    assert!(of(7).is_of(7) && !of(7).is_of(8));
    assert_eq!(
        of(0).sample(1, &mut ChaCha20Rng::seed_from_u64(5)),
        [[0; 0]]
    );
    let (private, public) = (
        Sampler::poisson_add_remove(500, 0.1, 1.0).unwrap(),
        Sampler::poisson_zero_out(500, 0.1).unwrap(),
    );
    let batch = private.sample(1, &mut ChaCha20Rng::seed_from_u64(5));
    assert_eq!(batch, public.sample(1, &mut ChaCha20Rng::seed_from_u64(5)));
}

/// One group of all records, and a rate of 1, draw as no group and no rate do.
#[test]
fn samplers_of_all_records_agree() {
    let sampled = |sampler: Sampler| sampler.sample(1, &mut ChaCha20Rng::seed_from_u64(6));
    let one = Sampler::stratified(vec![(0..50).collect()], &[5]).unwrap();
    assert_eq!(sampled(one), sampled(Sampler::fixed_size(50, 5).unwrap()));
    let all = sampled(Sampler::all(3).unwrap());
    assert_eq!(all, [[0, 1, 2]]);
    assert_eq!(sampled(Sampler::fixed_size(3, 3).unwrap()), all);
    assert_eq!(sampled(Sampler::poisson_zero_out(3, 1.0).unwrap()), all);
    assert!(Sampler::all(0).is_err());
}

#[test]
fn a_batch_is_split_by_the_largest_remainder() {
    assert_eq!(split_batch(10, &[5, 5, 5]).unwrap(), [4, 3, 3]);
    assert_eq!(split_batch(7, &[10, 20, 70]).unwrap(), [1, 1, 5]);
    let mnist = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949];
    let parts = split_batch(600, &mnist).unwrap();
    assert_eq!(parts, [59, 67, 60, 61, 58, 54, 59, 63, 59, 60]);
    assert_eq!(split_batch(15, &[5, 10]).unwrap(), [5, 10]);
}

#[test]
fn bad_batches_strata_and_splits_are_refused() {
    let batches = |records, batch| Sampler::fixed_size(records, batch).map(drop);
    let strata = |strata: &[&[usize]], batches: &[usize]| {
        let strata = strata.iter().map(|stratum| stratum.to_vec()).collect();
        Sampler::stratified(strata, batches).map(drop)
    };
    let split = |batch, sizes: &[usize]| split_batch(batch, sizes).map(drop);
    for (found, words) in [
        (batches(10, 11), "batch of 11"),
        (batches(10, 11), "1 to 10"),
        (batches(10, 0), "batch of 0"),
        (batches(0, 0), "batch of 0"),
        (batches(0, 1), "1 to 0"),
        (strata(&[], &[]), "empty"),
        (strata(&[&[1], &[]], &[1, 1]), "stratum 1"),
        (strata(&[&[1]], &[1, 1]), "2 batch sizes for 1 strata"),
        (strata(&[&[1], &[2, 3]], &[1, 3]), "stratum 1"),
        (strata(&[&[1]], &[0]), "batch of 0"),
        (strata(&[&[1, 2], &[3, 2]], &[1, 1]), "record 2 is in"),
        (strata(&[&[1, 2], &[3, 3]], &[1, 1]), "record 3 is in"),
        (split(1, &[]), "empty"),
        (split(1, &[2, 0]), "empty"),
        (split(0, &[10, 20]), "batch of 0"),
        (split(31, &[10, 20]), "batch of 31"),
        (split(10, &[1, 9999]), "stratum 0"),
    ] {
        let said = found.expect_err(words).to_string();
        assert!(said.contains(words), "{said}, not {words}");
    }
}

proptest! {
    #[test]
    fn samples_are_distinct_in_range_and_of_the_right_size(
        (records, batch) in (1_usize..3000).prop_flat_map(|n| (Just(n), 1..=n)),
        seed in any::<u64>(),
    ) {
        let sampler = Sampler::fixed_size(records, batch).unwrap();
        let mut generator = ChaCha20Rng::seed_from_u64(seed);
        let sample = sampler.sample(1, &mut generator).concat();
        prop_assert_eq!(sample.len(), batch);
        prop_assert!(sample.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(sample.iter().all(|&index| index < records));
        let again = sampler.sample(1, &mut ChaCha20Rng::seed_from_u64(seed)).concat();
        prop_assert_eq!(sample, again);
    }

    #[test]
    fn strata_are_sampled_at_their_own_sizes(
        sizes in prop::collection::vec((1_usize..50).prop_flat_map(|n| (Just(n), 1..=n)), 1..8),
        seed in any::<u64>(),
    ) {
        // Interleaved, descending: no relation between a stratum and its indices.
        let mut strata: Vec<Vec<usize>> = vec![Vec::new(); sizes.len()];
        let mut next = 0;
        for turn in 0..50 {
            for (stratum, &(size, _)) in strata.iter_mut().zip(&sizes) {
                if turn < size {
                    stratum.insert(0, next);
                    next += 1;
                }
            }
        }
        let batches: Vec<usize> = sizes.iter().map(|&(_, batch)| batch).collect();
        let sampler = Sampler::stratified(strata.clone(), &batches).unwrap();
        let sample = sampler.sample(1, &mut ChaCha20Rng::seed_from_u64(seed));
        prop_assert_eq!(sample.len(), strata.len());
        for ((part, stratum), batch) in sample.iter().zip(&strata).zip(batches) {
            prop_assert_eq!(part.len(), batch);
            prop_assert!(part.windows(2).all(|pair| pair[0] > pair[1]));
            prop_assert!(part.iter().all(|index| stratum.contains(index)));
        }
    }

    #[test]
    fn splits_sum_to_the_batch_and_stay_within_one_of_their_share(
        sizes in prop::collection::vec(1_usize..10_000, 1..12),
        fraction in 0.0..=1.0_f64,
    ) {
        let total: usize = sizes.iter().sum();
        let batch = ((total as f64 * fraction) as usize).max(1);
        if let Ok(parts) = split_batch(batch, &sizes) {
            prop_assert_eq!(parts.iter().sum::<usize>(), batch);
            for (&part, &size) in parts.iter().zip(&sizes) {
                let share = batch as f64 * size as f64 / total as f64;
                prop_assert!((1..=size).contains(&part));
                prop_assert!((part as f64 - share).abs() < 1.0);
            }
        }
    }
}
