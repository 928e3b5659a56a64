//! Zero-concentrated privacy, in and out.

use dp_accountant::accounting::{
    Accountant, AccountingError, Event, GaussianAccountant, PldAccountant, RdpAccountant, Sampler,
    replay, zcdp_of, zcdp_to_delta, zcdp_to_epsilon,
};
use dp_accountant::ledger::Entries;
use proptest::prelude::*;

use crate::accounting_properties::gaussian;

/// `(rho, delta, epsilon)`, the stationary point of the conversion by bisection with 40 digits, rounded to 16.
const GOLDEN: &[(f64, f64, f64)] = &[
    (0.5, 1e-5, 4.728_386_984_943_314),
    (1e-06, 1e-5, 0.003_456_667_061_275_66),
    (0.01, 1e-6, 0.6216926545596025),
    (0.1, 1e-9, 2.715481886730502),
    (2.0, 1e-6, 11.688596249354894),
    (50.0, 1e-10, 116.1881559582255),
    (0.001, 0.1, 0.0),
    (3.0, 0.3, 4.997149978506474),
    (1e-09, 1e-12, 0.000_244_151_620_025_342),
    (400000.0, 1e-5, 404285.7013842954),
];

#[test]
fn conversions_are_the_least_over_all_orders() {
    for &(rho, delta, expected) in GOLDEN {
        let epsilon = zcdp_to_epsilon(rho, delta).unwrap();
        assert!(
            epsilon >= expected * (1.0 - 4e-16),
            "{rho} {delta}: {epsilon} {expected}"
        );
        assert!(
            epsilon <= expected * (1.0 + 1e-9) + 1e-13,
            "{rho} {delta}: {epsilon} {expected}"
        );
        if expected > 0.0 {
            let back = zcdp_to_delta(rho, epsilon).unwrap();
            assert!((back / delta - 1.0).abs() < 1e-6, "{rho} {delta}: {back}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Between the truth for one mechanism that is rho-zCDP and the conversion of Bun and Steinke 2016, and not above the
    /// accountant's, which tries some orders only.
    #[test]
    fn conversions_lie_between_gaussian_noise_and_the_first_one(ln_rho in -12.0_f64..5.0, ln_delta in -60.0_f64..-1.5) {
        let (rho, delta) = (ln_rho.exp(), ln_delta.exp());
        let epsilon = zcdp_to_epsilon(rho, delta).expect("epsilon");
        let z = (0.5 / rho).sqrt();
        let least = GaussianAccountant.epsilon(&gaussian(z), delta).expect("epsilon");
        let most = rho + 2.0 * (-rho * ln_delta).sqrt();
        prop_assert!(epsilon >= least && epsilon <= most, "{least} {epsilon} {most}");
        let accounted = RdpAccountant.epsilon(&Event::Zcdp { rho }, delta).expect("epsilon");
        prop_assert!(epsilon <= accounted * (1.0 + 1e-9), "{epsilon} {accounted}");
        let at = zcdp_to_delta(rho, least.max(0.1)).expect("delta");
        prop_assert!(at >= GaussianAccountant.delta(&gaussian(z), least.max(0.1)).expect("delta"));
    }
}

#[test]
fn it_composes_as_gaussian_noise_of_the_same_rho() {
    let sampled = gaussian(1.0)
        .sampled(Sampler::Poisson { rate: 0.01 })
        .repeated(50);
    for (rho, z) in [(0.02, 5.0), (0.5, 1.0)] {
        let with = |part: Event| Event::Composed {
            events: vec![part.repeated(3), sampled.clone()],
        };
        let zcdp = with(Event::Zcdp { rho });
        let epsilon = RdpAccountant.epsilon(&zcdp, 1e-6).unwrap();
        let expected = RdpAccountant.epsilon(&with(gaussian(z)), 1e-6).unwrap();
        assert!(
            epsilon >= expected && epsilon - expected < 1e-9,
            "{epsilon} {expected}"
        );
        for accountant in [
            &PldAccountant::default() as &dyn Accountant,
            &GaussianAccountant,
        ] {
            let refused = accountant.epsilon(&zcdp, 1e-6).unwrap_err().to_string();
            assert!(
                refused.contains("zCDP") && refused.contains("use rdp"),
                "{refused}"
            );
        }
    }
    let line =
        r#"{"event": {"type": "zcdp", "rho": 0.02}, "count": 3, "neighbours": "replace_one"}"#;
    let event = replay(&Entries::parse(line).unwrap().entries).unwrap();
    assert!((zcdp_of(&event).unwrap() - 0.06).abs() < 1e-12);
}

#[test]
fn rhos_add_up() {
    let event = Event::Composed {
        events: vec![
            gaussian(2.0).repeated(4),
            Event::DiscreteGaussian {
                noise_multiplier: 1.0,
            },
            Event::Laplace {
                noise_multiplier: 2.0,
            },
            Event::Zcdp { rho: 0.25 },
        ],
    };
    let expected = 4.0 / 8.0 + 0.5 + 1.0 / 8.0 + 0.25;
    let rho = zcdp_of(&event).unwrap();
    assert!(rho >= expected && rho - expected < 1e-12, "{rho}");
    assert!(zcdp_of(&Event::NonPrivate).unwrap().is_infinite());
    // It never claims less than the divergences do.
    let (by_rho, by_order) = (
        zcdp_to_epsilon(rho, 1e-6),
        RdpAccountant.epsilon(&event, 1e-6),
    );
    assert!(by_rho.unwrap() > by_order.unwrap() * (1.0 - 1e-3));
}

#[test]
fn what_has_no_rho_is_refused() {
    let sampled = gaussian(1.0).sampled(Sampler::Poisson { rate: 0.1 });
    let failing = Event::Composed {
        events: vec![gaussian(1.0), Event::Failure { delta: 1e-6 }],
    };
    for event in [&sampled, &failing] {
        let refused = zcdp_of(event).unwrap_err();
        assert!(matches!(
            refused,
            AccountingError::NotCovered {
                accountant: "zcdp",
                ..
            }
        ));
    }
    let on_a_sample = Event::Zcdp { rho: 0.1 }.sampled(Sampler::Poisson { rate: 0.1 });
    let refused = RdpAccountant
        .epsilon(&on_a_sample, 1e-6)
        .unwrap_err()
        .to_string();
    assert!(refused.contains("on a sample"), "{refused}");
    for bad in [-1e-9, 6e5, f64::NAN, f64::INFINITY] {
        assert!(
            RdpAccountant
                .epsilon(&Event::Zcdp { rho: bad }, 1e-6)
                .is_err()
        );
        assert!(zcdp_to_epsilon(bad, 1e-6).is_err() && zcdp_to_delta(bad, 1.0).is_err());
    }
    assert!(
        zcdp_to_epsilon(0.1, 1.5)
            .unwrap_err()
            .to_string()
            .contains("delta is 1.5")
    );
    assert!(zcdp_to_delta(0.1, -1.0).is_err());
    assert_eq!(zcdp_to_epsilon(0.0, 0.0), Ok(0.0));
    assert_eq!(zcdp_to_epsilon(0.1, 0.0), Ok(f64::INFINITY));
    assert_eq!(zcdp_to_delta(0.1, f64::INFINITY), Ok(0.0));
}
