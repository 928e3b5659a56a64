//! Laws that the estimators keep over their whole range.

use crate::{AttackCounts, CanaryGuesses, Claim};
use dp_accountant::accounting::binomial::{
    lower_tail, proportion_lower, proportion_upper, upper_tail,
};
use proptest::prelude::*;

use super::log_uniform;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn tails_fill_each_other_and_fall(runs in 1..5_000_000_u64, share in 0.0..=1.0_f64, p in 0.0..=1.0_f64) {
        let hits = (share * runs as f64) as u64;
        let (upper, lower) = (upper_tail(hits + 1, runs, p), lower_tail(hits, runs, p));
        prop_assert!((upper + lower - 1.0).abs() < 1e-12, "{upper} {lower}");
        prop_assert!(upper_tail(hits, runs, p) >= upper);
    }

    #[test]
    fn a_proportion_lies_where_its_tail_says(runs in 1..5_000_000_u64, share in 0.0..=1.0_f64, rate in log_uniform(1e-9, 0.4)) {
        let hits = (share * runs as f64) as u64;
        let (low, high) = (proportion_lower(hits, runs, rate), proportion_upper(hits, runs, rate));
        let found = hits as f64 / runs as f64;
        prop_assert!((0.0..=found).contains(&low) && (found..=1.0).contains(&high));
        if hits > 0 {
            prop_assert!((upper_tail(hits, runs, low) / rate - 1.0).abs() < 1e-5);
        }
        if hits < runs {
            prop_assert!((lower_tail(hits, runs, high) / rate - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn counts_say_more_the_clearer_they_are(
        runs in 10..100_000_u64, share in 0.1..0.9_f64, alarms in 0.0..0.9_f64, delta in log_uniform(1e-12, 0.1),
    ) {
        let of = |share: f64| (share * runs as f64) as u64;
        let epsilon = |hits: u64, alarms: u64, confidence: f64| {
            let counts = AttackCounts::new((hits, runs), (alarms, runs)).unwrap();
            let plain = counts.lower_bound(delta, confidence).unwrap().epsilon;
            (plain, counts.gaussian_lower_bound(delta, confidence).unwrap().epsilon)
        };
        let (hits, alarms) = (of(share), of(alarms));
        let bound = epsilon(hits, alarms, 0.95);
        for more in [epsilon(hits + 1, alarms, 0.95), epsilon(hits, alarms.saturating_sub(1), 0.95), epsilon(hits, alarms, 0.9)] {
            prop_assert!(more.0 >= bound.0 * (1.0 - 1e-7) && more.1 >= bound.1 * (1.0 - 1e-7), "{more:?} {bound:?}");
        }
    }

    #[test]
    fn guesses_say_more_the_more_are_right(
        canaries in 2..3_000_u64, made in 0.01..=1.0_f64, right in 0.5..1.0_f64, delta in log_uniform(1e-12, 0.1),
    ) {
        let made = ((made * canaries as f64) as u64).max(1);
        let right = (right * made as f64) as u64;
        let epsilon = |right: u64, confidence: f64| {
            let found = CanaryGuesses::new(canaries, made, right).unwrap();
            let plain = found.lower_bound(delta, confidence).unwrap().epsilon;
            (plain, found.gaussian_lower_bound(delta, confidence).unwrap().epsilon)
        };
        let bound = epsilon(right, 0.95);
        for more in [epsilon((right + 1).min(made), 0.95), epsilon(right, 0.9)] {
            prop_assert!(more.0 >= bound.0 * (1.0 - 1e-6) && more.1 >= bound.1 * (1.0 - 1e-6), "{more:?} {bound:?}");
        }
    }

    #[test]
    fn a_weaker_claim_is_no_easier_to_refute(
        mu in log_uniform(0.01, 10.0), power in 0.0..=1.0_f64, right in 30..=100_u64,
    ) {
        let (claim, weaker) = (Claim::gaussian(mu).unwrap(), Claim::gaussian(1.1 * mu).unwrap());
        prop_assert!(weaker.least_level(power) <= claim.least_level(power) + 1e-15);
        prop_assert!(claim.least_level(power) <= power + 1e-15);
        let found = CanaryGuesses::new(200, 100, right).unwrap();
        prop_assert!(found.p_value(&weaker) >= found.p_value(&claim) * (1.0 - 1e-9));
    }
}
