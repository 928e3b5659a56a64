//! Extremes answer or are refused by name; nothing hangs and nothing is NaN.

use dp_accountant::accounting::{
    Accountant, AccountingError, BatchDistribution, Event, GaussianAccountant, GdpCltAccountant,
    Neighbours, PldAccountant, RdpAccountant, Stratum, batch_for, noise_multiplier_for, steps_for,
};
use dp_accountant::ledger::{Entries, LedgerEntry, replay};

use crate::common::{
    composed, delta, epsilon, gaussian, laplace, parallel, pld, poisson, within,
    without_replacement,
};

fn all() -> Vec<Box<dyn Accountant>> {
    vec![
        Box::new(PldAccountant::default()),
        Box::new(GaussianAccountant),
        Box::new(RdpAccountant),
        Box::new(GdpCltAccountant::uniform()),
        Box::new(GdpCltAccountant::poisson()),
    ]
}

#[test]
fn every_corner_of_the_range_answers() {
    for rate in [1e-6, 0.01, 1.0] {
        for steps in [0, 1, 1_000_000] {
            for z in [0.2, 1.0, 1000.0] {
                for delta in [0.0, 1e-15, 1e-5, 0.5, 1.0] {
                    for sampler in [poisson(rate), without_replacement(rate)] {
                        let what = format!("{sampler:?} {steps} {z} {delta}");
                        let event = gaussian(z).sampled(sampler).repeated(steps);
                        for accountant in all() {
                            let is_pld = accountant.name() == PldAccountant::default().name();
                            match accountant.epsilon(&event, delta) {
                                Ok(epsilon) => {
                                    let infinite = steps > 0 && delta == 0.0;
                                    assert!(epsilon >= 0.0, "{what}");
                                    assert!(!is_pld || epsilon.is_infinite() == infinite, "{what}");
                                    assert!(!is_pld || steps > 0 || epsilon == 0.0, "{what}");
                                }
                                Err(error) => assert!(
                                    !is_pld && matches!(error, AccountingError::NotCovered { .. }),
                                    "{what} {error}"
                                ),
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn tiny_deltas_are_on_the_safe_side() {
    // One step has a closed form at any delta.
    let event = gaussian(0.8).sampled(without_replacement(0.02));
    for delta in [1e-15, 1e-50, 1e-150] {
        let inner = epsilon(&gaussian(0.8), delta / 0.02);
        let closed = (0.02 * inner.exp_m1()).ln_1p();
        let found = epsilon(&event.clone().repeated(1), delta);
        within(found, closed * (1.0 - 1e-9), closed * 1.001);
    }
    let error = pld().epsilon(&event, 1e-250).unwrap_err().to_string();
    assert!(error.contains("delta is 0.000"), "{error}");
}

#[test]
fn no_release_costs_nothing_and_no_noise_costs_everything() {
    let nothing = composed([]);
    let open = composed([gaussian(1.0), Event::NonPrivate]);
    for accountant in all() {
        for (event, delta, epsilon) in [
            (&nothing, 1e-5, 0.0),
            (&nothing, 0.0, 0.0),
            (&open, 1e-5, f64::INFINITY),
            (&Event::NonPrivate.repeated(0), 1e-5, 0.0),
        ] {
            assert_eq!(accountant.epsilon(event, delta), Ok(epsilon));
        }
        for (event, epsilon, delta) in [
            (&nothing, 0.0, 0.0),
            (&open, 3.0, 1.0),
            (&gaussian(1.0), f64::INFINITY, 0.0),
        ] {
            assert_eq!(accountant.delta(event, epsilon), Ok(delta));
        }
    }
}

#[test]
fn several_gaussian_releases_on_one_sample_are_one() {
    let sampled = |event: Event| event.sampled(without_replacement(0.05)).repeated(300);
    let z = (0.25_f64 + 1.0 / 9.0).sqrt().recip();
    let two = epsilon(&sampled(composed([gaussian(2.0), gaussian(3.0)])), 1e-6);
    let one = epsilon(&sampled(gaussian(z)), 1e-6);
    within(two / one, 1.0 - 1e-6, 1.0 + 1e-6);
}

#[test]
fn strata_count_by_their_largest_rate() {
    let strata = [(1000, 10), (500, 20)].map(|(records, batch)| Stratum { records, batch });
    let strata = BatchDistribution::Stratified {
        strata: strata.into(),
    };
    let event = gaussian(1.0).sampled(strata).repeated(50);
    assert_eq!(event.neighbours().unwrap(), Some(Neighbours::KEnd));
    let alone = epsilon(&Event::dp_sgd(500, 20, 50, 1.0), 1e-5);
    assert_eq!(epsilon(&event, 1e-5), alone);
}

#[test]
fn disjoint_groups_cost_the_worst_of_them() {
    let groups = |name, first, second| parallel(name, [gaussian(first), gaussian(second)]);
    let once = epsilon(&gaussian(1.0), 1e-5);
    assert_eq!(epsilon(&groups("class", 1.0, 2.0), 1e-5), once);
    // The same partition twice: a record is in the first group both times, or in the second.
    let same = composed([groups("class", 1.0, 50.0), groups("class", 50.0, 1.0)]);
    let other = composed([groups("class", 1.0, 50.0), groups("site", 50.0, 1.0)]);
    let same = epsilon(&same, 1e-5);
    assert!(same > once && same < once * 1.01, "{same} {once}");
    let twice = epsilon(&gaussian(1.0).repeated(2), 1e-5);
    within(epsilon(&other, 1e-5) - twice, -1e-9, 1e-9);
    // A record that may change its group is seen by two of them.
    let replace = composed([groups("class", 1.0, 2.0)]);
    assert_eq!(replace.neighbours().unwrap(), Some(Neighbours::KEnd));
}

#[test]
fn calibration_meets_its_target_or_names_the_nearest() {
    let pld = pld();
    for target in [0.1, 1.0, 8.0] {
        let event = |z| Event::dp_sgd(1000, 50, 100, z);
        let z = noise_multiplier_for(&pld, target, 1e-6, event).unwrap();
        assert!(epsilon(&event(z), 1e-6) <= target);
        assert!(epsilon(&event(z * 0.999), 1e-6) > target * 0.999);
    }
    let event = |steps| Event::dp_sgd(1000, 50, steps, 2.0);
    let steps = steps_for(&pld, 1.0, 1e-6, 1 << 20, event).unwrap();
    assert!(epsilon(&event(steps), 1e-6) <= 1.0 && epsilon(&event(steps + 1), 1e-6) > 1.0);
    let event = |batch| Event::dp_sgd(1000, batch, 100, 2.0);
    let batch = batch_for(&pld, 1.0, 1e-6, 1000, event).unwrap();
    assert!(epsilon(&event(batch), 1e-6) <= 1.0 && epsilon(&event(batch + 1), 1e-6) > 1.0);

    let hopeless = noise_multiplier_for(&pld, 1.0, 0.0, gaussian).unwrap_err();
    assert!(hopeless.to_string().contains("nearest"), "{hopeless}");
    let hopeless = steps_for(&pld, 1e-3, 1e-6, 10, |steps| gaussian(1.0).repeated(steps));
    assert!(matches!(
        hopeless,
        Err(AccountingError::CannotMeet { nearest: 1.0, .. })
    ));
    for target in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        assert!(noise_multiplier_for(&pld, target, 1e-6, gaussian).is_err());
    }
}

#[test]
fn a_ledger_replays_to_the_same_epsilon() {
    let (records, batch) = (2000, 100);
    let step = gaussian(1.1).sampled(BatchDistribution::WithoutReplacement { records, batch });
    let release = LedgerEntry {
        event: step,
        count: 1,
        neighbours: Neighbours::ReplaceOne,
        secret_noise: true,
        mechanism: None,
        sensitivity: None,
        deviation: None,
    };
    let line = serde_json::to_string(&release).unwrap();
    let text = format!("{line}\n").repeat(500);
    let torn = format!("{text}{}", &text[..40]);
    let found = Entries::parse(&torn).unwrap();
    assert_eq!(found.torn, vec![501]);
    let direct = epsilon(&Event::dp_sgd(2000, 100, 500, 1.1), 1e-5);
    assert_eq!(epsilon(&found.event().unwrap(), 1e-5), direct);
    let wrong = text.replacen("gaussian", "gaussien", 1);
    let error = Entries::parse(&wrong).unwrap_err().to_string();
    assert!(error.contains("ledger line 1"), "{error}");
    let claimed = LedgerEntry {
        neighbours: Neighbours::AddRemove,
        ..release
    };
    assert!(matches!(
        replay([&claimed]),
        Err(AccountingError::MixedNeighbours { .. })
    ));
}

#[test]
fn events_are_data() {
    let event = composed([
        Event::dp_sgd(60_000, 600, 5_000, 0.76),
        laplace(2.5),
        parallel("class", [gaussian(1.0), Event::NonPrivate]),
        gaussian(3.0).sampled(BatchDistribution::Stratified {
            strata: vec![Stratum {
                records: 10,
                batch: 2,
            }],
        }),
    ]);
    let text = serde_json::to_string(&event).unwrap();
    assert!(
        text.contains(
            r#""type":"sampled","sampler":{"kind":"without_replacement","records":60000"#
        )
    );
    assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
}

#[test]
fn laplace_noise_on_a_vector_is_dominated_by_one_coordinate() {
    // An l1 sensitivity of 1 spread over coordinates never tells more than all of it on one.
    for scale in [0.5, 2.0, 10.0] {
        for share in [0.1, 0.3, 0.5] {
            let spread = composed([laplace(scale / share), laplace(scale / (1.0 - share))]);
            for epsilon in [0.0, 0.3 / scale, 0.9 / scale] {
                let whole = delta(&laplace(scale), epsilon);
                let lower = pld().delta_lower(&spread, epsilon).unwrap();
                assert!(lower <= whole * (1.0 + 1e-9), "{scale} {share} {epsilon}");
            }
        }
    }
}

#[test]
fn clt_and_rdp_values_are_those_that_are_known_by_their_names() {
    let event = Event::dp_sgd(60_000, 600, 5_000, 0.758_895_763_754_0);
    let uniform = GdpCltAccountant::uniform().epsilon(&event, 1e-5).unwrap();
    let poisson = GdpCltAccountant::poisson().epsilon(&event, 1e-5).unwrap();
    let rdp = RdpAccountant.epsilon(&event, 1e-5).unwrap();
    assert!((uniform / 10.461_122 - 1.0).abs() < 1e-4, "{uniform}");
    assert!((poisson / 7.215_761 - 1.0).abs() < 1e-4, "{poisson}");
    assert!((rdp / 14.213_365 - 1.0).abs() < 1e-3, "{rdp}");
    assert!(!GdpCltAccountant::uniform().is_upper_bound());
    // With one step the limit is far from reached.
    let once = gaussian(0.787_836).sampled(without_replacement(0.0789));
    let claimed = GdpCltAccountant::uniform().epsilon(&once, 1e-7).unwrap();
    let truth = PldAccountant::default().epsilon_lower(&once, 1e-7).unwrap();
    assert!(claimed < 0.3 * truth, "{claimed} {truth}");
}
