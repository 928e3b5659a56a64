//! Groups of records against exact divergences.

use dp_accountant::accounting::{
    Accountant, AccountingError, Event, GaussianAccountant, GdpCltAccountant, PldAccountant,
    RdpAccountant, Sampler, group_epsilon, zcdp_of,
};
use proptest::prelude::*;

use crate::accounting_properties::{gaussian, log_uniform};

fn pld() -> PldAccountant {
    PldAccountant::default()
}

/// The law of the number of sampled records of a group.
fn binomial(records: u32, rate: f64) -> Vec<f64> {
    let mut law = vec![1.0];
    for _ in 0..records {
        let mut next = vec![0.0; law.len() + 1];
        for (j, weight) in law.iter().enumerate() {
            next[j] += weight * (1.0 - rate);
            next[j + 1] += weight * rate;
        }
        law = next;
    }
    law
}

/// `E_Q (R - a)_+` and `E_Q (1 - a R)_+` for shifts by `shift(j)` with probabilities `law`, by the trapezoidal rule.
fn exact(law: &[f64], shift: impl Fn(usize) -> f64, epsilon: f64) -> [f64; 2] {
    const STEPS: i64 = 100_000;
    let furthest = (0..law.len()).map(&shift).fold(0.0, f64::max);
    let (low, high) = (-12.0, furthest + 12.0);
    let width = (high - low) / STEPS as f64;
    let mut sums = [0.0; 2];
    for k in 0..=STEPS {
        let x = low + k as f64 * width;
        let density = |at: f64| (-0.5 * (x - at).powi(2)).exp();
        let (q, p): (f64, f64) = (
            density(0.0),
            law.iter()
                .enumerate()
                .map(|(j, w)| w * density(shift(j)))
                .sum(),
        );
        sums[0] += (p - epsilon.exp() * q).max(0.0);
        sums[1] += (q - epsilon.exp() * p).max(0.0);
    }
    sums.map(|sum| sum * width / (2.0 * std::f64::consts::PI).sqrt())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    /// One step on a Poisson sample is the larger of both directions, and not more.
    #[test]
    fn a_step_has_the_divergence_of_its_mixture(
        records in 2_u32..12, rate in log_uniform(1e-3, 0.9), z in 0.6_f64..20.0, epsilon in 0.0_f64..4.0,
    ) {
        let event = gaussian(z).sampled(Sampler::Poisson { rate }).of_groups(u64::from(records));
        let truth = exact(&binomial(records, rate), |j| j as f64 / z, epsilon);
        let truth = truth[0].max(truth[1]);
        let delta = pld().delta(&event, epsilon).expect("delta");
        prop_assert!(delta >= truth * (1.0 - 1e-7) - 1e-14, "{truth} {delta}");
        prop_assert!(delta <= truth * 1.01 + 1e-12, "{truth} {delta}");
    }

    /// Compositions keep the order of both bounds, grow with the group, and stay below the steps from record to record.
    #[test]
    fn groups_grow_and_stay_below_the_general_bound(
        records in 2_u64..6, rate in log_uniform(1e-3, 0.1), z in 1.0_f64..8.0, steps in 1_u64..300,
    ) {
        let event = gaussian(z).sampled(Sampler::Poisson { rate }).repeated(steps);
        let group = event.clone().of_groups(records);
        let (upper, lower) = (pld().epsilon(&group, 1e-6).expect("epsilon"), pld().epsilon_lower(&group, 1e-6).expect("epsilon"));
        prop_assert!(upper >= lower && upper - lower < 5e-4 * (1.0 + upper), "{upper} {lower}");
        let fewer = pld().epsilon(&event.clone().of_groups(records - 1), 1e-6).expect("epsilon");
        prop_assert!(fewer <= upper + 2e-4);
        // Steps that change one record each can say nothing smaller.
        let each = lower / records as f64;
        let sum: f64 = (0..records).map(|k| (k as f64 * each).exp()).sum();
        let general = sum * pld().delta(&event, each).expect("delta");
        prop_assert!(general >= 1e-6 * (1.0 - 1e-9), "{general}");
        prop_assert_eq!(group_epsilon(&pld(), &event, records, 1e-6), Ok(upper));
        prop_assert_eq!(
            pld().epsilon(&event.clone().of_groups(1), 1e-6),
            pld().epsilon(&event, 1e-6)
        );
    }

    /// Records that push in any directions of a plane do less than along one line.
    #[test]
    fn one_direction_is_the_worst(angles in prop::collection::vec(0.0_f64..6.3, 3), rate in 0.05_f64..0.6, z in 0.7_f64..3.0, epsilon in 0.0_f64..2.0) {
        const SIDE: i64 = 400;
        let subsets: Vec<(f64, f64, f64)> = (0..8_u32).map(|set| {
            let mut found = (1.0, 0.0, 0.0);
            for (j, angle) in angles.iter().enumerate() {
                let inside = set >> j & 1 == 1;
                found.0 *= if inside { rate } else { 1.0 - rate };
                if inside {
                    found.1 += angle.cos() / z;
                    found.2 += angle.sin() / z;
                }
            }
            found
        }).collect();
        let reach = 3.0 / z + 7.0;
        let width = 2.0 * reach / SIDE as f64;
        let mut sums = [0.0_f64; 2];
        for k in 0..SIDE * SIDE {
            let place = |k: i64| (k as f64 + 0.5) * width - reach;
            let (x, y) = (place(k % SIDE), place(k / SIDE));
            let density = |a: f64, b: f64| (-0.5 * ((x - a).powi(2) + (y - b).powi(2))).exp();
            let (q, p): (f64, f64) = (density(0.0, 0.0), subsets.iter().map(|s| s.0 * density(s.1, s.2)).sum());
            sums[0] += (p - epsilon.exp() * q).max(0.0);
            sums[1] += (q - epsilon.exp() * p).max(0.0);
        }
        let scale = width * width / (2.0 * std::f64::consts::PI);
        let event = gaussian(z).sampled(Sampler::PoissonZeroOut { rate }).of_groups(3);
        let delta = pld().delta(&event, epsilon).expect("delta");
        for sum in sums {
            // The rule's own error is of the second order in the width.
            prop_assert!(sum * scale <= delta * (1.0 + 1e-3) + 1e-5, "{} {delta}", sum * scale);
        }
    }
}

#[test]
fn without_samples_the_sensitivity_is_as_many_times_larger() {
    let four = |event: Event| event.of_groups(4);
    let epsilon = |event: Event| pld().epsilon(&event, 1e-6).unwrap();
    for (event, alike) in [
        (gaussian(8.0).repeated(3), gaussian(2.0).repeated(3)),
        (
            Event::Laplace {
                noise_multiplier: 8.0,
            },
            Event::Laplace {
                noise_multiplier: 2.0,
            },
        ),
        (Event::Pure { epsilon: 0.1 }, Event::Pure { epsilon: 0.4 }),
        (
            Event::ExponentialMechanism { epsilon: 0.1 },
            Event::ExponentialMechanism { epsilon: 0.4 },
        ),
        (
            gaussian(8.0).of_groups(2).repeated(2),
            gaussian(4.0 / 2.0).repeated(2).of_groups(1),
        ),
    ] {
        let twice = matches!(event, Event::SelfComposed { event: ref inner, .. } if matches!(**inner, Event::Group { .. }));
        let event = if twice {
            event.of_groups(2)
        } else {
            four(event)
        };
        assert!((epsilon(event) - epsilon(alike)).abs() < 1e-9);
    }
    let rho = zcdp_of(&four(Event::Zcdp { rho: 0.01 })).unwrap();
    assert!((rho - 0.16).abs() < 1e-12);
    let failing = four(Event::Failure { delta: 1e-7 });
    let delta = pld().delta(&failing, 1.0).unwrap();
    assert!((4e-7..4.001e-7).contains(&delta));
    assert_eq!(epsilon(four(Event::NonPrivate)), f64::INFINITY);
    let text = serde_json::to_string(&four(gaussian(8.0))).unwrap();
    assert_eq!(
        serde_json::from_str::<Event>(&text).unwrap(),
        four(gaussian(8.0))
    );
    assert!(text.contains(r#""type":"group","records":4"#), "{text}");
}

#[test]
fn elsewhere_records_change_one_by_one() {
    let fixed = Sampler::WithoutReplacementRate { rate: 0.05 };
    let steps = gaussian(3.0).sampled(fixed).repeated(40);
    let refused = pld()
        .epsilon(&steps.clone().of_groups(3), 1e-6)
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("groups of records") && refused.contains("group_epsilon"),
        "{refused}"
    );
    let three = group_epsilon(&pld(), &steps, 3, 1e-6).unwrap();
    let one = pld().epsilon(&steps, 1e-6).unwrap();
    assert!(3.0 * one < three && three < 5.0 * one, "{one} {three}");
    // The sum that it promises, at the epsilon of one record that it found.
    let (each, delta) = (three / 3.0, pld().delta(&steps, three / 3.0).unwrap());
    let sum = delta * (1.0 + each.exp() + (2.0 * each).exp());
    assert!((0.9e-6..=1.0001e-6).contains(&sum), "{sum}");
    // Where the exact answer is known it is smaller: Gaussian noise of all records, behind a partition of one part.
    let parts = Event::Parallel {
        partition: "one".into(),
        events: vec![gaussian(8.0)],
    };
    let general = group_epsilon(&pld(), &parts, 4, 1e-6).unwrap();
    let exact = pld().epsilon(&gaussian(2.0), 1e-6).unwrap();
    assert!(
        exact < general && general < 1.5 * exact,
        "{exact} {general}"
    );
    // A pure epsilon is as many times larger at any delta, and nothing is left of no privacy.
    let responses = Event::Pure { epsilon: 0.1 }.repeated(2);
    let pure = pld().epsilon(&responses, 0.0).unwrap();
    assert!(group_epsilon(&pld(), &responses, 3, 1e-9).unwrap() <= 3.0 * pure * (1.0 + 1e-9));
    assert_eq!(
        group_epsilon(&pld(), &responses, 3, 0.0).unwrap(),
        3.0 * pure
    );
    let open = Event::Parallel {
        partition: "one".into(),
        events: vec![Event::NonPrivate],
    };
    assert_eq!(group_epsilon(&pld(), &open, 2, 1e-6), Ok(f64::INFINITY));
    let many = gaussian(400.0).sampled(Sampler::Poisson { rate: 0.01 });
    assert!(group_epsilon(&pld(), &many, 200, 1e-6).unwrap().is_finite());
}

#[test]
fn what_has_no_pair_is_refused_by_name() {
    let poisson = || Sampler::Poisson { rate: 0.1 };
    let group = gaussian(2.0).sampled(poisson()).of_groups(3);
    let clt = GdpCltAccountant::poisson();
    for accountant in [&RdpAccountant as &dyn Accountant, &clt, &GaussianAccountant] {
        let refused = accountant.epsilon(&group, 1e-6).unwrap_err().to_string();
        assert!(refused.contains("use pld"), "{refused}");
    }
    for event in [
        Event::Laplace {
            noise_multiplier: 2.0,
        }
        .sampled(poisson())
        .of_groups(2),
        gaussian(2.0).of_groups(2).sampled(poisson()),
        Event::Parallel {
            partition: "one".into(),
            events: vec![gaussian(1.0)],
        }
        .of_groups(2),
        // The other way round too.
        Event::Parallel {
            partition: "one".into(),
            events: vec![gaussian(4.0).of_groups(2), gaussian(2.0).of_groups(2)],
        },
    ] {
        let refused = pld().epsilon(&event, 1e-6).unwrap_err();
        assert!(
            matches!(refused, AccountingError::NotCovered { .. }),
            "{refused}"
        );
    }
    let within = Event::Parallel {
        partition: "one".into(),
        events: vec![gaussian(1.0)],
    };
    assert!(
        pld()
            .epsilon(&within.sampled(poisson()).of_groups(2), 1e-6)
            .is_err()
    );
    for bad in [0, 1_000_001] {
        let refused = pld()
            .epsilon(&gaussian(2.0).of_groups(bad), 1e-6)
            .unwrap_err()
            .to_string();
        assert!(refused.contains(&format!("group is {bad}")), "{refused}");
        assert!(group_epsilon(&pld(), &gaussian(2.0), bad, 1e-6).is_err());
    }
    let large = gaussian(2e3).sampled(poisson()).of_groups(129);
    let refused = pld().epsilon(&large, 1e-6).unwrap_err().to_string();
    assert!(
        refused.contains("group is 129") && refused.contains("128"),
        "{refused}"
    );
    assert!(group_epsilon(&pld(), &gaussian(2.0), 2, -1.0).is_err());
}
