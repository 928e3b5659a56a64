//! Extremes answer or are refused by name; nothing hangs and nothing is NaN.

use dp_accountant::accounting::{
    Accountant, AccountingError, Event, GaussianAccountant, GdpCltAccountant, GroupSize,
    Neighbours, PldAccountant, RdpAccountant, Sampler, batch_for, noise_multiplier_for, replay,
    steps_for,
};
use dp_accountant::ledger::{Entries, LedgerEntry};

use crate::accounting_properties::gaussian;

fn without_replacement(rate: f64) -> Sampler {
    Sampler::WithoutReplacementRate { rate }
}

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
                    for poisson in [false, true] {
                        let sampler = if poisson {
                            Sampler::Poisson { rate }
                        } else {
                            without_replacement(rate)
                        };
                        let event = gaussian(z).sampled(sampler).repeated(steps);
                        let what = format!("{rate} {steps} {z} {delta} {poisson}");
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
    for delta in [1e-15, 1e-50, 1e-150] {
        let event = gaussian(0.8).sampled(without_replacement(0.02)).repeated(1);
        let inner = GaussianAccountant
            .epsilon(&gaussian(0.8), delta / 0.02)
            .unwrap();
        let closed = (0.02 * inner.exp_m1()).ln_1p();
        let epsilon = PldAccountant::default().epsilon(&event, delta).unwrap();
        assert!(
            epsilon >= closed * (1.0 - 1e-9),
            "{delta}: {epsilon} {closed}"
        );
        assert!(epsilon <= closed * 1.001, "{delta}: {epsilon} {closed}");
    }
    let event = gaussian(0.8).sampled(without_replacement(0.02));
    let error = PldAccountant::default()
        .epsilon(&event, 1e-250)
        .unwrap_err();
    assert!(error.to_string().contains("delta is 0.000"), "{error}");
}

#[test]
fn no_release_costs_nothing_and_no_noise_costs_everything() {
    for accountant in all() {
        let nothing = Event::Composed { events: vec![] };
        assert_eq!(accountant.epsilon(&nothing, 1e-5).unwrap(), 0.0);
        assert_eq!(accountant.epsilon(&nothing, 0.0).unwrap(), 0.0);
        assert_eq!(accountant.delta(&nothing, 0.0).unwrap(), 0.0);
        let open = Event::Composed {
            events: vec![gaussian(1.0), Event::NonPrivate],
        };
        assert_eq!(accountant.epsilon(&open, 1e-5).unwrap(), f64::INFINITY);
        assert_eq!(accountant.delta(&open, 3.0).unwrap(), 1.0);
        assert_eq!(
            accountant.delta(&gaussian(1.0), f64::INFINITY).unwrap(),
            0.0
        );
        let never = Event::NonPrivate.repeated(0);
        assert_eq!(accountant.epsilon(&never, 1e-5).unwrap(), 0.0);
    }
}

#[test]
fn parameters_out_of_range_are_refused_by_name() {
    let pld = PldAccountant::default();
    let refused = |event: &Event, delta: f64, name: &str| {
        for accountant in all() {
            let error = accountant.epsilon(event, delta).unwrap_err().to_string();
            assert!(error.contains(name), "{}: {error}", accountant.name());
        }
    };
    for delta in [-1e-9, 1.5, f64::NAN] {
        refused(&gaussian(1.0), delta, "delta");
    }
    for z in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refused(&gaussian(z), 1e-5, "noise multiplier");
    }
    for rate in [0.0, -0.1, 1.1, f64::NAN] {
        refused(
            &gaussian(1.0).sampled(without_replacement(rate)),
            1e-5,
            "rate",
        );
        refused(
            &gaussian(1.0).sampled(Sampler::Poisson { rate }),
            1e-5,
            "rate",
        );
    }
    refused(&Event::dp_sgd(10, 11, 5, 1.0), 1e-5, "10 records");
    refused(&Event::dp_sgd(10, 0, 5, 1.0), 1e-5, "batch is 0");
    assert!(pld.delta(&gaussian(1.0), -1.0).is_err());
    assert!(pld.delta(&gaussian(1.0), f64::NAN).is_err());
    assert!(pld.trade_off(&gaussian(1.0), 1.1).is_err());
    let huge = gaussian(1.0).repeated(u64::MAX).repeated(3);
    assert!(matches!(
        pld.epsilon(&huge, 1e-5),
        Err(AccountingError::TooManySteps { .. })
    ));
}

#[test]
fn what_is_not_covered_is_refused_by_name() {
    let pld = PldAccountant::default();
    let fixed = gaussian(1.0).sampled(without_replacement(0.1));
    let poisson = gaussian(1.0).sampled(Sampler::Poisson { rate: 0.1 });
    let mixed = Event::Composed {
        events: vec![fixed.clone(), poisson],
    };
    assert!(matches!(
        pld.epsilon(&mixed, 1e-5),
        Err(AccountingError::MixedNeighbours { .. })
    ));
    let twice = fixed.clone().sampled(without_replacement(0.1));
    let error = pld.epsilon(&twice, 1e-5).unwrap_err().to_string();
    assert!(error.contains("sample of a sample"), "{error}");
    let error = GaussianAccountant
        .epsilon(&fixed, 1e-5)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("gaussian") && error.contains("use pld"),
        "{error}"
    );
    let laplace = Event::Laplace {
        noise_multiplier: 1.0,
    };
    assert!(GdpCltAccountant::uniform().epsilon(&laplace, 1e-5).is_err());
}

#[test]
fn several_gaussian_releases_on_one_sample_are_one() {
    let pld = PldAccountant::default();
    let sampled = |event: Event| event.sampled(without_replacement(0.05)).repeated(300);
    let pair = Event::Composed {
        events: vec![gaussian(2.0), gaussian(3.0)],
    };
    let z = (0.25_f64 + 1.0 / 9.0).sqrt().recip();
    let two = pld.epsilon(&sampled(pair), 1e-6).unwrap();
    let one = pld.epsilon(&sampled(gaussian(z)), 1e-6).unwrap();
    assert!((two / one - 1.0).abs() < 1e-6, "{two} {one}");
}

#[test]
fn groups_count_by_their_largest_rate() {
    let pld = PldAccountant::default();
    let groups = vec![
        GroupSize {
            records: 1000,
            batch: 10,
        },
        GroupSize {
            records: 500,
            batch: 20,
        },
    ];
    let event = gaussian(1.0)
        .sampled(Sampler::KEndGroups { groups })
        .repeated(50);
    assert_eq!(event.neighbours().unwrap(), Some(Neighbours::KEnd));
    let epsilon = pld.epsilon(&event, 1e-5).unwrap();
    assert_eq!(
        epsilon,
        pld.epsilon(&Event::dp_sgd(500, 20, 50, 1.0), 1e-5).unwrap()
    );
}

#[test]
fn disjoint_groups_cost_the_worst_of_them() {
    let pld = PldAccountant::default();
    let parallel = |name: &str, first: f64, second: f64| Event::Parallel {
        partition: name.into(),
        events: vec![gaussian(first), gaussian(second)],
    };
    let worst = pld.epsilon(&parallel("class", 1.0, 2.0), 1e-5).unwrap();
    assert_eq!(worst, pld.epsilon(&gaussian(1.0), 1e-5).unwrap());
    // The same partition twice: a record is in the first group both times, or in the second.
    let same = Event::Composed {
        events: vec![parallel("class", 1.0, 50.0), parallel("class", 50.0, 1.0)],
    };
    let other = Event::Composed {
        events: vec![parallel("class", 1.0, 50.0), parallel("site", 50.0, 1.0)],
    };
    let same = pld.epsilon(&same, 1e-5).unwrap();
    let other = pld.epsilon(&other, 1e-5).unwrap();
    let once = pld.epsilon(&gaussian(1.0), 1e-5).unwrap();
    let twice = pld.epsilon(&gaussian(1.0).repeated(2), 1e-5).unwrap();
    assert!(same > once && same < once * 1.01, "{same} {once}");
    assert!((other - twice).abs() < 1e-9, "{other} {twice}");
    // A record that may change its group is seen by two of them.
    let replace = Event::Composed {
        events: vec![parallel("class", 1.0, 2.0)],
    };
    assert_eq!(replace.neighbours().unwrap(), Some(Neighbours::KEnd));
}

#[test]
fn calibration_meets_its_target_or_names_the_nearest() {
    let pld = PldAccountant::default();
    for target in [0.1, 1.0, 8.0] {
        let event = |z| Event::dp_sgd(1000, 50, 100, z);
        let z = noise_multiplier_for(&pld, target, 1e-6, event).unwrap();
        assert!(pld.epsilon(&event(z), 1e-6).unwrap() <= target);
        assert!(pld.epsilon(&event(z * 0.999), 1e-6).unwrap() > target * 0.999);
    }
    let event = |steps| Event::dp_sgd(1000, 50, steps, 2.0);
    let steps = steps_for(&pld, 1.0, 1e-6, 1 << 20, event).unwrap();
    assert!(pld.epsilon(&event(steps), 1e-6).unwrap() <= 1.0);
    assert!(pld.epsilon(&event(steps + 1), 1e-6).unwrap() > 1.0);
    let event = |batch| Event::dp_sgd(1000, batch, 100, 2.0);
    let batch = batch_for(&pld, 1.0, 1e-6, 1000, event).unwrap();
    assert!(pld.epsilon(&event(batch), 1e-6).unwrap() <= 1.0);
    assert!(pld.epsilon(&event(batch + 1), 1e-6).unwrap() > 1.0);

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
    let pld = PldAccountant::default();
    let step = gaussian(1.1).sampled(Sampler::WithoutReplacement {
        records: 2000,
        batch: 100,
    });
    let release = LedgerEntry {
        event: step.clone(),
        count: 1,
        neighbours: Neighbours::ReplaceOne,
        secret_noise: true,
        mechanism: None,
        sensitivity: None,
        deviation: None,
    };
    let mut text = String::new();
    for _ in 0..500 {
        text += &serde_json::to_string(&release).unwrap();
        text += "\n";
    }
    let torn = format!("{text}{}", &text[..40]);
    let found = Entries::parse(&torn).unwrap();
    assert_eq!(found.torn, vec![501]);
    let event = found.event().unwrap();
    let direct = Event::dp_sgd(2000, 100, 500, 1.1);
    assert_eq!(
        pld.epsilon(&event, 1e-5).unwrap(),
        pld.epsilon(&direct, 1e-5).unwrap()
    );
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
    let event = Event::Composed {
        events: vec![
            Event::dp_sgd(60_000, 600, 5_000, 0.76),
            Event::Laplace {
                noise_multiplier: 2.5,
            },
            Event::Parallel {
                partition: "class".into(),
                events: vec![gaussian(1.0), Event::NonPrivate],
            },
            gaussian(3.0).sampled(Sampler::KEndGroups {
                groups: vec![GroupSize {
                    records: 10,
                    batch: 2,
                }],
            }),
        ],
    };
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
    let pld = PldAccountant::default();
    for scale in [0.5, 2.0, 10.0] {
        let one = Event::Laplace {
            noise_multiplier: scale,
        };
        for share in [0.1, 0.3, 0.5] {
            let spread = Event::Composed {
                events: vec![
                    Event::Laplace {
                        noise_multiplier: scale / share,
                    },
                    Event::Laplace {
                        noise_multiplier: scale / (1.0 - share),
                    },
                ],
            };
            for epsilon in [0.0, 0.3 / scale, 0.9 / scale] {
                let whole = pld.delta(&one, epsilon).unwrap();
                let lower = pld.delta_lower(&spread, epsilon).unwrap();
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
