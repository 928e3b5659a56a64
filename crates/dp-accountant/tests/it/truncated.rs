//! Poisson samples whose batches are cut, against exact divergences of few records.

use dp_accountant::accounting::binomial::upper_tail;
use dp_accountant::accounting::{Accountant, BatchDistribution, RdpAccountant};
use proptest::prelude::*;

use crate::common::{delta as delta_of, epsilon as epsilon_of, gaussian, replayed, within};

fn truncated(records: u64, rate: f64, largest: u64) -> BatchDistribution {
    BatchDistribution::PoissonTruncated {
        records,
        rate,
        largest,
    }
}

/// The law of the sum of a batch of at most `largest` of `values`, chosen uniformly among those sampled, as (sum, probability).
fn sums(values: &[f64], rate: f64, largest: u32) -> Vec<(f64, f64)> {
    let n = values.len();
    let chance = |set: u32| {
        let inside = set.count_ones();
        rate.powi(inside as i32) * (1.0 - rate).powi(n as i32 - inside as i32)
    };
    let mut law = Vec::new();
    for sampled in 0..1_u32 << n {
        let parts: Vec<u32> = match sampled.count_ones() > largest {
            false => vec![sampled],
            true => (0..1_u32 << n)
                .filter(|part| part & !sampled == 0 && part.count_ones() == largest)
                .collect(),
        };
        for part in &parts {
            let sum = (0..n)
                .filter(|j| part >> j & 1 == 1)
                .map(|j| values[j])
                .sum();
            law.push((sum, chance(sampled) / parts.len() as f64));
        }
    }
    law
}

/// Both hockey-stick divergences of two mixtures of normal distributions of deviation `z`, by the trapezoidal rule.
fn divergences(one: &[(f64, f64)], other: &[(f64, f64)], z: f64, epsilon: f64) -> [f64; 2] {
    const STEPS: i64 = 3000;
    let reach = one
        .iter()
        .chain(other)
        .map(|(sum, _)| sum.abs())
        .fold(0.0, f64::max)
        + 8.0 * z;
    let width = 2.0 * reach / STEPS as f64;
    let mut found = [0.0; 2];
    for k in 0..=STEPS {
        let x = k as f64 * width - reach;
        let density = |law: &[(f64, f64)]| -> f64 {
            law.iter()
                .map(|(sum, weight)| weight * (-0.5 * ((x - sum) / z).powi(2)).exp())
                .sum()
        };
        let (p, q) = (density(one), density(other));
        found[0] += (p - epsilon.exp() * q).max(0.0);
        found[1] += (q - epsilon.exp() * p).max(0.0);
    }
    found.map(|sum| sum * width / (z * (2.0 * std::f64::consts::PI).sqrt()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn no_small_data_set_exceeds_it(
        values in prop::collection::vec(-1.0_f64..=1.0, 3..6), rate in 0.02_f64..0.5, largest in 1_u32..5,
        z in 0.5_f64..3.0, epsilon in 0.0_f64..2.0, extreme in any::<bool>(),
    ) {
        let mut with = values.clone();
        if extreme {
            with.iter_mut().for_each(|value| *value = value.signum());
        }
        let mut blank = with.clone();
        blank[0] = 0.0;
        let event = gaussian(z).sampled(truncated(values.len() as u64, rate, u64::from(largest)));
        let delta = delta_of(&event, epsilon);
        for truth in divergences(&sums(&with, rate, largest), &sums(&blank, rate, largest), z, epsilon) {
            prop_assert!(truth <= delta * (1.0 + 1e-4) + 1e-6, "{truth} {delta}");
        }
    }
}

#[test]
fn delta_is_that_of_poisson_and_the_probability_that_a_batch_is_cut() {
    let steps = |sampler| gaussian(1.0).sampled(sampler).repeated(1000);
    let poisson = steps(BatchDistribution::PoissonZeroOut { rate: 0.01 });
    let (plain, epsilon) = (delta_of(&poisson, 3.0), epsilon_of(&poisson, 1e-5));
    for largest in [700, 750, 900] {
        let cut = steps(truncated(60_000, 0.01, largest));
        let tail = 1000.0 * upper_tail(largest, 59_999, 0.01);
        let expected = (plain + tail).min(1.0);
        within(delta_of(&cut, 3.0), expected, expected * (1.0 + 1e-8));
        let found = epsilon_of(&cut, 1e-5);
        match tail < 1e-5 {
            true => within(found, epsilon, epsilon * 1.05),
            false => assert!(found.is_infinite(), "{largest} {found}"),
        }
        assert!(RdpAccountant.epsilon(&cut, 1e-5).unwrap() >= found);
    }
    // Where no batch can be too large nothing is cut.
    let roomy = steps(truncated(60_000, 0.01, 60_000));
    assert_eq!(epsilon_of(&roomy, 1e-5), epsilon);
    // A group of k takes k places.
    let group = steps(truncated(60_000, 0.01, 750)).of_groups(4);
    let expected = 1000.0 * upper_tail(747, 59_996, 0.01) + delta_of(&poisson.of_groups(4), 20.0);
    within(delta_of(&group, 20.0) / expected, 1.0 - 1e-6, 1.0 + 1e-6);
    let alone = gaussian(9.0).sampled(truncated(100, 0.01, 3)).of_groups(4);
    assert_eq!(delta_of(&alone, 20.0), 1.0);
    let line = r#"{"event": {"type": "sampled", "sampler": {"kind": "poisson_truncated", "records": 60000, "rate": 0.01, "largest": 750}, "event": {"type": "gaussian", "noise_multiplier": 1.0}}, "count": 1000, "neighbours": "zero_out"}"#;
    let direct = epsilon_of(&steps(truncated(60_000, 0.01, 750)), 1e-5);
    assert_eq!(epsilon_of(&replayed(line), 1e-5), direct);
}

/// A rule of cutting may tell whose record is there: the failure that is added is no more than a ninth too large for it, and
/// a bound that counted one record more, or none, would be too small.
#[test]
fn a_batch_that_is_cut_may_tell_everything() {
    let (records, rate, largest, z, epsilon) = (6_i32, 0.9_f64, 5, 5.0, 1.0);
    let law = |own: f64| {
        let shared = records - 1;
        let ways = [1.0, 5.0, 10.0, 10.0, 5.0, 1.0];
        let mut law = Vec::new();
        for (count, ways) in (0..=shared).zip(ways) {
            let chance = ways * rate.powi(count) * (1.0 - rate).powi(shared - count);
            for (sampled, share) in [(1, rate), (0, 1.0 - rate)] {
                let sum = match count + sampled > largest {
                    true => 200.0 * (2.0 * own - 1.0),
                    false => own * f64::from(sampled),
                };
                law.push((sum, chance * share));
            }
        }
        law
    };
    let exact = divergences(&law(1.0), &law(0.0), z, epsilon);
    let exact = exact[0].max(exact[1]);
    let event = gaussian(z).sampled(truncated(records as u64, rate, largest as u64));
    let bound = delta_of(&event, epsilon);
    assert!(exact > 0.5 && exact <= bound, "{exact} {bound}");
    assert!(bound <= exact / 0.89, "{exact} {bound}");
}
